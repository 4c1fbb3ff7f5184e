import { LABELS } from '../../../contract/resource/names.ts';
import { COMPONENTS, type Component } from '../../../domain/resource-spec/resource-spec.ts';
import { cacheName, componentName, databaseName } from '../../../workloads/names.ts';
import { parseQuantity } from '../../kube/client/quantity.ts';
import { type ChildObject, childId, liveChild, type Observed } from '../observed.ts';
import { hasEnded } from '../pods/pod-trouble.ts';
import { isSettled, stateOf } from '../pods/workload-state.ts';

/** How database or cache fares. */
export interface ServiceState {
  /** Somebody else runs it. */
  readonly external: boolean;
  /** It answers. */
  readonly ready: boolean;
  /** It runs as it is wanted now (and answers). */
  readonly settled: boolean;
  /** It is told to run no pod. */
  readonly stopped: boolean;
  /** Its pod is being replaced because it is to run another way. */
  readonly updating: boolean;
}

export interface VolumeState {
  /** Asked for, as on the claim. */
  readonly requested: string;
  /** What the volume has, as the claim reports it; absent: not known, as long as the claim is not bound. */
  readonly capacity?: string;
  /** Only the size of a bound claim can be changed. */
  readonly bound: boolean;
  /** The claim asks for more than it has, and so does the resource. */
  readonly resizing: boolean;
  /** The claim asks for more than it has, although the resource does not any more. */
  readonly takenBack: boolean;
  /** What the claim says of its growth, where that is more than that it goes on: `FileSystemResizePending: …`. */
  readonly resizeStep?: string;
}

const EXTERNAL: ServiceState = {
  external: true,
  ready: true,
  settled: true,
  stopped: false,
  updating: false,
};

const ABSENT: ServiceState = {
  external: false,
  ready: false,
  settled: false,
  stopped: false,
  updating: false,
};

function serviceState(observed: Observed, kind: 'Deployment' | 'StatefulSet', name: string): ServiceState {
  const state = stateOf(observed, kind, name);
  if (state === undefined) return ABSENT;
  const ready = state.available >= 1;
  return {
    external: false,
    ready,
    settled: ready && isSettled(state),
    stopped: state.wanted === 0,
    updating: state.updating,
  };
}

/** How the database fares. */
export function databaseState(observed: Observed): ServiceState {
  const { resource } = observed;
  return resource.spec.database.external
    ? EXTERNAL
    : serviceState(observed, 'StatefulSet', databaseName(resource));
}

/** How the cache fares. */
export function cacheState(observed: Observed): ServiceState {
  const { resource } = observed;
  return resource.spec.cache.external ? EXTERNAL : serviceState(observed, 'Deployment', cacheName(resource));
}

/** Database and cache answer. */
export function dataServicesReady(observed: Observed): boolean {
  return databaseState(observed).ready && cacheState(observed).ready;
}

type Named = Pick<ChildObject, 'kind' | 'metadata'>;

interface ClaimFields {
  spec?: { volumeName?: string; resources?: { requests?: { storage?: string } } };
  status?: {
    phase?: string;
    capacity?: { storage?: string };
    conditions?: { type: string; status: string; message?: string }[];
  };
}

/** Conditions of a claim that say more than that it is being resized. */
const RESIZE_STEPS = new Set(['FileSystemResizePending', 'ControllerResizeError', 'NodeResizeError']);

/** Size of the database's volume; undefined while there is none. */
export function volumeState(observed: Observed): VolumeState | undefined {
  const { resource } = observed;
  const claim = liveChild(observed, 'PersistentVolumeClaim', databaseName(resource));
  if (claim === undefined) return undefined;
  const { status } = claim as ClaimFields;
  const requested = requestedOf(claim);
  const bound = status?.phase === 'Bound';
  const capacity = bound ? status?.capacity?.storage : undefined;
  if (capacity === undefined) return { requested, bound, resizing: false, takenBack: false };
  const unfinished = isLarger(requested, capacity);
  const wantsMore = isLarger(resource.spec.database.storage, capacity);
  const size = { requested, capacity, bound, resizing: unfinished && wantsMore };
  const step = status?.conditions?.find(({ type, status: is }) => is === 'True' && RESIZE_STEPS.has(type));
  const state = { ...size, takenBack: unfinished && !wantsMore };
  if (!size.resizing || step === undefined) return state;
  return { ...state, resizeStep: [step.type, step.message].filter(Boolean).join(': ') };
}

/** The database's claim, where it is being deleted: it goes, with the data, as soon as no pod uses it. */
export function leavingVolume({ resource, children }: Observed): ChildObject | undefined {
  const claim = children.get(childId('PersistentVolumeClaim', databaseName(resource)));
  return claim?.metadata.deletionTimestamp === undefined ? undefined : claim;
}

/** Whether this object runs the pod that is all that keeps a claim from going. */
export function holdsLeavingVolume(observed: Observed, { kind, metadata }: Named): boolean {
  const isDatabase = kind === 'StatefulSet' && metadata.name === databaseName(observed.resource);
  return isDatabase && leavingVolume(observed) !== undefined;
}

/** PersistentVolume of a claim. */
export function volumeNameOf(claim: object): string | undefined {
  return (claim as ClaimFields).spec?.volumeName;
}

/** What a claim asks for, as a Kubernetes quantity. */
export function requestedOf(claim: object): string {
  return (claim as ClaimFields).spec?.resources?.requests?.storage ?? '0';
}

/** Whether the first size (a Kubernetes quantity) is the larger one; false where one of them is none. */
export function isLarger(size: string, other: string): boolean {
  const [left, right] = [parseQuantity(size), parseQuantity(other)];
  return left !== undefined && right !== undefined && left > right;
}

/** Whether both sizes (Kubernetes quantities) are the same; false where one of them is none. */
export function isSameSize(size: string, other: string): boolean {
  const [left, right] = [parseQuantity(size), parseQuantity(other)];
  return left !== undefined && left === right;
}

/** Some component is asked to run pods, as the cluster has it. */
export function someComponentRuns(observed: Observed): boolean {
  return COMPONENTS.some(
    (component) =>
      (stateOf(observed, 'Deployment', componentName(observed.resource, component))?.wanted ?? 0) > 0,
  );
}

/** No pod of a component runs any more, not even one that is ending. */
export function componentsGone(observed: Observed): boolean {
  const isComponent = (label: string | undefined) => COMPONENTS.includes(label as Component);
  return (
    !someComponentRuns(observed) &&
    !observed.pods.some((pod) => isComponent(pod.metadata.labels?.[LABELS.component]) && !hasEnded(pod))
  );
}
