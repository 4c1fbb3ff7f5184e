/** Tags of what builds push: by them the registry knows what is in use, for revisions run by digest. */

/** The layers that the next build of the deployment starts from. */
export const CACHE_TAG = 'buildcache';

/** Of the image that was built for a revision. */
export const revisionTag = (number: number): string => `rev-${number}`;

/** Number of the revision that a tag is of; null: it is of none. */
export function taggedRevision(tag: string): number | null {
  const [, number] = /^rev-([1-9]\d{0,9})$/.exec(tag) ?? [];
  return number === undefined ? null : Number(number);
}
