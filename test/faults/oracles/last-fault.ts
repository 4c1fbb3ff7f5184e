/** O1: the time limit starts at the last fault of a plan, or when a process starts. */
export interface Fault {
  readonly at: number;
  readonly what: string;
}

export class LastFault {
  #last: Fault = { at: 0, what: 'nothing' };

  /** @param at a later one may come before an earlier one is noted */
  note(what: string, at: number = Date.now()): void {
    if (at >= this.#last.at) this.#last = { at, what };
  }

  /** Nothing of before counts. */
  begin(): void {
    this.#last = { at: Date.now(), what: 'the plan began' };
  }

  get last(): Fault {
    return this.#last;
  }
}

/** A rule of any of the proxies. */
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

/** The rule, and each time that it is played is noted: a call when it is made and when it has ended. */
export function noted<R extends AnyRule>(rule: R, faults: LastFault): R {
  const { match, fault } = rule;
  const { kind, ms = 0, run, drop, onCut } = fault;
  // A rule that only counts.
  if (kind === 'delay' && ms === 0) return rule;
  const isTaken = (message: never) => {
    const takes = match(message);
    // A watch that is looked at has lost nothing yet.
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
