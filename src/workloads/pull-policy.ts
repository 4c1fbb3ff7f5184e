import { parseImageReference } from '../domain/kubernetes/image.ts';

/**
 * When an image is pulled whose container does not say. The API server fills in the same for a new container, but to one
 * whose image changes it leaves what the former image was given: `app:latest` after `app:1` would never be pulled anew.
 */
export function pullPolicy(image: string): 'Always' | 'IfNotPresent' {
  const { tag = null, digest = null } = parseImageReference(image) ?? {};
  const moves = tag === 'latest' || (tag === null && digest === null);
  return moves ? 'Always' : 'IfNotPresent';
}
