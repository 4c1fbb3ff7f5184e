import { type ChildObject, liveChild, type Observed } from '../observed.ts';

/** Counts of a Deployment or StatefulSet. Ending pods are in none of them. */
export interface WorkloadState {
  /** Pods asked for, by whoever decides (us, or the autoscaler). */
  readonly wanted: number;
  readonly pods: number;
  readonly updated: number;
  readonly ready: number;
  readonly available: number;
  /** A ready pod is available once it has been ready for so many seconds. */
  readonly minReadySeconds: number;
  /** The counts speak of the spec as it is now. */
  readonly current: boolean;
  /** Pods of a former template are being replaced. */
  readonly updating: boolean;
  /** Somebody has paused it (kubectl rollout pause): its controller changes no pods. */
  readonly paused: boolean;
  /** Why the controller cannot make pods (quota, admission); null where it says nothing. */
  readonly refusal: string | null;
  /** Since when, in ms since the epoch; null where it is not known. */
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
    /** Of a StatefulSet: the templates of its pods before, and after, its update. */
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
  // A StatefulSet does not count a pod that ends as an updated one, whatever it ends for.
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

/** Every pod that is wanted is there, runs the current template and is available; no other one is left. */
export function isSettled({ wanted, pods, updated, available, current }: WorkloadState): boolean {
  return current && updated === wanted && pods === wanted && available === wanted;
}

/** Counts of the workload of this kind and name; undefined where there is none (or it is on its way out). */
export function stateOf(
  observed: Observed,
  kind: 'Deployment' | 'StatefulSet',
  name: string,
): WorkloadState | undefined {
  const child = liveChild(observed, kind, name);
  return child === undefined ? undefined : workloadState(child);
}
