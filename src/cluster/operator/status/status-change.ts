import { isDeepStrictEqual } from 'node:util';
import type { ManagedDeploymentStatus } from '../../../contract/resource/managed-deployment.ts';
import { canonicalJson } from '../../../domain/core/hash.ts';

export type StatusChange = 'none' | 'counts' | 'state';

/** Whether a status must be written. `counts`: only counts and messages changed, which may be delayed. */
export function statusChange(
  before: ManagedDeploymentStatus | undefined,
  after: ManagedDeploymentStatus,
): StatusChange {
  // The usual case, which needs no serialization.
  if (isDeepStrictEqual(before, after)) return 'none';
  if (canonicalJson(before ?? {}) === canonicalJson(after)) return 'none';
  if (canonicalJson(withoutCounts(before ?? {})) !== canonicalJson(withoutCounts(after))) return 'state';
  return isVolumeAlone(before, after) ? 'none' : 'counts';
}

/** The first report of a volume with the requested size is not urgent. This report is written with the next change. */
function isVolumeAlone(before: ManagedDeploymentStatus | undefined, after: ManagedDeploymentStatus): boolean {
  const { volume, ...rest } = after;
  if (before === undefined || before.volume !== undefined || volume === undefined) return false;
  return canonicalJson(before) === canonicalJson(rest);
}

/** Whether the volume causes no change of state, because it does not exist yet, or has the requested size. */
function isOrdinary({ volume }: ManagedDeploymentStatus): boolean {
  if (volume === undefined) return true;
  const { requested, capacity, former } = volume;
  return capacity === '0' || (capacity === requested && former === undefined);
}

function withoutCounts(status: ManagedDeploymentStatus): object {
  const { components: _, conditions, symptoms, volume, ...rest } = status;
  return {
    ...rest,
    volume: isOrdinary(status) ? undefined : volume,
    conditions: conditions?.map(({ message: _message, ...condition }) => condition),
    symptoms: symptoms?.map(({ message: _message, culprit: _culprit, ...symptom }) => symptom),
  };
}
