import type { ManagedDeploymentStatus } from '../../../contract/resource/managed-deployment.ts';
import { databaseName } from '../../../workloads/names.ts';
import { controllerOf } from '../../kube/client/object.ts';
import { type Action, actionId, STAGES } from '../action.ts';
import {
  isLarger,
  isSameSize,
  type VolumeState,
  volumeNameOf,
  volumeState,
} from '../observe/data-services.ts';
import type { Failure } from '../observe/failure.ts';
import { isMarked } from '../observe/ownership.ts';
import { type ChildObject, liveChild, type Observed } from '../observed.ts';
import type { Comparison } from './comparison.ts';

/** The rejected change of the volume, which blocks no other action; undefined: no change was rejected. */
export function volumeRefusal({ resource }: Observed, failures: readonly Failure[]): Failure | undefined {
  const id = actionId('volume', 'PersistentVolumeClaim', databaseName(resource));
  return failures.find(({ actionId: refused }) => refused === id);
}

/** The size to request in the claim; null: no change. */
export function sizeToRequest(volume: VolumeState | undefined, wanted: string): string | null {
  if (volume?.bound !== true) return null;
  const { requested, capacity } = volume;
  // The volume is large enough already. A storage class might reject the request.
  if (capacity !== undefined && !isLarger(wanted, capacity)) return null;
  if (isLarger(wanted, requested)) return wanted;
  // An unfinished expansion can be reduced to any size above the capacity.
  const isUnfinished = capacity !== undefined && isLarger(requested, capacity);
  return isUnfinished && isLarger(requested, wanted) ? wanted : null;
}

/** The volume in the status, from which the hub and the rule of the CRD derive the minimum of `storage`. */
export function volumeStatus(
  observed: Observed,
  failures: readonly Failure[],
): ManagedDeploymentStatus['volume'] {
  const { storage } = observed.resource.spec.database;
  const volume = volumeState(observed);
  // The cluster rejects the claim itself, so there is no volume that could shrink.
  if (volume === undefined) {
    return isCreationRefused(observed, failures) ? { requested: '0', capacity: '0' } : undefined;
  }
  const { requested, capacity, bound } = volume;
  if (capacity !== undefined) return { requested, capacity, ...formerStorage(observed, capacity) };
  if (!bound && hasNoVolume(observed)) return { requested, capacity: '0' };
  return isLarger(storage, requested) ? { requested } : undefined;
}

function isCreationRefused({ resource }: Observed, failures: readonly Failure[]): boolean {
  const id = actionId('create', 'PersistentVolumeClaim', databaseName(resource));
  return failures.some(({ actionId: refused }) => refused === id);
}

/**
 * Whether no PersistentVolume is bound to the claim or being created for it, or an Event reports why the claim gets no
 * volume.
 */
function hasNoVolume(observed: Observed): boolean {
  const claim = liveChild(observed, 'PersistentVolumeClaim', databaseName(observed.resource));
  if (claim === undefined) return false;
  return volumeNameOf(claim) === undefined || observed.warnings?.get(claim.metadata.uid ?? '') !== undefined;
}

/**
 * The former `storage` value, which is below the capacity because the provider rounded up. This value may be set again
 * until the volume has grown.
 */
function formerStorage({ resource }: Observed, capacity: string): { former?: string } {
  const { storage } = resource.spec.database;
  if (isLarger(capacity, storage)) return { former: storage };
  const before = resource.status?.volume;
  const isUnchanged = before?.capacity !== undefined && isSameSize(before.capacity, capacity);
  const isKept = isUnchanged && before.former !== undefined && isLarger(storage, capacity);
  return isKept ? { former: before.former } : {};
}

/** The rejected change of the volume, as the start of a message. */
export function refusedResize(observed: Observed): string {
  const { storage } = observed.resource.spec.database;
  const requested = volumeState(observed)?.requested ?? '0';
  return isLarger(requested, storage)
    ? `its claim cannot be lowered from ${requested} to ${storage}`
    : 'its volume cannot be expanded';
}

/** Only size and owner of the claim follow the spec. The other fields of the claim are never changed. */
export function volumeChange(
  observed: Observed,
  { desired, object }: Comparison,
  live: ChildObject,
): Action[] {
  const volume = volumeState(observed);
  const size = sizeToRequest(volume, desired.storage ?? '0');
  const isOwned = controllerOf(live)?.uid === observed.resource.metadata.uid;
  // A claim that was retained from an earlier resource of this name is used, but gets no owner.
  const owned = desired.owned && isMarked(live, observed.resource);
  if (size === null && isOwned === owned) return [];
  const change = {
    ...(size === null ? {} : { storage: size }),
    ...(isOwned === owned ? {} : { owned }),
  };
  return [
    {
      kind: 'volume',
      id: actionId('volume', object.kind, object.metadata.name),
      reason: size === null ? 'volumePolicy has changed' : resizeReason(volume, size),
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

function resizeReason(volume: VolumeState | undefined, size: string): string {
  return isLarger(volume?.requested ?? '0', size) ? `is lowered to ${size}` : `grows to ${size}`;
}
