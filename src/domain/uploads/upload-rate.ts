/**
 * The lowest rate at which an upload may arrive. Few uploads are received at the same time, so each must progress. An average
 * since the start would let a client that sends much at the start then send almost nothing.
 */

/** In bytes per second. At this rate, an upload of 64 MiB takes 15 minutes, the longest time of an upload. */
const MIN_RATE = 75 * 1024;
/** The window moves in steps, so that the number of stored values does not depend on the size of the parts. */
const STEPS = 30;

/** The first part that arrived in a step. */
interface Mark {
  readonly step: number;
  /** Number of bytes before this part. */
  readonly bytesBefore: number;
}

/** The rate in a window of time that ends with the last part. */
export class UploadRate {
  readonly #windowMs: number;
  /** The marks in the window, oldest first. */
  #marks: Mark[] = [];
  #bytes = 0;
  #waitedMs = 0;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /**
   * Adds a part.
   * @param waitedMs how long the receiver has waited for this part. Time in which it did something else does not count
   * @returns whether the sender is too slow. It never is before the end of the first window
   */
  add(bytes: number, waitedMs: number): boolean {
    this.#waitedMs += waitedMs;
    const step = this.#stepAt(this.#waitedMs);
    if (this.#marks.at(-1)?.step !== step) this.#marks.push({ step, bytesBefore: this.#bytes });
    this.#bytes += bytes;
    const first = this.#stepAt(this.#waitedMs - this.#windowMs);
    this.#marks = this.#marks.filter((mark) => mark.step >= first);
    const received = this.#bytes - (this.#marks[0]?.bytesBefore ?? 0);
    return this.#waitedMs > this.#windowMs && received < (this.#windowMs / 1000) * MIN_RATE;
  }

  #stepAt(ms: number): number {
    return Math.floor((ms * STEPS) / this.#windowMs);
  }
}
