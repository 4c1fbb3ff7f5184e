import type { Observed } from '../observed.ts';
import { currentTarget } from '../rollout/current-target.ts';
import { type FailedRevision, revisionOf, type Target } from '../rollout/target.ts';
import type { Templates } from '../rollout/template-selection.ts';

/**
 * The target while the image of the requested revision is looked up, and the failure if the image does not exist.
 */

/** The target during a lookup. null: no lookup is pending. */
export function targetDuringLookup(observed: Observed, wanted: Templates): Target | null {
  const { image } = observed;
  if (wanted.store === null || image?.kind !== 'pending') return null;
  return currentTarget(observed, image.until);
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
