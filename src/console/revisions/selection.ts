import type { Revision } from '../api/types.ts';
import { idOf, type Search } from '../app/search.ts';

/** The revisions that the URL names, by their ids. */

export interface RevisionSelection {
  /** The revisions that are compared. */
  readonly from?: string;
  readonly to?: string;
}

/** The selection of a URL. What is not an id is left out. */
export function revisionSelectionOf(search: Search | RevisionSelection): RevisionSelection {
  const given: Search = { ...search };
  const ids = ['from', 'to'].flatMap((name) => {
    const id = idOf(given[name]);
    return id !== undefined ? [[name, id] as const] : [];
  });
  return Object.fromEntries(ids);
}

/**
 * The revision that another one is compared with: the latest one, or the one before if it is the latest one itself.
 * @param revisions newest first
 */
export function otherOf({ id }: Revision, revisions: readonly Revision[], latestId: string | null): string {
  if (latestId !== null && id !== latestId) return latestId;
  const index = revisions.findIndex((each) => each.id === id);
  return revisions[index + 1]?.id ?? id;
}
