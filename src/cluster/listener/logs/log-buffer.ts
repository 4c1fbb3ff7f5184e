import type { WorkloadLogLine } from '../../../domain/core/log-query.ts';

/** A bounded buffer of lines that were read and not sent yet. Adding to a full buffer waits. */

/** Number of characters from which the buffer is full. */
const MAX_CHARACTERS = 256 * 1024;

export class LogBuffer {
  readonly #lines: WorkloadLogLine[] = [];
  #characters = 0;
  #content = Promise.withResolvers<void>();
  #room = Promise.withResolvers<void>();
  #closed = false;

  /** @returns false: the reader is gone */
  async add(line: WorkloadLogLine): Promise<boolean> {
    while (this.#characters >= MAX_CHARACTERS && !this.#closed) await this.#room.promise;
    if (this.#closed) return false;
    this.#lines.push(line);
    this.#characters += line.text.length;
    this.#content.resolve();
    return true;
  }

  /** Removes and returns the oldest lines, up to about the given limits. */
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

  /** Resolves when the buffer has lines, or when `wake` or `close` is called. */
  get content(): Promise<void> {
    return this.#content.promise;
  }

  wake(): void {
    this.#content.resolve();
  }

  /** Called when the reader is gone. */
  close(): void {
    this.#closed = true;
    this.#content.resolve();
    this.#wakeAdders();
  }

  /** Wakes all waiting writers. Writers that find the buffer full again continue to wait. */
  #wakeAdders(): void {
    this.#room.resolve();
    this.#room = Promise.withResolvers<void>();
  }
}
