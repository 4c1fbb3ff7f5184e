/** Selects the rule for a message, for every proxy. */
import type { ActiveRule } from './kubernetes-traffic.ts';

/** Which messages a rule applies to, and what happens to them. The types of the proxies describe the faults. */
export interface Rule<M, F> {
  readonly match: (message: M) => boolean;
  readonly fault: F;
  readonly times?: number;
}

const WAIT_MS = 60_000;

/** A function of a rule has thrown an error. This is an error of the plan, not of Berth. */
export class RuleFailure extends Error {
  constructor(cause: unknown) {
    super(`a rule failed: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/** Calls a function of a rule. @throws RuleFailure if it throws or rejects */
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

/** A rule that was added to a proxy. It is active until `remove`. */
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

  /** Whether the rule applies to this message. If so, the message is counted. @throws RuleFailure */
  takes(message: M): boolean {
    const { match, times = Number.POSITIVE_INFINITY } = this.#rule;
    if (this.#removed || this.#taken >= times || !callRule(() => match(message))) return false;
    this.#taken += 1;
    for (const check of this.#waiting) check();
    return true;
  }

  taken(): number {
    return this.#taken;
  }

  waitTaken(count = 1, timeoutMs = WAIT_MS): Promise<void> {
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void) => {
        clearTimeout(timer);
        this.#waiting.delete(check);
        settle();
      };
      const check = () => {
        if (this.#taken >= count) finish(resolve);
      };
      const giveUp = () =>
        finish(() =>
          reject(
            new Error(
              `a rule (${describe(this.#rule.fault)}) was not applied ${count} times: ` +
                `it was applied ${this.#taken} times within ${timeoutMs} ms`,
            ),
          ),
        );
      const timer = setTimeout(giveUp, timeoutMs);
      this.#waiting.add(check);
      check();
    });
  }

  remove(): void {
    this.#removed = true;
  }
}

function describe(fault: unknown): string {
  return String((fault as { kind?: string }).kind);
}

/** The rules of one proxy. The newest rule is checked first. */
export class RuleBook<M, F> {
  #rules: RuleInForce<M, F>[] = [];
  readonly #failures: RuleFailure[] = [];

  add(rule: Rule<M, F>): RuleInForce<M, F> {
    const added = new RuleInForce(rule);
    this.#rules = [added, ...this.#rules.filter(({ removed }) => !removed)];
    return added;
  }

  /** The rule that applies to this message. Undefined if no rule applies. @throws RuleFailure */
  take(message: M): RuleInForce<M, F> | undefined {
    return this.#rules.find((rule) => rule.takes(message));
  }

  /** Keeps the failure of a rule. Other errors come from the network and are ignored. */
  note(error: unknown): void {
    if (error instanceof RuleFailure) this.#failures.push(error);
  }

  /** Returns each failure once. A plan with a failed rule may have run without its fault. */
  takeFailures(): RuleFailure[] {
    return this.#failures.splice(0);
  }

  /** @throws AggregateError with the failures that were not taken */
  assertPlayed(): void {
    if (this.#failures.length === 0) return;
    const [first] = this.#failures;
    throw new AggregateError(this.#failures, `${this.#failures.length} rules failed: ${first?.message}`);
  }
}
