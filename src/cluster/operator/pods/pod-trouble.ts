import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import { LABELS } from '../../../contract/resource/names.ts';
import { compareText } from '../../../domain/core/compare-text.ts';
import { APP_CONTAINER_NAME } from '../../../domain/deployment/reserved.ts';
import { maskCredentials } from '../../../domain/redaction/printed-credentials.ts';
import { hasEnded } from '../../kube/client/object.ts';
import {
  type Observed,
  type ObservedContainer,
  type ObservedPod,
  type PodCondition,
  UNHEALTHY,
  type WarningEvent,
} from '../observed.ts';
import { withLastCheck } from './failed-check.ts';
import { warningOf } from './pod-warning.ts';

/** Why a pod is not ready. */
export interface PodTrouble {
  readonly pod: string;
  /** Reason as in Kubernetes: `ImagePullBackOff`, `CrashLoopBackOff`, `Unschedulable` … */
  readonly reason: string;
  /** A sentence that begins with the source: `pod x, container migrate (init): CrashLoopBackOff: …`. */
  readonly message: string;
  /** The container in trouble; absent: the whole pod. */
  readonly container?: { readonly name: string; readonly kind: 'app' | 'init' | 'sidecar' };
  readonly exitCode?: number;
  /** Message of the cluster, or output of the container when it ended. Recognizable credentials are masked. */
  readonly detail?: string;
  readonly restarts: number;
  /** Earliest possible start of the trouble, in ms since the epoch. */
  readonly since?: number;
  /** When the pod was scheduled, in ms since the epoch. */
  readonly scheduledAt?: number;
  /** When the run of the container that ended had started, in ms since the epoch. */
  readonly ranSince?: number;
  /** How long that run lasted, in milliseconds. */
  readonly ranMs?: number;
}

/** Reasons of an ordinary start. */
const ORDINARY = new Set([
  'ContainerCreating',
  'PodInitializing',
  'ContainersNotReady',
  'ContainersNotInitialized',
  'Pending',
]);

/** Pods of one component that are not terminating, newest first. */
export function podsOf(observed: Observed, component: string): ObservedPod[] {
  return observed.pods
    .filter(
      ({ metadata }) =>
        metadata.labels?.[LABELS.component] === component && metadata.deletionTimestamp === undefined,
    )
    .sort((a, b) => compareText(b.metadata.creationTimestamp, a.metadata.creationTimestamp));
}

/**
 * Whether a pod was created from this template. A pod of the template has all labels of the template, including the
 * hash.
 */
export function isOfTemplate({ metadata }: ObservedPod, template: V1PodTemplateSpec): boolean {
  const labels = Object.entries(template.metadata?.labels ?? {});
  return labels.every(([key, value]) => metadata.labels?.[key] === value);
}

/** Pods that were created from this template and have not ended. */
export function podsOfTemplate(
  observed: Observed,
  component: string,
  template: V1PodTemplateSpec,
): ObservedPod[] {
  return podsOf(observed, component).filter((pod) => !hasEnded(pod) && isOfTemplate(pod, template));
}

/** Whether the pod is ready. An available pod has also been ready for minReadySeconds. */
export function isReadyPod({ status }: ObservedPod): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false;
}

/**
 * The trouble of the newest unready pod of a component. A specific reason comes before an ordinary start. Ended pods
 * count only if there is no other pod.
 */
export function troubleOf(observed: Observed, component: string): PodTrouble | undefined {
  const pods = podsOf(observed, component);
  const living = pods.filter((pod) => !hasEnded(pod));
  const troubles = (living.length > 0 ? living : pods)
    .filter((pod) => !isReadyPod(pod))
    .map((pod) => mostSpecific(troublesOf(observed, pod)) ?? podTrouble(pod));
  return mostSpecific(troubles) ?? (pods.length === 0 ? stuckPod(observed, component) : undefined);
}

/** A terminating pod whose node is lost. A StatefulSet creates no other pod before this pod is gone. */
function stuckPod({ pods }: Observed, component: string): PodTrouble | undefined {
  const stuck = pods.find(
    ({ metadata, lostNode }) => metadata.labels?.[LABELS.component] === component && lostNode !== undefined,
  );
  if (stuck === undefined) return undefined;
  const ends = 'the pod is being deleted; it ends when the node is ready again or is removed';
  return wholePod(stuck, 'NodeNotReady', `node ${stuck.lostNode} is not ready; ${ends}`);
}

/** Whether a reason belongs to an ordinary start. */
export function isOrdinary(reason: string): boolean {
  return ORDINARY.has(reason);
}

/** `podTroubles`, with the warning Event of a pod that reports only ordinary reasons. */
export function troublesOf(observed: Observed, pod: ObservedPod, template?: V1PodTemplateSpec): PodTrouble[] {
  const event = warningOf(observed, pod);
  const troubles = podTroubles(pod, template).map((trouble) => withLastCheck(trouble, pod, event));
  const [first] = troubles;
  if (event === undefined || first === undefined || !troubles.every(({ reason }) => isOrdinary(reason)))
    return troubles;
  const said = ofStart(event, first);
  if (said === undefined) return troubles;
  const { container, restarts } = first;
  const trouble = { ...wholePod(pod, said.reason, said.message), restarts };
  return [container === undefined ? trouble : { ...trouble, container }, ...troubles];
}

/**
 * The Event that explains a pod that is not ready. A warning about the start is outdated once the pod runs, and the failure
 * of a probe is not related to the start.
 */
function ofStart(
  { reason, message, checks = [] }: WarningEvent,
  { reason: state }: PodTrouble,
): Pick<WarningEvent, 'reason' | 'message'> | undefined {
  if (state !== 'ContainersNotReady') return reason === UNHEALTHY ? undefined : { reason, message };
  const [last] = checks;
  return last === undefined ? undefined : { reason: UNHEALTHY, message: last.message };
}

/** The first trouble with a specific reason, otherwise the first trouble. */
export function mostSpecific(troubles: readonly PodTrouble[]): PodTrouble | undefined {
  return troubles.find(({ reason }) => !ORDINARY.has(reason)) ?? troubles[0];
}

/** Why this pod is not ready, from its status. The message contains no output of a container. */
export function podTrouble(pod: ObservedPod): PodTrouble {
  const troubles = podTroubles(pod);
  return mostSpecific(troubles) ?? wholePod(pod, pod.status?.phase ?? 'Pending', undefined);
}

/**
 * All troubles of this pod, in the start order of its containers.
 * @param template the template that the pod was created from
 */
export function podTroubles(pod: ObservedPod, template?: V1PodTemplateSpec): PodTrouble[] {
  const { status } = pod;
  if (status?.phase === 'Failed') return [wholePod(pod, status.reason ?? 'Failed', status.message)];
  const unscheduled = conditionOf(pod, 'PodScheduled', 'False');
  if (unscheduled !== undefined) {
    return [wholePod(pod, unscheduled.reason ?? 'Unschedulable', unscheduled.message)];
  }
  const stuck = containersOf(pod, template).flatMap((container) => ofContainer(pod, container) ?? []);
  return stuck.length > 0 ? stuck : [unready(pod, template)];
}

/**
 * Names of the init containers that are not restarted. The failure of an init container that is not restarted ends the
 * pod.
 */
export function startedOnce(template: V1PodTemplateSpec): ReadonlySet<string> {
  const once = (template.spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Never');
  return new Set(once.map(({ name }) => name));
}

/** The trouble of an init container that ended its pod; undefined: no init container did. */
export function endedByInit(pod: ObservedPod, template: V1PodTemplateSpec): PodTrouble | undefined {
  // An eviction sets a reason. Without a reason, only an init container can make a pod of a Deployment fail.
  if (pod.status?.phase !== 'Failed' || pod.status.reason !== undefined) return undefined;
  const once = startedOnce(template);
  for (const container of containersOf(pod, template)) {
    if (container.kind !== 'init' || !once.has(container.status.name)) continue;
    const trouble = ofContainer(pod, container);
    if (trouble?.exitCode !== undefined) return { ...trouble, reason: 'InitContainerFailed' };
  }
  return undefined;
}

/** Reasons of a graceful node shutdown. The pod is replaced on another node. */
const SHUTDOWNS: ReadonlySet<string> = new Set(['Terminated', 'Shutdown']);

/** Why a node rejected or evicted the pod (`Evicted`, `OutOfcpu`); undefined: no node did. */
export function endedByNode(pod: ObservedPod): PodTrouble | undefined {
  const { phase, reason = '', message } = pod.status ?? {};
  const isByNode = phase === 'Failed' && reason !== '' && !SHUTDOWNS.has(reason);
  return isByNode ? wholePod(pod, reason, message) : undefined;
}

/** Last change of the pod, from its status, in ms since the epoch. */
export function lastChangeOf({ metadata, status }: ObservedPod): number {
  const times = [
    metadata.creationTimestamp,
    ...(status?.conditions ?? []).map((each) => each.lastTransitionTime),
  ];
  return Math.max(0, ...times.map((time) => Date.parse(time ?? '')).filter((time) => !Number.isNaN(time)));
}

/** The status of a container, with its kind. */
export interface KnownContainer {
  readonly status: ObservedContainer;
  readonly kind: 'app' | 'init' | 'sidecar';
  readonly suffix: string;
}

/**
 * Containers in their start order, with their kinds. Without the template, a native sidecar counts as init
 * container.
 */
export function containersOf(
  { status }: ObservedPod,
  template: V1PodTemplateSpec | undefined,
): KnownContainer[] {
  const native = new Set(
    template?.spec?.initContainers
      ?.filter(({ restartPolicy }) => restartPolicy === 'Always')
      .map(({ name }) => name),
  );
  const kindOf = (name: string) => (name === APP_CONTAINER_NAME ? 'app' : 'sidecar');
  return [
    ...(status?.initContainerStatuses ?? []).map((container) => {
      const kind = native.has(container.name) ? ('sidecar' as const) : ('init' as const);
      return { status: container, kind, suffix: ` (${kind})` };
    }),
    ...(status?.containerStatuses ?? []).map((container) => {
      const kind = kindOf(container.name);
      const suffix = template !== undefined && kind === 'sidecar' ? ' (sidecar)' : '';
      return { status: container, kind, suffix } as const;
    }),
  ];
}

/** For a pod that is not ready although all containers run. Names the container that the pod waits for. */
function unready(pod: ObservedPod, template: V1PodTemplateSpec | undefined): PodTrouble {
  if (pod.lostNode !== undefined) return wholePod(pod, 'NodeNotReady', `node ${pod.lostNode} is not ready`);
  const condition = conditionOf(pod, 'Ready', 'False');
  const containers = containersOf(pod, template).filter(({ status }) => status.state?.running !== undefined);
  const initializing = containers.find(({ kind }) => kind === 'init');
  const waitedFor = initializing ?? containers.find(({ status }) => status.ready !== true);
  const reason = initializing === undefined ? condition?.reason : 'PodInitializing';
  return {
    ...wholePod(pod, reason ?? pod.status?.phase ?? 'Pending', condition?.message),
    ...(waitedFor === undefined
      ? {}
      : {
          container: { name: waitedFor.status.name, kind: waitedFor.kind },
          restarts: waitedFor.status.restartCount ?? 0,
        }),
  };
}

function conditionOf({ status }: ObservedPod, type: string, is: string): PodCondition | undefined {
  return status?.conditions?.find((candidate) => candidate.type === type && candidate.status === is);
}

function wholePod(pod: ObservedPod, reason: string, detail: string | undefined): PodTrouble {
  return { ...troubleWith(pod, reason, '', detail), ...(detail ? { detail: maskCredentials(detail) } : {}) };
}

function troubleWith(
  pod: ObservedPod,
  reason: string,
  containerText: string,
  detail: string | undefined,
): PodTrouble {
  const said = detail === undefined ? undefined : maskCredentials(detail);
  return {
    pod: pod.metadata.name,
    reason,
    message: [`pod ${pod.metadata.name}${containerText}`, reason, said].filter((part) => part).join(': '),
    restarts: 0,
    ...timesOf(pod),
  };
}

/** Why a container does not run; undefined if it runs or has succeeded. */
export function ofContainer(pod: ObservedPod, container: KnownContainer): PodTrouble | undefined {
  const reason = stateReason(container.status);
  return reason === undefined ? undefined : containerTrouble(pod, container, reason);
}

/** The trouble of a container with this reason, including its last termination. */
export function containerTrouble(
  pod: ObservedPod,
  { status, kind, suffix }: KnownContainer,
  reason: string,
): PodTrouble {
  const { name, restartCount = 0, state, lastState } = status;
  const ended = state?.terminated ?? lastState?.terminated;
  // The output at termination is more specific than the back-off message.
  const detail = ended === undefined ? state?.waiting?.message : ended.message;
  const text = ended === undefined ? state?.waiting?.message : exitText(ended, reason);
  const ranSince = Date.parse(ended?.startedAt ?? '');
  const ranMs = Date.parse(ended?.finishedAt ?? '') - ranSince;
  return {
    ...troubleWith(pod, reason, `, container ${name}${suffix}`, text),
    container: { name, kind },
    restarts: restartCount,
    ...(ended === undefined ? {} : { exitCode: ended.exitCode }),
    ...(Number.isNaN(ranSince) ? {} : { ranSince }),
    ...(Number.isNaN(ranMs) ? {} : { ranMs }),
    ...(detail ? { detail: maskCredentials(detail) } : {}),
  };
}

/** `exit code 137 (OOMKilled)`. A reason that only states the failure is omitted. */
function exitText({ exitCode, reason }: { exitCode: number; reason?: string }, shown: string): string {
  const why = reason === undefined || reason === 'Error' || reason === shown ? '' : ` (${reason})`;
  return `exit code ${exitCode}${why}`;
}

/** Why a container does not run; undefined if it runs or has succeeded. */
function stateReason({ state }: ObservedContainer): string | undefined {
  if (state?.waiting !== undefined) {
    const reason = state.waiting.reason ?? 'Waiting';
    return reason === 'PodInitializing' ? undefined : reason;
  }
  if (state?.terminated === undefined || state.terminated.exitCode === 0) return undefined;
  return state.terminated.reason ?? 'Error';
}

/** The last step of the start of a pod. No trouble of a pod is older. */
function timesOf(pod: ObservedPod): Pick<PodTrouble, 'since' | 'scheduledAt'> {
  const at = (type: string): number[] => {
    const time = Date.parse(conditionOf(pod, type, 'True')?.lastTransitionTime ?? '');
    return Number.isNaN(time) ? [] : [time];
  };
  const [scheduledAt] = at('PodScheduled');
  const steps = [...at('PodScheduled'), ...at('Initialized')];
  return {
    ...(steps.length === 0 ? {} : { since: Math.max(...steps) }),
    ...(scheduledAt === undefined ? {} : { scheduledAt }),
  };
}
