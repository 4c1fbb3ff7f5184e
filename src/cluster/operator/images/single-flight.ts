/** Shares one request between several callers, and aborts it when no caller waits any more. */
export class SingleFlight<T> {
  readonly #inFlight = new Map<string, Question<T>>();

  /**
   * The result of a request, which is started unless it is in progress.
   * @param waiter aborts the wait of this caller
   * @param ask sends the request. The signal of the request aborts when no caller waits for the result any more
   * @throws the waiter's reason when it aborts
   */
  async answer(key: string, waiter: AbortSignal, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    waiter.throwIfAborted();
    const question = this.#inFlight.get(key) ?? this.#begin(key, ask);
    question.waiters += 1;
    const left = Promise.withResolvers<never>();
    const leave = () => left.reject(waiter.reason);
    waiter.addEventListener('abort', leave, { once: true });
    try {
      return await Promise.race([question.answer, left.promise]);
    } finally {
      waiter.removeEventListener('abort', leave);
      question.waiters -= 1;
      if (question.waiters === 0) this.#end(key, question);
    }
  }

  #begin(key: string, ask: (signal: AbortSignal) => Promise<T>): Question<T> {
    const ending = new AbortController();
    const question: Question<T> = { answer: ask(ending.signal), ending, waiters: 0 };
    // Callers handle the failure. This chain ignores the error, because no caller may be left.
    question.answer.catch(() => undefined).finally(() => this.#forget(key, question));
    this.#inFlight.set(key, question);
    return question;
  }

  #end(key: string, question: Question<T>): void {
    this.#forget(key, question);
    question.ending.abort();
  }

  #forget(key: string, question: Question<T>): void {
    if (this.#inFlight.get(key) === question) this.#inFlight.delete(key);
  }
}

interface Question<T> {
  readonly answer: Promise<T>;
  readonly ending: AbortController;
  waiters: number;
}
