import { imageSchema, parseImageReference } from './kubernetes/image.ts';

/** What the API reads out of an image_uri; the grammar is in kubernetes/image.ts. */

/** image_uri as sent: `[registry/]name[:tag][@digest]`. */
export const imageUriSchema = imageSchema;

/** The tag of an image; null: it has none, or there is no image. */
export function imageVersion(image: string | null): string | null {
  return image === null ? null : (parseImageReference(image)?.tag ?? null);
}

/** The image itself where it is pinned to a digest: there is nothing left to resolve. */
export function pinnedImage(image: string | null): string | null {
  return image !== null && parseImageReference(image)?.digest != null ? image : null;
}

/**
 * Whether an image lies under a registry.
 * @param registry host, with or without a path: `registry.example.com`, `registry.example.com/apps`
 */
export function isUnderRegistry(image: string, registry: string): boolean {
  const name = parseImageReference(image)?.name ?? '';
  return name.startsWith(`${registry.replace(/^https?:\/\//, '').replace(/\/+$/, '')}/`);
}
