import { z } from 'zod';

/** Image references. Grammar: github.com/distribution/reference. */

const DOMAIN_PART = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])';
const DOMAIN = `(?:${DOMAIN_PART}(?:\\.${DOMAIN_PART})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const PATH_PART = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const NAME = `((?:(${DOMAIN})/)?${PATH_PART}(?:/${PATH_PART})*)`;
const TAG = '(?::([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?';
const PINNED = '(?:@([A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?';
/** An image reference as a regular expression that RE2 also supports. */
export const IMAGE_PATTERN = `^${NAME}${TAG}${PINNED}$`;
/** An image reference without tag and digest. */
export const REPOSITORY_PATTERN = `^${NAME}$`;
const REFERENCE = new RegExp(IMAGE_PATTERN);
/** The digests that registries and container runtimes support. */
const DIGEST = /^(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$/;

/** Maximum length of a repository name in registries. */
const MAX_NAME_LENGTH = 255;
/** The id of an image on a node, which is not a reference, as a regular expression that RE2 also supports. */
export const IMAGE_ID_PATTERN = '^(?:sha256(?:[:@]|$)|[0-9a-f]{64}$)';
const IMAGE_ID = new RegExp(IMAGE_ID_PATTERN);

/** Maximum length of an image reference with name, tag and digest. */
export const MAX_IMAGE_LENGTH = 512;

export interface ImageReference {
  /** Registry and repository, as written: `registry.example.com/team/app`. */
  name: string;
  tag: string | null;
  /** `sha256:…` or `sha512:…`, if the reference is pinned to a digest. */
  digest: string | null;
}

/**
 * Whether containerd reads a text as an image id. According to the grammar, `sha256:3f` is a name with a tag. For
 * containerd, such a text is the image on the node whose id has this prefix, even if the image belongs to another
 * tenant. 64 hexadecimal digits are also an image id for containerd. `library/sha256` is an ordinary name.
 */
export const isImageId = (image: string): boolean => IMAGE_ID.test(image);

/**
 * Splits an image reference.
 * @returns the parts of the reference as written, without defaults, or null if the reference is not valid
 */
export function parseImageReference(image: string): ImageReference | null {
  if (image.length > MAX_IMAGE_LENGTH || isImageId(image)) return null;
  const match = REFERENCE.exec(image);
  if (!match) return null;
  const [, name = '', , tag = null, digest = null] = match;
  if (name.length > MAX_NAME_LENGTH) return null;
  if (digest !== null && !DIGEST.test(digest)) return null;
  return { name, tag, digest };
}

/** Whether a text is a repository of a registry: an image reference without tag and digest. */
export function isRepository(text: string): boolean {
  const parsed = parseImageReference(text);
  return parsed !== null && parsed.tag === null && parsed.digest === null;
}

/** An image reference such as `registry.example.com/team/app:1.2` or `…@sha256:…`. */
export const imageSchema = z
  .string()
  .min(1)
  .max(MAX_IMAGE_LENGTH)
  .refine(
    (image) => parseImageReference(image) !== null,
    'must be an image reference: [registry/]name[:tag][@digest]',
  );
