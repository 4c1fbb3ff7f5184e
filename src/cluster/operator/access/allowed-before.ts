import { secretBytes } from '../../../domain/deployment/secret-size.ts';
import { asOfRevision } from '../../../workloads/as-of-revision.ts';
import { isTemplateInputsHash, requestedPodsHash } from '../../../workloads/template-inputs.ts';
import { contentOf, type Forbidden, type ObservedResource, type ObservedTemplates } from '../observed.ts';

/**
 * Whether pods with this pod template were allowed before. A pod template that was allowed remains allowed with another
 * image or other secrets. Stored templates prove that the pods were allowed, because stored templates contain nothing
 * that was rejected. A status proves nothing, because another user could write it.
 */
function isKept(resource: ObservedResource, storedTemplates: readonly ObservedTemplates[]): boolean {
  const requested = requestedPodsHash(resource);
  return storedTemplates.some((stored) =>
    stored.askedPods === undefined ? isOfSameSpec(resource, stored) : stored.askedPods === requested,
  );
}

/** Whether a revision was allowed to have as many and as large variables. The API applies its caps in the same way. */
function keepsVariables({ spec }: ObservedResource, storedTemplates: readonly ObservedTemplates[]): boolean {
  const { env = [] } = spec.podTemplate;
  return storedTemplates.some((stored) => {
    const { env: before = [] } = stored.settings();
    return env.length <= before.length && secretBytes(env) <= secretBytes(before);
  });
}

/** The rejected parts that were not allowed before. */
export function withoutKept(
  parts: readonly Forbidden[],
  resource: ObservedResource,
  storedTemplates: readonly ObservedTemplates[],
): Forbidden[] {
  const keepsPods = parts.some(({ ofPodTemplate }) => ofPodTemplate) && isKept(resource, storedTemplates);
  return parts.filter(({ ofPodTemplate, ofVariables = false }) => {
    if (ofVariables) return !keepsVariables(resource, storedTemplates);
    return !(ofPodTemplate && keepsPods);
  });
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
