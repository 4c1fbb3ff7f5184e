/** `group` is the resource that a task uses; `owner` is the client that requests the task. */
export interface LimitedTask {
  readonly group: string;
  readonly owner: string;
}

interface Waiting extends LimitedTask {
  readonly start: () => void;
}

export interface ConcurrencyLimits {
  readonly total: number;
  readonly perGroup: number;
  readonly perOwner: number;
}

/**
 * Limits the number of tasks in total, per group and per owner. Among the tasks that may start, the first task of the
 * owner with the fewest running tasks starts. Therefore many tasks of one owner delay only this owner.
 */
export class ConcurrencyLimiter {
  readonly #limits: ConcurrencyLimits;
  readonly #groups = new Map<string, number>();
  readonly #owners = new Map<string, number>();
  #total = 0;
  #waiting: Waiting[] = [];

  constructor(limits: ConcurrencyLimits) {
    this.#limits = limits;
  }

  /**
   * Runs the task when the limits allow it.
   * @throws the signal's reason if it aborts during the wait
   */
  async run<T>(turn: LimitedTask, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#wait(turn, signal);
    try {
      return await work();
    } finally {
      this.#count(turn, -1);
      this.#next();
    }
  }

  async #wait(turn: LimitedTask, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = { ...turn, start: resolve };
    const leave = () => {
      this.#waiting = this.#waiting.filter((other) => other !== waiting);
      // Has no effect if the task has started.
      reject(signal.reason);
    };
    signal.addEventListener('abort', leave, { once: true });
    this.#waiting.push(waiting);
    this.#next();
    await promise.finally(() => signal.removeEventListener('abort', leave));
  }

  #count(turn: LimitedTask, step: number): void {
    this.#total += step;
    for (const [counts, name] of [
      [this.#groups, turn.group],
      [this.#owners, turn.owner],
    ] as const) {
      const count = (counts.get(name) ?? 0) + step;
      if (count === 0) counts.delete(name);
      else counts.set(name, count);
    }
  }

  #mayBegin({ group, owner }: LimitedTask): boolean {
    const { perGroup, perOwner } = this.#limits;
    return (this.#groups.get(group) ?? 0) < perGroup && this.#underWay(owner) < perOwner;
  }

  #underWay(owner: string): number {
    return this.#owners.get(owner) ?? 0;
  }

  #first(): Waiting | undefined {
    let first: Waiting | undefined;
    for (const waiting of this.#waiting) {
      if (!this.#mayBegin(waiting)) continue;
      if (first === undefined || this.#underWay(waiting.owner) < this.#underWay(first.owner)) first = waiting;
    }
    return first;
  }

  #next(): void {
    while (this.#total < this.#limits.total) {
      const first = this.#first();
      if (first === undefined) return;
      this.#waiting = this.#waiting.filter((other) => other !== first);
      this.#count(first, 1);
      first.start();
    }
  }
}
