import type { Observed } from '../observed.ts';
import { type Finding, no, yes } from '../status/conditions.ts';
import { imageToRun } from './revision-image.ts';

/** The part of ImageReady about the lookup of an image; null: no lookup. */
export function lookupFinding(observed: Observed): Finding | null {
  const { resource, image: lookup } = observed;
  if (lookup?.kind === 'pending') {
    const message = `the registry is being queried for the digest of ${resource.spec.revision.image}`;
    return no('ImageResolving', message);
  }
  if (lookup?.kind === 'absent') return no('ImageNotFound', lookup.why);
  const image = imageToRun(resource, observed);
  if (image?.unresolved !== undefined) return yes('ImageUnresolved', unresolvedMessage(image));
  if (image === undefined || image.used === image.given) return null;
  return yes('ImageResolved', `image ${image.given} was resolved: its pods run ${image.used}`);
}

function unresolvedMessage({ given, unresolved }: { given: string; unresolved?: string }): string {
  return `image ${given} is used without a digest, because its lookup failed: ${unresolved}`;
}
