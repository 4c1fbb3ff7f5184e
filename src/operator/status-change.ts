import { isDeepStrictEqual } from 'node:util';
import type { ManagedDeploymentStatus } from '../contract/managed-deployment.ts';
import { canonicalJson } from '../domain/hash.ts';

export type StatusChange = 'none' | 'wording' | 'counts' | 'state';

/** What has to be written of a status. `counts`: pods of components have moved at most; `wording`: not even those. Both may wait. */
export function statusChange(
  before: ManagedDeploymentStatus | undefined,
  after: ManagedDeploymentStatus,
): StatusChange {
  // Most looks: without the text of either.
  if (isDeepStrictEqual(before, after)) return 'none';
  if (canonicalJson(before ?? {}) === canonicalJson(after)) return 'none';
  const [former, latter] = [withoutWording(before ?? {}), withoutWording(after)];
  if (canonicalJson(former) === canonicalJson(latter)) return 'wording';
  return canonicalJson(withoutPods(former)) === canonicalJson(withoutPods(latter)) ? 'counts' : 'state';
}

function withoutWording({ conditions, ...rest }: ManagedDeploymentStatus) {
  return { ...rest, conditions: conditions?.map(({ message: _message, ...condition }) => condition) };
}

function withoutPods({ components: _, ...rest }: Pick<ManagedDeploymentStatus, 'components'>): object {
  return rest;
}
