/** Selects the rule for a message, for every proxy. */
import type { ActiveRule } from './kubernetes-traffic.ts';

/** What is done with the messages that match; see the rules of each proxy. */
export interface Rule<M, F> {
  readonly match: (message: M) => boolean;
  readonly fault: F;
  readonly times?: number;
}

const WAIT_MS = 60_000;

/** What a rule was given to call has failed: the plan is wrong, not what it tests. */
export class RuleFailure extends Error {
  constructor(cause: unknown) {
    super(`failed to play a rule: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/** Calls what a rule was given. @throws RuleFailure */
export function callRule<T>(run: () => T): T {
  try {
    const result = run();
    if (!(result instanceof Promise)) return result;
    return result.catch((error: unknown) => {
      throw new RuleFailure(error);
    }) as T;
  } catch (error) {
    throw new RuleFailure(error);
  }
}

/** A rule from `add` to `remove`. */
export class RuleInForce<M, F> implements ActiveRule {
  readonly #rule: Rule<M, F>;
  readonly #waiting = new Set<() => void>();
  #taken = 0;
  #removed = false;

  constructor(rule: Rule<M, F>) {
    this.#rule = rule;
  }

  get fault(): F {
    return this.#rule.fault;
  }

  get removed(): boolean {
    return this.#removed;
  }

  /** Whether it takes this message, which then counts. @throws RuleFailure */
  takes(message: M): boolean {
    const { match, times = Number.POSITIVE_INFINITY } = this.#rule;
    if (this.#removed || this.#taken >= times || !callRule(() => match(message))) return false;
    this.#taken += 1;
    for (const look of this.#waiting) look();
    return true;
  }

  taken(): number {
    return this.#taken;
  }

  waitTaken(count = 1, timeoutMs = WAIT_MS): Promise<void> {
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void) => {
        clearTimeout(timer);
        this.#waiting.delete(look);
        settle();
      };
      const look = () => {
        if (this.#taken >= count) finish(resolve);
      };
      const giveUp = () =>
        finish(() =>
          reject(
            new Error(
              `failed to wait until a rule (${describe(this.#rule.fault)}) has taken ${count}: ` +
                `it has taken ${this.#taken} within ${timeoutMs} ms`,
            ),
          ),
        );
      const timer = setTimeout(giveUp, timeoutMs);
      this.#waiting.add(look);
      look();
    });
  }

  remove(): void {
    this.#removed = true;
  }
}

function describe(fault: unknown): string {
  return String((fault as { kind?: string }).kind);
}

/** The rules of one proxy; the newest is asked first. */
export class RuleBook<M, F> {
  #rules: RuleInForce<M, F>[] = [];
  readonly #failures: RuleFailure[] = [];

  add(rule: Rule<M, F>): RuleInForce<M, F> {
    const added = new RuleInForce(rule);
    this.#rules = [added, ...this.#rules.filter(({ removed }) => !removed)];
    return added;
  }

  /** The rule that takes this message, if one does. @throws RuleFailure */
  take(message: M): RuleInForce<M, F> | undefined {
    return this.#rules.find((rule) => rule.takes(message));
  }

  /** Keeps a failure of a rule; others are the network's. */
  note(error: unknown): void {
    if (error instanceof RuleFailure) this.#failures.push(error);
  }

  /** The failures kept, each told once: with one of them a plan has not met its fault. */
  takeFailures(): RuleFailure[] {
    return this.#failures.splice(0);
  }

  /** @throws AggregateError with the failures kept */
  assertPlayed(): void {
    if (this.#failures.length === 0) return;
    const [first] = this.#failures;
    throw new AggregateError(this.#failures, `${this.#failures.length} rules failed: ${first?.message}`);
  }
}
