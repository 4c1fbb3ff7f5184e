import type { Policy } from './policy.ts';
import type { PolicyView, Violation } from './policy-view.ts';

/**
 * A confirmation to delete the volume of the database, if the policy does not allow it. A confirmation that was accepted
 * stays valid.
 */
export function volumeRemovalIssues({ settings, stored }: PolicyView, { database }: Policy): Violation[] {
  const isRequested = settings.database?.remove_volume === true;
  if (!isRequested || database.volume_removal || stored?.database?.remove_volume === true) return [];
  const msg =
    'must not be true, because the policy keeps the volume of a database until the deployment is deleted';
  return [{ loc: ['source_config', 'database', 'remove_volume'], msg }];
}
