import { type ChildObject, liveChild, type Observed } from '../observed.ts';

/** Counts of a Deployment or StatefulSet, without terminating pods. */
export interface WorkloadState {
  /** Requested replicas, set by the operator or the autoscaler. */
  readonly wanted: number;
  readonly pods: number;
  readonly updated: number;
  readonly ready: number;
  readonly available: number;
  /** Seconds that a pod must be ready to count as available. */
  readonly minReadySeconds: number;
  /** Whether the counts are those of the current generation. */
  readonly current: boolean;
  /** Whether pods of a former template are being replaced. */
  readonly updating: boolean;
  /** Whether the rollout is paused (kubectl rollout pause), so that the controller replaces no pods. */
  readonly paused: boolean;
  /** Why the controller cannot create pods (quota, admission); null: no error. */
  readonly refusal: string | null;
  /** Start of the error that prevents the creation of pods, in ms since the epoch; null: unknown. */
  readonly refusedAt: number | null;
}

interface WorkloadFields {
  spec?: { replicas?: number; paused?: boolean; minReadySeconds?: number };
  status?: {
    observedGeneration?: number;
    replicas?: number;
    updatedReplicas?: number;
    readyReplicas?: number;
    availableReplicas?: number;
    /** StatefulSets only: the template revisions before and after an update. */
    currentRevision?: string;
    updateRevision?: string;
    conditions?: { type: string; status: string; message?: string; lastTransitionTime?: string }[];
  };
}

/** Reads the counts of a Deployment or StatefulSet. */
export function workloadState(child: ChildObject): WorkloadState {
  const { spec, status = {} } = child as WorkloadFields;
  const refusal = status.conditions?.find(
    ({ type, status }) => type === 'ReplicaFailure' && status === 'True',
  );
  const { replicas = 0, updatedReplicas = 0, currentRevision, updateRevision } = status;
  const current = (status.observedGeneration ?? 0) >= (child.metadata.generation ?? 0);
  // A StatefulSet does not count a terminating pod as updated, whatever the cause.
  const replacing =
    child.kind === 'StatefulSet' ? currentRevision !== updateRevision : updatedReplicas < replicas;
  return {
    wanted: spec?.replicas ?? 1,
    pods: replicas,
    updated: updatedReplicas,
    ready: status.readyReplicas ?? 0,
    available: status.availableReplicas ?? 0,
    minReadySeconds: spec?.minReadySeconds ?? 0,
    current,
    updating: !current || replacing,
    paused: spec?.paused === true,
    refusal: refusal === undefined ? null : (refusal.message ?? 'pods cannot be created'),
    refusedAt: refusal === undefined ? null : Date.parse(refusal.lastTransitionTime ?? '') || null,
  };
}

/** Whether all requested pods run the current template and are available, and no other pods are left. */
export function isSettled({ wanted, pods, updated, available, current }: WorkloadState): boolean {
  return current && updated === wanted && pods === wanted && available === wanted;
}

/** Counts of the workload; undefined: it does not exist, or is being deleted. */
export function stateOf(
  observed: Observed,
  kind: 'Deployment' | 'StatefulSet',
  name: string,
): WorkloadState | undefined {
  const child = liveChild(observed, kind, name);
  return child === undefined ? undefined : workloadState(child);
}
