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
 * The objects of a list.
 * @param most maximum number of objects
 */
export async function allOf<Item>(
  ask: (page: Page) => Promise<Answer<Item>>,
  most = Number.POSITIVE_INFINITY,
): Promise<Item[]> {
  const found: Item[] = [];
  for (let offset = 0; found.length < most; ) {
    const limit = Math.min(PAGE, most - found.length);
    const page = await ask({ limit, offset });
    found.push(...page.resources);
    if (page.resources.length < limit || page.offset === null) break;
    offset = page.offset;
  }
  return found;
}
