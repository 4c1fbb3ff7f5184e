import type { Observed } from '../observed.ts';
import { type FailedRevision, PLAIN, revisionOf, type Target } from '../rollout/target.ts';
import { running, type Templates } from '../rollout/template-selection.ts';

/** What runs until the image of the wanted revision is known, and when it never will be. */

/**
 * While a registry is asked, what is under way goes on, be it a rollout, a way back from one, what serves, or what is kept
 * to be looked at; null: nothing has to be waited for.
 */
export function targetDuringLookup(observed: Observed, wanted: Templates): Target | null {
  const { image } = observed;
  if (wanted.store === null || image?.kind !== 'pending') return null;
  const { activeRevision, rollout, failedRevision, failedChange = null } = observed.resource.status ?? {};
  const storedAs = (name: string | undefined) => observed.storedTemplates.find((one) => one.name === name);
  const held = { ...PLAIN, heldUntil: image.until };
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
  // What somebody left running without a resource, which nothing tells of, is taken over by the rollout to come.
  return { ...held, ...running(undefined), kind: 'no-revision', revision: null, untouched: true };
}

/** What can never be pulled fails before anything of it is begun; null: nothing says so. */
export function missingImage({ resource, image }: Observed, wanted: Templates): FailedRevision | null {
  if (wanted.store === null || image?.kind !== 'absent') return null;
  // Without templates, which were never stored: the next ones may get their name.
  return {
    ...revisionOf(resource.spec.revision),
    reason: 'ImageNotFound',
    message: image.why,
    generation: resource.spec.generation,
  };
}
