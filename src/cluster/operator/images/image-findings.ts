import type { Observed } from '../observed.ts';
import { type Finding, no, yes } from '../status/conditions.ts';
import { imageToRun } from './revision-image.ts';

/** What ImageReady says of an image that a registry is, or was, asked for; null: nobody asks. */
export function lookupFinding(observed: Observed): Finding | null {
  const { resource, image: look } = observed;
  if (look?.kind === 'pending') {
    const message = `the registry is asked for the digest of ${resource.spec.revision.image}`;
    return no('ImageResolving', message);
  }
  if (look?.kind === 'absent') return no('ImageNotFound', look.why);
  const image = imageToRun(resource, observed);
  if (image?.unresolved !== undefined) return yes('ImageUnresolved', unresolvedMessage(image));
  if (image === undefined || image.used === image.given) return null;
  return yes('ImageResolved', `image ${image.given} was resolved: its pods run ${image.used}`);
}

function unresolvedMessage({ given, unresolved }: { given: string; unresolved?: string }): string {
  return `image ${given} is used as given, for its digest could not be looked up: ${unresolved}`;
}
