import type { ReadKind } from '../../../domain/core/object-map.ts';
import type { KubeObject } from '../../kube/client/object.ts';
import type { Judgement } from './object-text.ts';
import { judgePod, type SeenPod } from './pod-view.ts';

/** The state of each kind of object. Pure. */

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

/** Fields of all kinds together. A kind has some of them. */
interface Seen extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly minReplicas?: number;
    readonly maxReplicas?: number;
    readonly type?: string;
    readonly ports?: readonly { readonly port?: number }[];
    readonly rules?: readonly { readonly host?: string }[];
    readonly hostnames?: readonly string[];
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly readyReplicas?: number;
    readonly updatedReplicas?: number;
    readonly currentReplicas?: number;
    readonly desiredReplicas?: number;
    readonly currentHealthy?: number;
    readonly desiredHealthy?: number;
    readonly disruptionsAllowed?: number;
    readonly currentRevision?: string;
    readonly updateRevision?: string;
    readonly phase?: string;
    readonly suspended?: boolean;
    readonly capacity?: Readonly<Record<string, string>>;
    readonly loadBalancer?: { readonly ingress?: readonly unknown[] };
    readonly conditions?: readonly Condition[];
    readonly parents?: readonly { readonly conditions?: readonly Condition[] }[];
  };
}

type Judge = (object: Seen) => Judgement;

const is = ({ status }: Seen, type: string, value = 'True') =>
  status?.conditions?.find((condition) => condition.type === type && condition.status === value);
const textOf = ({ message, reason }: Condition) => message ?? reason ?? null;

const exists: Judge = () => ({ state: 'ready', message: null });

const managed: Judge = (object) => {
  const ready = object.status?.conditions?.find(({ type }) => type === 'Ready');
  const message = ready === undefined ? null : textOf(ready);
  if (is(object, 'Stalled')) return { state: 'failed', message };
  if (ready?.status === 'True') return { state: 'ready', message };
  if (object.status?.suspended === true) return { state: 'inactive', message };
  return { state: ready === undefined ? 'unknown' : 'progressing', message };
};

/** Whether the counts of a workload are those of its current template. */
function isCurrent({ kind, metadata, status = {} }: Seen, wanted: number): boolean {
  if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0)) return false;
  if (kind === 'StatefulSet') return status.currentRevision === status.updateRevision;
  return kind === 'ReplicaSet' || (status.updatedReplicas ?? 0) >= wanted;
}

const workload: Judge = (object) => {
  const { spec, status = {} } = object;
  const wanted = spec?.replicas ?? 1;
  const { readyReplicas: ready = 0, replicas = 0 } = status;
  if (wanted === 0 && replicas === 0) return { state: 'inactive', message: 'Scaled to 0 pods.' };
  const failure = is(object, 'ReplicaFailure') ?? is(object, 'Progressing', 'False');
  const counts = `${ready} of ${wanted} pods are ready.`;
  if (failure !== undefined) return { state: 'failed', message: `${counts} ${textOf(failure) ?? ''}`.trim() };
  const isReady = ready >= wanted && isCurrent(object, wanted);
  return { state: isReady ? 'ready' : 'progressing', message: counts };
};

const claim: Judge = ({ status }) => {
  const { phase = '', capacity = {} } = status ?? {};
  if (phase === 'Bound') {
    const { storage } = capacity;
    return { state: 'ready', message: storage === undefined ? null : `Capacity: ${storage}.` };
  }
  if (phase === 'Lost') return { state: 'failed', message: 'The volume of the claim no longer exists.' };
  return { state: 'progressing', message: 'The claim has no volume yet.' };
};

const service: Judge = ({ spec }) => {
  const ports = (spec?.ports ?? []).flatMap(({ port }) => port ?? []);
  return { state: 'ready', message: `${spec?.type ?? 'ClusterIP'}, ports: ${ports.join(', ') || 'none'}.` };
};

const ingress: Judge = ({ spec, status }) => {
  const hosts = (spec?.rules ?? []).flatMap(({ host }) => host ?? []).join(', ');
  const hasAddress = (status?.loadBalancer?.ingress ?? []).length > 0;
  if (hasAddress) return { state: 'ready', message: hosts || null };
  return { state: 'unknown', message: `${hosts}: no ingress controller has reported an address.` };
};

const httpRoute: Judge = ({ spec, status }) => {
  const hosts = (spec?.hostnames ?? []).join(', ');
  const conditions = (status?.parents ?? []).flatMap(({ conditions: each = [] }) => each);
  const refused = conditions.find(({ status: value }) => value === 'False');
  if (refused !== undefined) return { state: 'failed', message: `${hosts}: ${textOf(refused) ?? ''}` };
  if (conditions.some(({ type, status: value }) => type === 'Accepted' && value === 'True'))
    return { state: 'ready', message: hosts || null };
  return { state: 'unknown', message: `${hosts}: no gateway has accepted the route.` };
};

const autoscaler: Judge = (object) => {
  const { spec, status = {} } = object;
  const { currentReplicas: current = 0, desiredReplicas: desired = 0 } = status;
  const counts = `${current} pods, ${desired} wanted, of ${spec?.minReplicas ?? 1} to ${spec?.maxReplicas ?? 1}.`;
  const inactive = is(object, 'ScalingActive', 'False');
  if (inactive?.reason === 'ScalingDisabled') return { state: 'inactive', message: counts };
  const failure = inactive ?? is(object, 'AbleToScale', 'False');
  if (failure !== undefined) return { state: 'failed', message: `${counts} ${textOf(failure) ?? ''}`.trim() };
  return { state: 'ready', message: counts };
};

const budget: Judge = ({ status }) => {
  const { currentHealthy = 0, desiredHealthy = 0, disruptionsAllowed = 0 } = status ?? {};
  const message = `${currentHealthy} healthy pods, ${desiredHealthy} needed, ${disruptionsAllowed} may be evicted now.`;
  return { state: currentHealthy >= desiredHealthy ? 'ready' : 'progressing', message };
};

const JUDGES: Readonly<Record<ReadKind, Judge>> = {
  ManagedDeployment: managed,
  Deployment: workload,
  ReplicaSet: workload,
  StatefulSet: workload,
  Pod: (object) => judgePod(object as SeenPod),
  PersistentVolumeClaim: claim,
  Service: service,
  Ingress: ingress,
  HTTPRoute: httpRoute,
  HorizontalPodAutoscaler: autoscaler,
  PodDisruptionBudget: budget,
  ServiceAccount: exists,
  NetworkPolicy: exists,
};

/** The state of an object. */
export function judge(kind: ReadKind, object: KubeObject): Judgement {
  const judgement = JUDGES[kind](object as Seen);
  return object.metadata.deletionTimestamp === undefined ? judgement : { ...judgement, state: 'terminating' };
}
