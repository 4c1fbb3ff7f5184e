import { asOfRevision } from '../../../workloads/as-of-revision.ts';
import { askedPodsHash, isTemplateInputsHash } from '../../../workloads/template-inputs.ts';
import type { ObservedResource, ObservedTemplates } from '../observed.ts';

/**
 * Whether pods with this pod template were allowed before. They stay allowed with another image or other secrets.
 * Stored templates prove it, because they contain nothing that was rejected. A status could be written by another
 * user.
 */
export function isKept(resource: ObservedResource, storedTemplates: readonly ObservedTemplates[]): boolean {
  const asked = askedPodsHash(resource);
  return storedTemplates.some((stored) =>
    stored.askedPods === undefined ? isOfSameSpec(resource, stored) : stored.askedPods === asked,
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
    const view = asOfRevision(resource, identity, stored.templates(), stored.image()?.given);
    return isTemplateInputsHash(view, stored.inputsHash);
  } catch {
    // Another writer created them, so they prove nothing.
    return false;
  }
}
