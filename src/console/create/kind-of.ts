/** Where a new deployment comes from. */

export const KINDS = ['image', 'repository', 'sample', 'folder'] as const;
export type Kind = (typeof KINDS)[number];

export const LABELS: Readonly<Record<Kind, string>> = {
  image: 'From an image',
  repository: 'From a repository',
  sample: 'From a sample',
  folder: 'From a folder',
};

/** The kind in a URL. Default: an image. */
export function kindOf(search: Readonly<Record<string, unknown>>): { readonly from?: Kind } {
  const from = KINDS.find((kind) => kind === search['from']);
  return from === undefined ? {} : { from };
}
