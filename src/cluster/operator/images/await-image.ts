import type { Observed } from '../observed.ts';
import { type FailedRevision, revisionOf, type Target } from '../rollout/target.ts';
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
  const heldUntil = image.until;
  const active = { kind: 'active', heldUntil, failure: null, awaits: null, instead: null } as const;
  const rolling = storedAs(rollout?.templates);
  if (rollout !== undefined && rolling !== undefined) {
    const runs = { ...running(rolling), revision: revisionOf(rollout) };
    return activeRevision !== undefined && rolling.name === activeRevision.templates
      ? { ...active, ...runs, served: activeRevision, untouched: false }
      : { ...runs, kind: 'rollout', heldUntil, instead: null };
  }
  if (activeRevision !== undefined) {
    const stored = storedAs(activeRevision.templates);
    const runs = { ...running(stored), revision: revisionOf(activeRevision), served: activeRevision };
    if (stored === undefined || failedRevision === undefined)
      return { ...active, ...runs, untouched: stored === undefined };
    const failure = { failed: failedRevision, failedChange };
    return { ...runs, kind: 'restored', heldUntil, failure, held: false };
  }
  const tried = storedAs(failedRevision?.templates);
  if (failedRevision !== undefined && tried !== undefined) {
    const failure = { failed: failedRevision, failedChange: null };
    const runs = { ...running(tried), revision: revisionOf(failedRevision) };
    return { ...runs, kind: 'inspection', heldUntil, failure, untouched: false };
  }
  // The coming rollout takes over workloads that run without a recorded revision.
  const runs = { ...running(undefined), revision: null };
  return { ...runs, kind: 'no-revision', heldUntil, failure: null, untouched: true };
}

/** The failure of an image that does not exist, before a rollout starts; null: no such failure. */
export function missingImage({ resource, image }: Observed, wanted: Templates): FailedRevision | null {
  if (wanted.store === null || image?.kind !== 'absent') return null;
  // No templates were stored, so the next templates may get the same name.
  return {
    ...revisionOf(resource.spec.revision),
    reason: 'ImageNotFound',
    message: image.why,
    recordGeneration: resource.spec.recordGeneration,
  };
}
