/** Lists of the API, page by page. */

export interface Page {
  readonly limit: number;
  readonly offset: number;
}

interface Answer<Item> {
  readonly resources: readonly Item[];
  /** null: the page has no next page by offset. */
  readonly offset: number | null;
}

const PAGE = 100;

/**
 * The objects of a list. Asks for the next page only when its objects are needed.
 * @param most maximum number of objects
 */
export async function* itemsOf<Item>(
  ask: (page: Page) => Promise<Answer<Item>>,
  most = Number.POSITIVE_INFINITY,
): AsyncGenerator<Item, void> {
  let found = 0;
  for (let offset = 0; found < most; ) {
    const limit = Math.min(PAGE, most - found);
    const page = await ask({ limit, offset });
    yield* page.resources;
    if (page.resources.length < limit || page.offset === null) return;
    found += page.resources.length;
    offset = page.offset;
  }
}

/**
 * All objects of a list.
 * @param most maximum number of objects
 */
export async function allOf<Item>(
  ask: (page: Page) => Promise<Answer<Item>>,
  most?: number,
): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of itemsOf(ask, most)) found.push(item);
  return found;
}
