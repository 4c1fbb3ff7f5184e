import { asOfRevision } from '../../../workloads/as-of-revision.ts';
import { isTemplateInputsHash, requestedPodsHash } from '../../../workloads/template-inputs.ts';
import { contentOf, type ObservedResource, type ObservedTemplates } from '../observed.ts';

/**
 * Whether pods with this pod template were allowed before. A pod template that was allowed remains allowed with another
 * image or other secrets. Stored templates prove that the pods were allowed, because stored templates contain nothing
 * that was rejected. A status proves nothing, because another user could write it.
 */
export function isKept(resource: ObservedResource, storedTemplates: readonly ObservedTemplates[]): boolean {
  const requested = requestedPodsHash(resource);
  return storedTemplates.some((stored) =>
    stored.askedPods === undefined ? isOfSameSpec(resource, stored) : stored.askedPods === requested,
  );
}

/**
 * For templates of an earlier version without a hash of the pod template: everything except image and secrets must
 * be equal.
 */
function isOfSameSpec(resource: ObservedResource, stored: ObservedTemplates): boolean {
  const { revisionId: id, revisionNumber: number } = stored;
  const identity = resource.spec.revision.id === undefined ? { number } : { id, number };
  try {
    const view = asOfRevision(resource, identity, contentOf(stored));
    return isTemplateInputsHash(view, stored.inputsHash);
  } catch {
    // Another writer created these templates, so they do not prove that the pods were allowed.
    return false;
  }
}
