/** Tags of pushed images. Revisions use images by digest. The tags show in the registry which images are in use. */

/** Tag of the layer cache for the next build of the deployment. */
export const CACHE_TAG = 'buildcache';

/** Tag of the image of a revision. */
export const revisionTag = (number: number): string => `rev-${number}`;

/** Number of the revision that a tag belongs to. null: it belongs to no revision. */
export function taggedRevision(tag: string): number | null {
  const [, number] = /^rev-([1-9]\d{0,9})$/.exec(tag) ?? [];
  return number === undefined ? null : Number(number);
}
