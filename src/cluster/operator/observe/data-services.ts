import { LABELS } from '../../../contract/resource/names.ts';
import { parseQuantity } from '../../../domain/kubernetes/quantity.ts';
import { COMPONENTS, type Component } from '../../../domain/resource-spec/components.ts';
import { runsService } from '../../../workloads/data-services.ts';
import { cacheName, componentName, databaseName } from '../../../workloads/names.ts';
import { hasEnded } from '../../kube/client/object.ts';
import { type ChildObject, childId, liveChild, type Observed } from '../observed.ts';
import { isSettled, stateOf } from '../pods/workload-state.ts';

/** State of the database or the cache. */
export interface ServiceState {
  /** Whether Berth runs no such service: the user provides it, or it is switched off. */
  readonly omitted: boolean;
  /** Whether the service accepts connections. */
  readonly ready: boolean;
  /** Whether the service is ready and runs the desired state. */
  readonly settled: boolean;
  /** Whether the service is scaled to zero. */
  readonly stopped: boolean;
  /** Whether the pod of the service is being replaced because its template changed. */
  readonly updating: boolean;
}

export interface VolumeState {
  /** Size in the spec of the claim. */
  readonly requested: string;
  /** Capacity in the status of the claim; absent: unknown, because the claim is not bound. */
  readonly capacity?: string;
  /** Whether the claim is bound. Kubernetes can only expand a bound claim. */
  readonly bound: boolean;
  /** Whether the claim requests more than its capacity, as the resource does. */
  readonly resizing: boolean;
  /** Whether the claim requests more than its capacity, although the resource no longer does. */
  readonly takenBack: boolean;
  /** Condition of the claim, if the expansion waits for another step: `FileSystemResizePending: …`. */
  readonly resizeStep?: string;
}

const OMITTED: ServiceState = {
  omitted: true,
  ready: true,
  settled: true,
  stopped: false,
  updating: false,
};

const ABSENT: ServiceState = {
  omitted: false,
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
    omitted: false,
    ready,
    settled: ready && isSettled(state),
    stopped: state.wanted === 0,
    updating: state.updating,
  };
}

/** State of the database. */
export function databaseState(observed: Observed): ServiceState {
  const { resource } = observed;
  return runsService(resource.spec, 'database')
    ? serviceState(observed, 'StatefulSet', databaseName(resource))
    : OMITTED;
}

/** State of the cache. */
export function cacheState(observed: Observed): ServiceState {
  const { resource } = observed;
  return runsService(resource.spec, 'cache')
    ? serviceState(observed, 'Deployment', cacheName(resource))
    : OMITTED;
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

/** Conditions of a claim that report more than an expansion in progress. */
const RESIZE_STEPS = new Set(['FileSystemResizePending', 'ControllerResizeError', 'NodeResizeError']);

/** State of the database's volume claim; undefined: it has no claim. */
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

/** The database's claim, if it is being deleted. Claim and data are removed when no pod uses them. */
export function leavingVolume({ resource, children }: Observed): ChildObject | undefined {
  const claim = children.get(childId('PersistentVolumeClaim', databaseName(resource)));
  return claim?.metadata.deletionTimestamp === undefined ? undefined : claim;
}

/** Whether this object runs the pod that alone keeps a deleted claim. */
export function holdsLeavingVolume(observed: Observed, { kind, metadata }: Named): boolean {
  const isDatabase = kind === 'StatefulSet' && metadata.name === databaseName(observed.resource);
  return isDatabase && leavingVolume(observed) !== undefined;
}

/** Name of the PersistentVolume of a claim. */
export function volumeNameOf(claim: object): string | undefined {
  return (claim as ClaimFields).spec?.volumeName;
}

/** Requested size of a claim, as a Kubernetes quantity. */
export function requestedOf(claim: object): string {
  return (claim as ClaimFields).spec?.resources?.requests?.storage ?? '0';
}

/** Whether the first Kubernetes quantity is larger; false if one of them is invalid. */
export function isLarger(size: string, other: string): boolean {
  const [left, right] = [parseQuantity(size), parseQuantity(other)];
  return left !== null && right !== null && left > right;
}

/** Whether two Kubernetes quantities are equal; false if one of them is invalid. */
export function isSameSize(size: string, other: string): boolean {
  const [left, right] = [parseQuantity(size), parseQuantity(other)];
  return left !== null && left === right;
}

/** Whether a live Deployment of a component requests pods. */
export function someComponentRuns(observed: Observed): boolean {
  return COMPONENTS.some(
    (component) =>
      (stateOf(observed, 'Deployment', componentName(observed.resource, component))?.wanted ?? 0) > 0,
  );
}

/** Whether no pod of a component runs, including terminating pods. */
export function componentsGone(observed: Observed): boolean {
  const isComponent = (label: string | undefined) => COMPONENTS.includes(label as Component);
  return (
    !someComponentRuns(observed) &&
    !observed.pods.some((pod) => isComponent(pod.metadata.labels?.[LABELS.component]) && !hasEnded(pod))
  );
}
