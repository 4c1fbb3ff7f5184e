/**
 * The same question of several is asked once; when nobody waits for it any more, it is ended.
 */
export class SingleFlight<T> {
  readonly #underWay = new Map<string, Question<T>>();

  /**
   * The answer to a question; asked if nobody has asked it yet.
   * @param waiter ends this one's waiting
   * @param ask its signal: nobody waits any more
   * @throws the waiter's reason when it ends
   */
  async answer(key: string, waiter: AbortSignal, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    waiter.throwIfAborted();
    const question = this.#underWay.get(key) ?? this.#begin(key, ask);
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
    // Whoever waits is told; it may be that nobody does any more.
    question.answer.catch(() => undefined).finally(() => this.#forget(key, question));
    this.#underWay.set(key, question);
    return question;
  }

  #end(key: string, question: Question<T>): void {
    this.#forget(key, question);
    question.ending.abort();
  }

  #forget(key: string, question: Question<T>): void {
    if (this.#underWay.get(key) === question) this.#underWay.delete(key);
  }
}

interface Question<T> {
  readonly answer: Promise<T>;
  readonly ending: AbortController;
  waiters: number;
}
