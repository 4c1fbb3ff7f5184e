import { isDeepStrictEqual } from 'node:util';
import type { ManagedDeploymentStatus } from '../../../contract/resource/managed-deployment.ts';
import { canonicalJson } from '../../../domain/core/hash.ts';

export type StatusChange = 'none' | 'counts' | 'state';

/** Whether a status has to be written. `counts`: only numbers and wording moved, which may wait a moment. */
export function statusChange(
  before: ManagedDeploymentStatus | undefined,
  after: ManagedDeploymentStatus,
): StatusChange {
  // Most looks: without the text of either.
  if (isDeepStrictEqual(before, after)) return 'none';
  if (canonicalJson(before ?? {}) === canonicalJson(after)) return 'none';
  if (canonicalJson(withoutCounts(before ?? {})) !== canonicalJson(withoutCounts(after))) return 'state';
  return isVolumeAlone(before, after) ? 'none' : 'counts';
}

/** That a volume of the usual size is there says nothing new: it is written with the next change. */
function isVolumeAlone(before: ManagedDeploymentStatus | undefined, after: ManagedDeploymentStatus): boolean {
  const { volume, ...rest } = after;
  if (before === undefined || before.volume !== undefined || volume === undefined) return false;
  return canonicalJson(before) === canonicalJson(rest);
}

/** A volume that is not there yet, or has the size that it should have, changes no state. */
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
