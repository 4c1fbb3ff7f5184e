import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import { LABELS } from '../../../contract/resource/names.ts';
import { compareText } from '../../../domain/core/compare-text.ts';
import { APP_CONTAINER_NAME } from '../../../domain/deployment/reserved.ts';
import { withoutCredentials } from '../access/masking.ts';
import type { Observed, ObservedContainer, ObservedPod, PodCondition } from '../observed.ts';

/** Why a pod is not ready. */
export interface PodTrouble {
  readonly pod: string;
  /** As Kubernetes names it: `ImagePullBackOff`, `CrashLoopBackOff`, `Unschedulable` … */
  readonly reason: string;
  /** A sentence that begins with the culprit: `pod x, container migrate (init): CrashLoopBackOff: …`. */
  readonly message: string;
  /** The container that it is about; absent: the whole pod. */
  readonly container?: { readonly name: string; readonly kind: 'app' | 'init' | 'sidecar' };
  readonly exitCode?: number;
  /** What the cluster says of it, or the container said when it ended; credentials that can be told are masked. */
  readonly detail?: string;
  readonly restarts: number;
  /** It has not been so for longer than since then, in ms since the epoch. */
  readonly since?: number;
  /** When a node took the pod, in ms since the epoch. */
  readonly scheduledAt?: number;
}

/** Reasons that only say that it takes its time. */
const ORDINARY = new Set([
  'ContainerCreating',
  'PodInitializing',
  'ContainersNotReady',
  'ContainersNotInitialized',
  'Pending',
]);

/** Pods of one component that are not ending, newest first. */
export function podsOf(observed: Observed, component: string): ObservedPod[] {
  return observed.pods
    .filter(
      ({ metadata }) =>
        metadata.labels?.[LABELS.component] === component && metadata.deletionTimestamp === undefined,
    )
    .sort((a, b) => compareText(b.metadata.creationTimestamp, a.metadata.creationTimestamp));
}

/**
 * Whether the pod has ended as a whole (evicted, say): nothing of it runs, and none of it will. Nobody removes such a pod
 * until there are thousands of them, while another one takes its place.
 */
export const hasEnded = ({ status }: ObservedPod): boolean =>
  status?.phase === 'Failed' || status?.phase === 'Succeeded';

/** Whether a pod was made from this template: it carries all its labels, among them its hash. */
export function isOfTemplate({ metadata }: ObservedPod, template: V1PodTemplateSpec): boolean {
  const labels = Object.entries(template.metadata?.labels ?? {});
  return labels.every(([key, value]) => metadata.labels?.[key] === value);
}

/** Pods that were made from this template, and have not ended. */
export function podsOfTemplate(
  observed: Observed,
  component: string,
  template: V1PodTemplateSpec,
): ObservedPod[] {
  return podsOf(observed, component).filter((pod) => !hasEnded(pod) && isOfTemplate(pod, template));
}

/** Whether the pod is ready. Available is another matter: it must have been so for minReadySeconds. */
export function isReadyPod({ status }: ObservedPod): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false;
}

/**
 * What keeps the newest unready pod of a component; the one with something to say comes before one that merely starts. Of
 * one that has ended where there is no other.
 */
export function troubleOf(observed: Observed, component: string): PodTrouble | undefined {
  const pods = podsOf(observed, component);
  const living = pods.filter((pod) => !hasEnded(pod));
  const troubles = (living.length > 0 ? living : pods)
    .filter((pod) => !isReadyPod(pod))
    .map((pod) => mostSpecific(troublesOf(observed, pod)) ?? podTrouble(pod));
  return mostSpecific(troubles) ?? (pods.length === 0 ? stuckPod(observed, component) : undefined);
}

/** A pod that cannot end, as its node is lost. A StatefulSet makes no other one before. */
function stuckPod({ pods }: Observed, component: string): PodTrouble | undefined {
  const stuck = pods.find(
    ({ metadata, lostNode }) => metadata.labels?.[LABELS.component] === component && lostNode !== undefined,
  );
  if (stuck === undefined) return undefined;
  const ends = 'the pod is being deleted, and ends when the node is back or is removed';
  return wholePod(stuck, 'NodeNotReady', `node ${stuck.lostNode} is not ready; ${ends}`);
}

/** Whether a reason only says that it takes its time. */
export function isOrdinary(reason: string): boolean {
  return ORDINARY.has(reason);
}

/** `podTroubles`, and what Events told of a pod that says nothing itself. */
export function troublesOf(
  { tellings }: Observed,
  pod: ObservedPod,
  template?: V1PodTemplateSpec,
): PodTrouble[] {
  const troubles = podTroubles(pod, template);
  const told = tellings?.get(pod.metadata.uid ?? '');
  const [first] = troubles;
  if (told === undefined || first === undefined || !troubles.every(({ reason }) => isOrdinary(reason)))
    return troubles;
  // A warning of its start is history once it runs, and a probe says nothing of a start.
  const isRunning = first.reason === 'ContainersNotReady';
  if (isRunning !== (told.reason === 'Unhealthy')) return troubles;
  const { container, restarts } = first;
  const trouble = { ...wholePod(pod, told.reason, told.message), restarts };
  return [container === undefined ? trouble : { ...trouble, container }, ...troubles];
}

/** The first that says more than that it takes its time. */
export function mostSpecific(troubles: readonly PodTrouble[]): PodTrouble | undefined {
  return troubles.find(({ reason }) => !ORDINARY.has(reason)) ?? troubles[0];
}

/** Why this pod is not ready, as far as its status tells. Nothing that a container printed is in its message. */
export function podTrouble(pod: ObservedPod): PodTrouble {
  const troubles = podTroubles(pod);
  return mostSpecific(troubles) ?? wholePod(pod, pod.status?.phase ?? 'Pending', undefined);
}

/** Everything that keeps this pod, in the order in which its containers start. `template`: what it was made from. */
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

/** Names of the init containers that are not started again: one that fails ends its pod. */
export function startedOnce(template: V1PodTemplateSpec): ReadonlySet<string> {
  const once = (template.spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Never');
  return new Set(once.map(({ name }) => name));
}

/** What is told of an init container that has ended its pod; undefined: nothing, or something else, has. */
export function endedByInit(pod: ObservedPod, template: V1PodTemplateSpec): PodTrouble | undefined {
  // Who takes a pod off its node says why; and a pod of a Deployment does not end by itself otherwise.
  if (pod.status?.phase !== 'Failed' || pod.status.reason !== undefined) return undefined;
  const once = startedOnce(template);
  for (const container of containersOf(pod, template)) {
    if (container.kind !== 'init' || !once.has(container.status.name)) continue;
    const trouble = ofContainer(pod, container);
    if (trouble?.exitCode !== undefined) return { ...trouble, reason: 'InitContainerFailed' };
  }
  return undefined;
}

/** The node shuts down in good order: another one takes the pod. */
const SHUTDOWNS: ReadonlySet<string> = new Set(['Terminated', 'Shutdown']);

/** Why a node has refused the pod or taken it off (`Evicted`, `OutOfcpu`); undefined: none did. */
export function endedByNode(pod: ObservedPod): PodTrouble | undefined {
  const { phase, reason = '', message } = pod.status ?? {};
  const isByNode = phase === 'Failed' && reason !== '' && !SHUTDOWNS.has(reason);
  return isByNode ? wholePod(pod, reason, message) : undefined;
}

/** When the pod changed last, as far as its status tells, in ms since the epoch. */
export function lastChangeOf({ metadata, status }: ObservedPod): number {
  const times = [
    metadata.creationTimestamp,
    ...(status?.conditions ?? []).map((each) => each.lastTransitionTime),
  ];
  return Math.max(0, ...times.map((time) => Date.parse(time ?? '')).filter((time) => !Number.isNaN(time)));
}

/** The status of a container, with the role that its pod gives it. */
export interface KnownContainer {
  readonly status: ObservedContainer;
  readonly kind: 'app' | 'init' | 'sidecar';
  readonly suffix: string;
}

/** Containers in the order in which they start, as what they are. Without the template a native sidecar counts as init. */
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

/** Everything runs, and yet it is not ready: named is what is waited for. */
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
  return { ...say(pod, reason, '', detail), ...(detail ? { detail: withoutCredentials(detail) } : {}) };
}

function say(pod: ObservedPod, reason: string, culprit: string, detail: string | undefined): PodTrouble {
  const said = detail === undefined ? undefined : withoutCredentials(detail);
  return {
    pod: pod.metadata.name,
    reason,
    message: [`pod ${pod.metadata.name}${culprit}`, reason, said].filter((part) => part).join(': '),
    restarts: 0,
    ...timesOf(pod),
  };
}

/** Why a container does not run; undefined for one that does, or has ended well. */
export function ofContainer(pod: ObservedPod, container: KnownContainer): PodTrouble | undefined {
  const reason = stateReason(container.status);
  return reason === undefined ? undefined : containerTrouble(pod, container, reason);
}

/** That a container is in trouble of this name, with how it ended last. */
export function containerTrouble(
  pod: ObservedPod,
  { status, kind, suffix }: KnownContainer,
  reason: string,
): PodTrouble {
  const { name, restartCount = 0, state, lastState } = status;
  const ended = state?.terminated ?? lastState?.terminated;
  // What it wrote when it ended tells more than that it is started again later.
  const detail = ended === undefined ? state?.waiting?.message : ended.message;
  const told = ended === undefined ? state?.waiting?.message : exitText(ended, reason);
  return {
    ...say(pod, reason, `, container ${name}${suffix}`, told),
    container: { name, kind },
    restarts: restartCount,
    ...(ended === undefined ? {} : { exitCode: ended.exitCode }),
    ...(detail ? { detail: withoutCredentials(detail) } : {}),
  };
}

/** `exit code 137 (OOMKilled)`; what says no more than that it failed is left out. */
function exitText({ exitCode, reason }: { exitCode: number; reason?: string }, told: string): string {
  const why = reason === undefined || reason === 'Error' || reason === told ? '' : ` (${reason})`;
  return `exit code ${exitCode}${why}`;
}

/** Why a container does not run; undefined for one that does, or has ended well. */
function stateReason({ state }: ObservedContainer): string | undefined {
  if (state?.waiting !== undefined) {
    const reason = state.waiting.reason ?? 'Waiting';
    return reason === 'PodInitializing' ? undefined : reason;
  }
  if (state?.terminated === undefined || state.terminated.exitCode === 0) return undefined;
  return state.terminated.reason ?? 'Error';
}

/** Nothing of a pod is older than the last step of its start. */
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
