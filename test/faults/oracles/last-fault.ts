/** O1: the time limit starts at the last fault of a plan, or when a process is ready after its start. */
export interface Fault {
  readonly at: number;
  readonly what: string;
}

/** The latest fault of a plan, and its time in milliseconds since the epoch. */
export class LastFault {
  #last: Fault = { at: 0, what: 'nothing' };

  /** @param at faults may be noted in another order than they occur; the latest counts */
  note(what: string, at: number = Date.now()): void {
    if (at >= this.#last.at) this.#last = { at, what };
  }

  /** Forgets all faults of the previous plan. */
  begin(): void {
    this.#last = { at: Date.now(), what: 'the plan began' };
  }

  get last(): Fault {
    return this.#last;
  }
}

/** A rule of any proxy. */
export interface AnyRule {
  readonly match: (message: never) => boolean;
  readonly fault: {
    readonly kind: string;
    readonly ms?: number;
    readonly run?: (...args: never[]) => unknown;
    readonly drop?: (event: never) => boolean;
    readonly onCut?: (watch: never) => void;
  };
  readonly times?: number;
}

/** The rule, which also notes each fault that it causes: at the start of a call and at its end. */
export function noted<R extends AnyRule>(rule: R, faults: LastFault): R {
  const { match, fault } = rule;
  const { kind, ms = 0, run, drop, onCut } = fault;
  // A delay of 0 ms only counts messages.
  if (kind === 'delay' && ms === 0) return rule;
  const isTaken = (message: never) => {
    const takes = match(message);
    // A filtered watch has lost nothing until an event is dropped.
    if (takes && kind !== 'filter-watch') faults.note(kind, Date.now() + ms);
    return takes;
  };
  return {
    ...rule,
    match: isTaken,
    fault: {
      ...fault,
      ...(run === undefined ? {} : { run: (...args: never[]) => endNoted(run(...args), kind, faults) }),
      ...(drop === undefined ? {} : { drop: (event: never) => dropNoted(drop(event), faults) }),
      ...(kind === 'cut-watch' ? { onCut: (watch: never) => cutNoted(onCut?.(watch), faults) } : {}),
    },
  };
}

function endNoted(result: unknown, kind: string, faults: LastFault): unknown {
  if (!(result instanceof Promise)) return result;
  return result.finally(() => faults.note(kind));
}

const cutNoted = (_: unknown, faults: LastFault) => faults.note('a watch cut');

function dropNoted(isDropped: boolean, faults: LastFault): boolean {
  if (isDropped) faults.note('an event dropped');
  return isDropped;
}
