/** Runs the operations on one custom resource one after the other, in the order of their calls. */
export class ResourceLocks {
  readonly #last = new Map<string, Promise<void>>();

  /**
   * Runs the operation when all earlier operations with this key have ended. The operations have deadlines, so the wait is
   * bounded.
   */
  async run<T>(key: string, operation: () => Promise<T>): Promise<T> {
    const result = (this.#last.get(key) ?? Promise.resolve()).then(operation);
    const ended = result.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(key, ended);
    try {
      return await result;
    } finally {
      if (this.#last.get(key) === ended) this.#last.delete(key);
    }
  }
}
