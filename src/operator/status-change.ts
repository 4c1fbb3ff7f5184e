import { isDeepStrictEqual } from 'node:util';
import type { ManagedDeploymentStatus } from '../contract/managed-deployment.ts';
import { canonicalJson } from '../domain/hash.ts';

export type StatusChange = 'none' | 'counts' | 'state';

/** Whether a status has to be written. `counts`: only numbers and wording moved, which may wait a moment. */
export function statusChange(
  before: ManagedDeploymentStatus | undefined,
  after: ManagedDeploymentStatus,
): StatusChange {
  // Most looks: without the text of either.
  if (isDeepStrictEqual(before, after)) return 'none';
  if (canonicalJson(before ?? {}) === canonicalJson(after)) return 'none';
  return canonicalJson(withoutCounts(before ?? {})) === canonicalJson(withoutCounts(after))
    ? 'counts'
    : 'state';
}

function withoutCounts({ components: _, conditions, symptoms, ...rest }: ManagedDeploymentStatus): object {
  return {
    ...rest,
    conditions: conditions?.map(({ message: _message, ...condition }) => condition),
    symptoms: symptoms?.map(({ message: _message, culprit: _culprit, ...symptom }) => symptom),
  };
}
