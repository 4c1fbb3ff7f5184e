/** The first list of a reflector, as a promise. */
export class FirstSync {
  readonly #synced = Promise.withResolvers<void>();
  readonly #attempted = Promise.withResolvers<void>();
  #done = false;

  constructor() {
    // Prevents an unhandled rejection when the reflector is stopped before its first list and no caller waits.
    this.#synced.promise.catch(() => {});
  }

  /** Whether a list has been received. */
  get done(): boolean {
    return this.#done;
  }

  listed(): void {
    this.#done = true;
    this.#synced.resolve();
    this.#attempted.resolve();
  }

  /** Called when an attempt has failed. */
  failed(): void {
    this.#attempted.resolve();
  }

  /** Called when the reflector stops. Rejects the waits if no list has been received. */
  stop(reason: Error): void {
    this.#synced.reject(reason);
  }

  /** Resolves once the first list is cached. Rejects when the signal fires or the reflector stops. */
  wait(signal?: AbortSignal): Promise<void> {
    return unlessAborted(this.#synced.promise, signal);
  }

  /** Like `wait`, but also resolves once the first attempt has failed. */
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
