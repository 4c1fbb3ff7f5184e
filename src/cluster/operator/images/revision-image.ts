import type { ManagedDeploymentStatus } from '../../../contract/resource/managed-deployment.ts';
import { labelValue } from '../../../workloads/labels.ts';
import type { StoredImage } from '../../../workloads/stored-templates.ts';
import type { Observed, ObservedResource, ObservedTemplates } from '../observed.ts';
import { isSame, revisionOf } from '../rollout/target.ts';

/**
 * The image of a revision. The image is decided when the first templates of the revision are stored, and is kept with
 * these templates. Later renderings of the revision use the same image, even if its tag has moved.
 */

function isOfRevision({ revisionNumber, revisionId }: ObservedTemplates, resource: ObservedResource) {
  const { id, number } = resource.spec.revision;
  return revisionNumber === number && revisionId === labelValue(id ?? String(number));
}

/** The image of the requested revision's stored templates; null: none are stored. */
export function storedImage(
  resource: ObservedResource,
  all: readonly ObservedTemplates[],
): StoredImage | null {
  const { image } = resource.spec.revision;
  for (const stored of all) {
    if (!isOfRevision(stored, resource)) continue;
    const found = stored.image();
    // A resource applied by hand may name another image under the same number.
    if (found !== null && (found.given === image || found.used === image)) return found;
  }
  return null;
}

/**
 * The resource with the image as first requested. The hub learns the digest from the status and then names the image by
 * digest, which is no new request. If no templates are stored, this digest is the only record of the decision.
 */
export function asFirstGiven(
  resource: ObservedResource,
  all: readonly ObservedTemplates[],
): ObservedResource {
  const { revision } = resource.spec;
  if (revision.image === undefined || !revision.image.includes('@')) return resource;
  const found = storedImage(resource, all);
  if (found === null || found.given === revision.image) return resource;
  return { ...resource, spec: { ...resource.spec, revision: { ...revision, image: found.given } } };
}

/**
 * The image of the active revision in the status. The templates of the active revision may have been deleted manually.
 */
function activeImage({ spec, status }: ObservedResource): StoredImage | null {
  const { activeRevision } = status ?? {};
  const given = spec.revision.image;
  if (given === undefined || activeRevision?.image === undefined) return null;
  const { image } = activeRevision;
  const isIt = isSame(activeRevision, spec.revision) && (image === given || image.startsWith(`${given}@`));
  return isIt ? { given, used: image } : null;
}

/** The decided image; null: no templates of the revision were stored yet. */
export function decidedImage(
  resource: ObservedResource,
  all: readonly ObservedTemplates[],
): StoredImage | null {
  return storedImage(resource, all) ?? activeImage(resource);
}

/** The image for new templates of the revision; undefined: as in the spec, not looked up. */
export function imageToRun(resource: ObservedResource, observed: Observed): StoredImage | undefined {
  const decided = decidedImage(resource, observed.storedTemplates);
  if (decided !== null) return decided;
  const { image: lookup } = observed;
  const given = resource.spec.revision.image;
  if (lookup === undefined || given === undefined) return undefined;
  if (!isSame(resource.spec.revision, observed.resource.spec.revision)) return undefined;
  if (lookup.kind === 'resolved') return { given, used: lookup.image };
  return lookup.kind === 'unresolved' ? { given, used: given, unresolved: lookup.why } : undefined;
}

/** The resource with the decided image, to render its templates. */
export function withImage(resource: ObservedResource, image: StoredImage | undefined): ObservedResource {
  if (image === undefined) return resource;
  const { spec } = resource;
  return { ...resource, spec: { ...spec, revision: { ...spec.revision, image: image.used } } };
}

/**
 * The resolved image for the status. The image is reported only when stored templates contain it, so that the reported
 * image cannot change.
 */
export function resolvedImage({
  resource,
  storedTemplates,
}: Observed): Pick<ManagedDeploymentStatus, 'image'> {
  const image = storedImage(resource, storedTemplates);
  if (image === null || image.used === image.given) return {};
  return { image: { ...revisionOf(resource.spec.revision), image: image.used } };
}
