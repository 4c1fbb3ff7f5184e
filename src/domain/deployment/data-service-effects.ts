import { disabledServices } from '../pod-settings/data-services.ts';
import { isOff } from '../resource-spec/effective-spec.ts';
import type { ExternalServices } from './change-effects.ts';
import type { SourceConfig } from './deployment.ts';

/** States what a change does to data services that it switches on or off, as sentences for the user. */

export interface DatabaseVolume {
  /** Size in GiB of the volume of the database before the change. 0: no volume exists. */
  readonly sizeGi: number;
}

function startOf(sizeGi: number): string {
  return sizeGi === 0
    ? 'The database is created with an empty volume.'
    : `The database starts with the volume that was kept (${sizeGi} GiB).`;
}

/** The stored templates of a deployment that is switched off may still use the database, and change only with its pods. */
const SUSPENDED =
  'While max_scale is 0, the deletion waits until the deployment is switched on again, if its last pods used the database.';

function removalOf(sizeGi: number, isSuspended: boolean): string {
  const removal = `The volume of the database (${sizeGi} GiB) is deleted with all its data when no pod uses it. This cannot be undone.`;
  return isSuspended ? `${removal} ${SUSPENDED}` : removal;
}

function databaseEffects(before: SourceConfig, after: SourceConfig, { sizeGi }: DatabaseVolume): string[] {
  const [was, is] = [disabledServices(before).database, disabledServices(after).database];
  const removes = after.database?.remove_volume === true;
  const isRemoved = removes && before.database?.remove_volume !== true && sizeGi > 0;
  const removal = isRemoved ? [removalOf(sizeGi, isOff(after.resource_spec ?? {}))] : [];
  if (!was && is) {
    const off = 'The database is switched off when the pods no longer use it.';
    if (sizeGi === 0) return [off];
    if (removes) return [off, ...removal];
    return [
      `${off} Its volume (${sizeGi} GiB) is kept and counts in the quota until the deployment is deleted or ` +
        'database.remove_volume is true.',
    ];
  }
  if (was && !is) return [startOf(sizeGi)];
  // The hub rejects this change if the removal has begun.
  const isTakenBack = before.database?.remove_volume === true && !removes && sizeGi > 0;
  return isTakenBack ? [`The volume of the database (${sizeGi} GiB) is kept.`] : removal;
}

function cacheEffects(before: SourceConfig, after: SourceConfig): string[] {
  const [was, is] = [disabledServices(before).cache, disabledServices(after).cache];
  if (was === is) return [];
  return is
    ? ['The cache is switched off when the pods no longer use it, and loses its content.']
    : ['The cache is created.'];
}

/**
 * The effects of `database` and `cache`. A service that the tenant provides is not affected, apart from the volume that was
 * kept from the time when Berth ran the database.
 */
export function dataServiceEffects(
  before: SourceConfig,
  after: SourceConfig,
  external: ExternalServices,
  volume: DatabaseVolume,
): string[] {
  const isRemoved = after.database?.remove_volume === true;
  return [
    ...(external.database && !isRemoved ? [] : databaseEffects(before, after, volume)),
    ...(external.cache ? [] : cacheEffects(before, after)),
  ];
}
