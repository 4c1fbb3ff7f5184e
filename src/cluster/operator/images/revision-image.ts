import type { ManagedDeploymentStatus } from '../../../contract/resource/managed-deployment.ts';
import { labelValue } from '../../../workloads/labels.ts';
import type { StoredImage } from '../../../workloads/stored-templates.ts';
import type { Observed, ObservedResource, ObservedTemplates } from '../observed.ts';
import { isSame, revisionOf } from '../rollout/target.ts';

/**
 * Which image a revision runs. It is decided once, when templates of the revision are first stored, and stands with
 * them: whatever is rendered of the revision later takes it from there, wherever its tag points by then.
 */

function isOfRevision({ revisionNumber, revisionId }: ObservedTemplates, resource: ObservedResource) {
  const { id, number } = resource.spec.revision;
  return revisionNumber === number && revisionId === labelValue(id ?? String(number));
}

/** The image that stored templates of the wanted revision run; null: none are stored yet. */
export function storedImage(
  resource: ObservedResource,
  all: readonly ObservedTemplates[],
): StoredImage | null {
  const { image } = resource.spec.revision;
  for (const stored of all) {
    if (!isOfRevision(stored, resource)) continue;
    const found = stored.image();
    // A resource without a record may name another image under the same number.
    if (found !== null && (found.given === image || found.used === image)) return found;
  }
  return null;
}

/**
 * The resource as the revision was first asked for. The hub knows of digests by our own reports and then names the image
 * by it, which is no other wish; where nothing is stored any more, it is all that is left of the decision.
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

/** By its status; the templates may have been deleted by hand. */
function activeImage({ spec, status }: ObservedResource): StoredImage | null {
  const { activeRevision } = status ?? {};
  const given = spec.revision.image;
  if (given === undefined || activeRevision?.image === undefined) return null;
  const { image } = activeRevision;
  const isIt = isSame(activeRevision, spec.revision) && (image === given || image.startsWith(`${given}@`));
  return isIt ? { given, used: image } : null;
}

/** The image as far as it is decided; null: nothing of the revision was stored yet. */
export function decidedImage(
  resource: ObservedResource,
  all: readonly ObservedTemplates[],
): StoredImage | null {
  return storedImage(resource, all) ?? activeImage(resource);
}

/** The image that new templates of the revision run; undefined: as given, and nobody has looked it up. */
export function imageToRun(resource: ObservedResource, observed: Observed): StoredImage | undefined {
  const decided = decidedImage(resource, observed.storedTemplates);
  if (decided !== null) return decided;
  const { image: look } = observed;
  const given = resource.spec.revision.image;
  if (look === undefined || given === undefined) return undefined;
  if (!isSame(resource.spec.revision, observed.resource.spec.revision)) return undefined;
  if (look.kind === 'resolved') return { given, used: look.image };
  return look.kind === 'unresolved' ? { given, used: given, unresolved: look.why } : undefined;
}

/** The resource with the image in the place of what was given, to render its templates of. */
export function withImage(resource: ObservedResource, image: StoredImage | undefined): ObservedResource {
  if (image === undefined) return resource;
  const { spec } = resource;
  return { ...resource, spec: { ...spec, revision: { ...spec.revision, image: image.used } } };
}

/** What is told of the wanted revision's digest: only once it stands in stored templates, and so stays. */
export function resolvedImage({
  resource,
  storedTemplates,
}: Observed): Pick<ManagedDeploymentStatus, 'image'> {
  const image = storedImage(resource, storedTemplates);
  if (image === null || image.used === image.given) return {};
  return { image: { ...revisionOf(resource.spec.revision), image: image.used } };
}
