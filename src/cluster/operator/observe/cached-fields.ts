import type { KubeObject, ManagedFieldsEntry, UntypedObject } from '../../kube/client/object.ts';
import { outputTail } from '../access/masking.ts';
import type { ChildObject, ObservedPod, PodCondition } from '../observed.ts';

/** What is dropped from objects before they are cached: memory at 5,000 deployments is mostly this. */

/** Drops managedFields, but keeps who applies `spec.replicas`: the planner must know before it leaves that field out. */
export function transformChild(object: UntypedObject): ChildObject {
  const owners = replicasOwners(object.metadata.managedFields ?? []);
  delete object.metadata.managedFields;
  return owners.length === 0 ? object : Object.assign(object, { replicasOwners: owners });
}

function replicasOwners(entries: readonly ManagedFieldsEntry[]): string[] {
  return entries
    .filter((entry) => {
      const fields = entry.fieldsV1 as { 'f:spec'?: { 'f:replicas'?: object } } | undefined;
      return fields?.['f:spec']?.['f:replicas'] !== undefined;
    })
    .map(({ manager, operation }) => `${manager}/${operation}`);
}

/** Keeps the data of stored templates as text: a fifth of the memory, and most are never read. */
export function transformTemplates(object: UntypedObject): UntypedObject {
  delete object.metadata.managedFields;
  return {
    ...object,
    data: typeof object['data'] === 'string' ? object['data'] : JSON.stringify(object['data']),
  };
}

/** Of a pod only its identity and how it fares. */
export function transformPod(object: UntypedObject): ObservedPod {
  const { name, namespace, uid, resourceVersion, labels, creationTimestamp, deletionTimestamp, finalizers } =
    object.metadata;
  const { phase, reason, message, conditions, initContainerStatuses, containerStatuses } =
    (object as ObservedPod).status ?? {};
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: {
      name,
      namespace,
      uid,
      resourceVersion,
      labels,
      creationTimestamp,
      deletionTimestamp,
      ...(finalizers === undefined ? {} : { finalizers }),
    },
    ...lostNode(object),
    ...(deletionTimestamp === undefined ? {} : nodeOf(object)),
    ...(object.metadata.ownerReferences === undefined ? { orphan: true } : {}),
    status: {
      phase,
      ...(reason === undefined ? {} : { reason, message }),
      conditions: conditions?.map(slimCondition),
      initContainerStatuses: initContainerStatuses?.map(slimContainer),
      containerStatuses: containerStatuses?.map(slimContainer),
    },
  };
}

function nodeOf(object: UntypedObject): Pick<ObservedPod, 'node'> {
  const { nodeName } = (object['spec'] ?? {}) as { nodeName?: string };
  return nodeName ? { node: nodeName } : {};
}

/** A kubelet says why a pod is not ready; who takes Ready away without a word is the cluster, from all pods of a lost node. */
function lostNode(object: UntypedObject): Pick<ObservedPod, 'lostNode'> {
  const { nodeName } = (object['spec'] ?? {}) as { nodeName?: string };
  const ready = (object as ObservedPod).status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status !== 'False' || ready.reason || !nodeName ? {} : { lostNode: nodeName };
}

function slimCondition({ type, status, reason, message, lastTransitionTime }: PodCondition): PodCondition {
  return { type, status, reason, message, lastTransitionTime };
}

type Container = NonNullable<NonNullable<ObservedPod['status']>['containerStatuses']>[number];

function slimContainer({ name, ready, restartCount, state, lastState }: Container): Container {
  const slim = { name, ready, restartCount, state: slimState(state) };
  return lastState?.terminated === undefined ? slim : { ...slim, lastState: slimState(lastState) };
}

/** What a container wrote when it ended is masked and cut here, once a change of the pod and not at every look. */
function slimState<State extends Container['state']>(state: State): State {
  const { terminated } = state ?? {};
  if (terminated?.message === undefined) return state;
  return { ...state, terminated: { ...terminated, message: outputTail(terminated.message) } };
}

/** The custom resource as it is, without managedFields. */
export function transformResource<T extends KubeObject>(object: T): T {
  delete object.metadata.managedFields;
  return object;
}
