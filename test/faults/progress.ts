/** Reports the running plans, because a plan prints nothing until its end. */

const EVERY_MS = 30_000;

function since(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}

export class Progress {
  readonly #all: number;
  readonly #begun = new Map<string, number>();
  #done = 0;

  constructor(all: number) {
    this.#all = all;
  }

  begins(name: string, now = Date.now()): void {
    this.#begun.set(name, now);
  }

  ends(name: string): void {
    if (this.#begun.delete(name)) this.#done += 1;
  }

  /** Undefined: nothing is under way. */
  line(now = Date.now()): string | undefined {
    if (this.#begun.size === 0) return undefined;
    const running = [...this.#begun].map(([name, at]) => `${name} (${since(now - at)})`);
    return `running: ${running.join(', ')}; ${this.#done} of ${this.#all} done`;
  }

  /** Tells it each half minute on standard error, until what is returned is called. */
  tell(say: (line: string) => void = console.error): () => void {
    const timer = setInterval(() => {
      const line = this.line();
      if (line !== undefined) say(line);
    }, EVERY_MS);
    return () => clearInterval(timer);
  }
}
