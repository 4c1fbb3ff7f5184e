import type { WorkloadLogLine } from '../../../domain/core/log-query.ts';

/** Lines that were read and not told yet, bounded: whoever adds to a full buffer waits. */

/** Characters from which on it is full. */
const MOST_CHARACTERS = 256 * 1024;

export class LogBuffer {
  readonly #lines: WorkloadLogLine[] = [];
  #characters = 0;
  #content = Promise.withResolvers<void>();
  #room = Promise.withResolvers<void>();
  #closed = false;

  /** @returns whether there is still somebody to tell */
  async add(line: WorkloadLogLine): Promise<boolean> {
    while (this.#characters >= MOST_CHARACTERS && !this.#closed) await this.#room.promise;
    if (this.#closed) return false;
    this.#lines.push(line);
    this.#characters += line.text.length;
    this.#content.resolve();
    return true;
  }

  /** The oldest lines, at most so many and about so many characters. */
  take(lines: number, characters: number): WorkloadLogLine[] {
    let count = 0;
    let sum = 0;
    for (const { text } of this.#lines) {
      if (count >= lines || sum >= characters) break;
      count += 1;
      sum += text.length;
    }
    this.#characters -= sum;
    const taken = this.#lines.splice(0, count);
    if (this.#lines.length === 0 && !this.#closed) this.#content = Promise.withResolvers<void>();
    this.#wakeAdders();
    return taken;
  }

  get isEmpty(): boolean {
    return this.#lines.length === 0;
  }

  /** Resolves when there are lines, or `wake` or `close` was called. */
  get content(): Promise<void> {
    return this.#content.promise;
  }

  wake(): void {
    this.#content.resolve();
  }

  /** Nobody is told any more. */
  close(): void {
    this.#closed = true;
    this.#content.resolve();
    this.#wakeAdders();
  }

  /** All of them: who finds it full again goes on waiting. */
  #wakeAdders(): void {
    this.#room.resolve();
    this.#room = Promise.withResolvers<void>();
  }
}
