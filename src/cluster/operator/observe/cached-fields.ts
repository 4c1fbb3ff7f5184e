import type { V1PodSpec } from '@kubernetes/client-node';
import { ANNOTATIONS } from '../../../contract/resource/names.ts';
import { outputTail } from '../../../domain/redaction/printed-credentials.ts';
import type { KubeObject, ManagedFieldsEntry, UntypedObject } from '../../kube/client/object.ts';
import { isWhole } from '../../kube/compare/managed-fields.ts';
import { WITHHELD_OUTPUT, waitingWithoutValues } from '../access/withheld-output.ts';
import type { ChildObject, ObservedPod, PodCondition } from '../observed.ts';
import { foreignFields } from './ownership.ts';
import { withCurrentNames } from './stored-names.ts';

/**
 * Cache transforms drop fields that the operator does not read. At 5,000 deployments, cached objects use most of the
 * memory.
 */

/**
 * Drops managedFields, but keeps the field managers of `spec.replicas`, and the fields of other managers. The planner
 * needs the field managers before it omits `spec.replicas`, and does not change the fields of other managers.
 */
export function transformChild(object: UntypedObject): ChildObject {
  const entries = object.metadata.managedFields ?? [];
  const owners = replicasOwners(entries);
  const foreign = foreignFields(entries);
  delete object.metadata.managedFields;
  return Object.assign(object, {
    ...(owners.length === 0 ? {} : { replicasOwners: owners }),
    ...(isWhole(foreign) ? {} : { foreignFields: foreign }),
  });
}

function replicasOwners(entries: readonly ManagedFieldsEntry[]): string[] {
  return entries
    .filter((entry) => {
      const fields = entry.fieldsV1 as { 'f:spec'?: { 'f:replicas'?: object } } | undefined;
      return fields?.['f:spec']?.['f:replicas'] !== undefined;
    })
    .map(({ manager, operation }) => `${manager}/${operation}`);
}

/**
 * Keeps the data of stored templates as text. Text uses a fifth of the memory of parsed data, and most templates are
 * never read.
 */
export function transformTemplates(object: UntypedObject): UntypedObject {
  delete object.metadata.managedFields;
  return {
    ...object,
    data: typeof object['data'] === 'string' ? object['data'] : JSON.stringify(object['data']),
  };
}

/** The metadata of an object that is cached with few fields. */
export function identityFields({
  name,
  namespace,
  uid,
  resourceVersion,
  labels,
  creationTimestamp,
  deletionTimestamp,
}: UntypedObject['metadata']) {
  return { name, namespace, uid, resourceVersion, labels, creationTimestamp, deletionTimestamp };
}

/** Keeps the identity and the status of a pod. */
export function transformPod(object: UntypedObject): ObservedPod {
  const { deletionTimestamp, finalizers } = object.metadata;
  const { phase, reason, message, conditions, initContainerStatuses, containerStatuses } =
    (object as ObservedPod).status ?? {};
  const withheld = object.metadata.annotations?.[ANNOTATIONS.secretReferences] !== undefined;
  const ofContainer = (container: Container) => containerFields(container, withheld);
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: {
      ...identityFields(object.metadata),
      ...(finalizers === undefined ? {} : { finalizers }),
    },
    ...lostNode(object),
    ...(withheld ? { withheld, ...commandChecks(object) } : {}),
    ...(deletionTimestamp === undefined ? {} : nodeOf(object)),
    ...(object.metadata.ownerReferences === undefined ? { orphan: true } : {}),
    status: {
      phase,
      ...(reason === undefined ? {} : { reason, message }),
      conditions: conditions?.map(conditionFields),
      initContainerStatuses: initContainerStatuses?.map(ofContainer),
      containerStatuses: containerStatuses?.map(ofContainer),
    },
  };
}

const PROBES = ['startupProbe', 'livenessProbe', 'readinessProbe'] as const;

/** Whether a health check of the pod is a command. The spec of the resource may have changed since the pod was created. */
function commandChecks(object: UntypedObject): Pick<ObservedPod, 'commandChecks'> {
  const { initContainers = [], containers = [] } = (object['spec'] ?? {}) as Partial<V1PodSpec>;
  const has = [...initContainers, ...containers].some((container) =>
    PROBES.some((probe) => container[probe]?.exec !== undefined),
  );
  return has ? { commandChecks: true } : {};
}

function nodeOf(object: UntypedObject): Pick<ObservedPod, 'node'> {
  const { nodeName } = (object['spec'] ?? {}) as { nodeName?: string };
  return nodeName ? { node: nodeName } : {};
}

/**
 * The lost node of a pod. A kubelet sets a reason when it sets Ready to False. The node controller sets Ready to False
 * without a reason, for all pods of an unreachable node.
 */
function lostNode(object: UntypedObject): Pick<ObservedPod, 'lostNode'> {
  const { nodeName } = (object['spec'] ?? {}) as { nodeName?: string };
  const ready = (object as ObservedPod).status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status !== 'False' || ready.reason || !nodeName ? {} : { lostNode: nodeName };
}

function conditionFields({ type, status, reason, message, lastTransitionTime }: PodCondition): PodCondition {
  return { type, status, reason, message, lastTransitionTime };
}

type Container = NonNullable<NonNullable<ObservedPod['status']>['containerStatuses']>[number];

function containerFields(
  { name, ready, restartCount, state, lastState }: Container,
  withheld: boolean,
): Container {
  const fields = { name, ready, restartCount, state: stateFields(state, withheld) };
  if (lastState?.terminated === undefined) return fields;
  return { ...fields, lastState: stateFields(lastState, withheld) };
}

/**
 * Masks and shortens termination messages, and removes text that must not be shown. This happens once per change of the pod,
 * not at every reconcile.
 */
function stateFields<State extends Container['state']>(state: State, withheld: boolean): State {
  const { terminated, waiting } = state ?? {};
  const shown = { ...state } as NonNullable<Container['state']>;
  if (withheld && waiting !== undefined) shown.waiting = waitingWithoutValues(waiting);
  if (terminated?.message !== undefined) {
    const message = withheld ? WITHHELD_OUTPUT : outputTail(terminated.message);
    shown.terminated = { ...terminated, message };
  }
  return state === undefined ? state : (shown as State);
}

/** Drops managedFields of a custom resource, and converts a resource that the previous version stored. */
export function transformResource<T extends KubeObject>(object: T): T {
  delete object.metadata.managedFields;
  return withCurrentNames(object);
}
