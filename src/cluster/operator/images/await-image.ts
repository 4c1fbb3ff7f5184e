import type { Observed } from '../observed.ts';
import { type FailedRevision, revisionOf, TARGET_DEFAULTS, type Target } from '../rollout/target.ts';
import { running, type Templates } from '../rollout/template-selection.ts';

/**
 * The target while the image of the requested revision is looked up, and the failure if the image does not exist.
 */

/**
 * The target during a lookup. This target continues the current state: a rollout, a rollback, the active revision, or
 * the pods of a failed revision that are kept for inspection. null: no lookup is pending.
 */
export function targetDuringLookup(observed: Observed, wanted: Templates): Target | null {
  const { image } = observed;
  if (wanted.store === null || image?.kind !== 'pending') return null;
  const { activeRevision, rollout, failedRevision, failedChange = null } = observed.resource.status ?? {};
  const storedAs = (name: string | undefined) => observed.storedTemplates.find((one) => one.name === name);
  const held = { ...TARGET_DEFAULTS, heldUntil: image.until };
  const rolling = storedAs(rollout?.templates);
  if (rollout !== undefined && rolling !== undefined) {
    const isActive = rolling.name === activeRevision?.templates;
    const served = isActive ? { served: activeRevision } : {};
    const kind = isActive ? 'active' : 'rollout';
    return { ...held, ...running(rolling), kind, revision: revisionOf(rollout), ...served };
  }
  const active = storedAs(activeRevision?.templates);
  if (activeRevision !== undefined) {
    const serving = {
      ...held,
      ...running(active),
      revision: revisionOf(activeRevision),
      served: activeRevision,
    };
    if (active === undefined) return { ...serving, kind: 'active', untouched: true };
    if (failedRevision === undefined) return { ...serving, kind: 'active' };
    return { ...serving, kind: 'restored', failed: failedRevision, failedChange };
  }
  const tried = storedAs(failedRevision?.templates);
  if (failedRevision !== undefined && tried !== undefined) {
    const revision = revisionOf(failedRevision);
    return { ...held, ...running(tried), kind: 'inspection', revision, failed: failedRevision };
  }
  // The coming rollout takes over workloads that run without a recorded revision.
  return { ...held, ...running(undefined), kind: 'no-revision', revision: null, untouched: true };
}

/** The failure of an image that does not exist, before a rollout starts; null: no such failure. */
export function missingImage({ resource, image }: Observed, wanted: Templates): FailedRevision | null {
  if (wanted.store === null || image?.kind !== 'absent') return null;
  // No templates were stored, so the next templates may get the same name.
  return {
    ...revisionOf(resource.spec.revision),
    reason: 'ImageNotFound',
    message: image.why,
    generation: resource.spec.generation,
  };
}
