import { controllerOf } from '../kube/object.ts';
import { databaseName } from '../workloads/names.ts';
import { type Action, actionId, type Plan, STAGES } from './action.ts';
import type { Comparison } from './comparison.ts';
import { isLarger, volumeState } from './data-services.ts';
import type { Failure } from './failure.ts';
import type { ChildObject, Observed } from './observed.ts';

/** What was refused of the volume; undefined: nothing. All else goes on without it. */
export function volumeRefusal({ resource }: Observed, failures: readonly Failure[]): Failure | undefined {
  const id = actionId('volume', 'PersistentVolumeClaim', databaseName(resource));
  return failures.find(({ actionId: refused }) => refused === id);
}

/** What the volume claim asks for while that is less than is wanted; null: it is not, or the growth was just begun. */
export function volumeBehind(
  observed: Observed,
  comparisons: readonly Comparison[],
  { actions }: Plan,
): string | null {
  const claim = comparisons.find(({ desired, live }) => desired.storage !== undefined && live !== undefined);
  const volume = volumeState(observed);
  if (volume === undefined || !isLarger(claim?.desired.storage ?? '0', volume.requested)) return null;
  const isLeft = actions.some(({ kind }) => kind === 'volume');
  return isLeft || !volume.bound ? volume.requested : null;
}

/** The volume may grow, and follow a change of volumePolicy; all else of it stays as it was made. */
export function volumeChange(
  observed: Observed,
  { desired, object }: Comparison,
  live: ChildObject,
): Action[] {
  const wanted = desired.storage ?? '0';
  const volume = volumeState(observed);
  const grows = volume?.bound === true && isLarger(wanted, volume.requested);
  const isOwned = controllerOf(live)?.uid === observed.resource.metadata.uid;
  if (!grows && isOwned === desired.owned) return [];
  const change = {
    ...(grows ? { storage: wanted } : {}),
    ...(isOwned === desired.owned ? {} : { owned: desired.owned }),
  };
  return [
    {
      kind: 'volume',
      id: actionId('volume', object.kind, object.metadata.name),
      reason: grows ? `grows to ${wanted}` : 'volumePolicy has changed',
      stage: STAGES.objects,
      after: [],
      object,
      uid: live.metadata.uid ?? '',
      resourceVersion: live.metadata.resourceVersion ?? '',
      change,
      followers: observed.storedTemplates.map(({ name, uid }) => ({ name, uid })),
    },
  ];
}
