/** Reports the running plans, because a plan prints nothing until its end. */

const EVERY_MS = 30_000;

function since(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}

/** The plans that are running and the number of those that have ended. */
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

  /** The current state in one line. Undefined if no plan is running. */
  line(now = Date.now()): string | undefined {
    if (this.#begun.size === 0) return undefined;
    const running = [...this.#begun].map(([name, at]) => `${name} (${since(now - at)})`);
    return `running: ${running.join(', ')}; ${this.#done} of ${this.#all} done`;
  }

  /** Prints the line every half minute, by default to standard error. Call the returned function to stop. */
  start(print: (line: string) => void = console.error): () => void {
    const timer = setInterval(() => {
      const line = this.line();
      if (line !== undefined) print(line);
    }, EVERY_MS);
    return () => clearInterval(timer);
  }
}
