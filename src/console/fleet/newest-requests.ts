/** Which request for a row is the newest one. An older response that arrives later must not replace a newer row. */
export class NewestRequests {
  #count = 0;
  readonly #newest = new Map<string, number>();

  /** Begins a request for rows of a list. @returns which of the rows no later request has asked for */
  begin(list: string, ids: readonly string[]): () => ReadonlySet<string> {
    this.#count += 1;
    const request = this.#count;
    for (const id of ids) this.#newest.set(`${list} ${id}`, request);
    return () => new Set(ids.filter((id) => this.#newest.get(`${list} ${id}`) === request));
  }
}
