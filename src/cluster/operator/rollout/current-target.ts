import type { Observed } from '../observed.ts';
import { revisionOf, type Target } from './target.ts';
import { running } from './template-selection.ts';

/**
 * The target while a revision waits before its rollout. This target continues the current state: a rollout, a rollback, the
 * active revision, or the pods of a failed revision that are kept for inspection.
 * @param heldUntil until when the revision waits, in ms since the epoch
 */
export function currentTarget(observed: Observed, heldUntil: number): Target {
  const { activeRevision, rollout, failedRevision, failedChange = null } = observed.resource.status ?? {};
  const storedAs = (name: string | undefined) => observed.storedTemplates.find((one) => one.name === name);
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
