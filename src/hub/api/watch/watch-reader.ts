import { type ChangeLine, PendingChanges, type WatchLine } from './pending-changes.ts';

/** One stream of changes: what it has not sent yet, and whether it must end. */
export class WatchReader {
  readonly tenantId: string;
  readonly #pending = new PendingChanges();
  #gaveWay = false;
  /** Ends the current wait. */
  #wake: (() => void) | null = null;

  constructor(tenantId: string) {
    this.tenantId = tenantId;
  }

  /** Adds a change; null: the client must read everything again. */
  add(line: ChangeLine | null): void {
    this.#pending.add(line);
    this.#wake?.();
  }

  /** Ends the stream in favor of a tenant with fewer streams. */
  giveWay(): void {
    this.#gaveWay = true;
    this.#wake?.();
  }

  get hasGivenWay(): boolean {
    return this.#gaveWay;
  }

  /** Removes and returns the lines to send. */
  take(): readonly WatchLine[] {
    return this.#pending.take();
  }

  /**
   * Resolves when there are lines or the stream must end, after `ms`, or when the signal aborts. The stream waits once at a
   * time.
   */
  wait(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#gaveWay || !this.#pending.isEmpty) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        this.#wake = null;
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal.addEventListener('abort', done, { once: true });
      this.#wake = done;
    });
  }
}
