/** The first list of a reflector, for those who wait for it. */
export class FirstSync {
  readonly #synced = Promise.withResolvers<void>();
  readonly #attempted = Promise.withResolvers<void>();
  #done = false;

  constructor() {
    // Nobody may be waiting for it when the reflector is stopped before its first list.
    this.#synced.promise.catch(() => {});
  }

  /** A list has come. */
  get done(): boolean {
    return this.#done;
  }

  listed(): void {
    this.#done = true;
    this.#synced.resolve();
    this.#attempted.resolve();
  }

  /** An attempt has failed. */
  failed(): void {
    this.#attempted.resolve();
  }

  /** There will be none any more, if there was none yet. */
  stop(reason: Error): void {
    this.#synced.reject(reason);
  }

  /** Resolves once the first list has come; rejects when the signal fires or none will come. */
  wait(signal?: AbortSignal): Promise<void> {
    return unlessAborted(this.#synced.promise, signal);
  }

  /** As `wait`, but resolves also once the first attempt has failed. */
  waitForAttempt(signal?: AbortSignal): Promise<void> {
    return unlessAborted(Promise.race([this.#attempted.promise, this.#synced.promise]), signal);
  }
}

async function unlessAborted(awaited: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return awaited;
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.race([awaited, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
