import { LABELS } from '../contract/names.ts';
import type { Observed, ObservedContainer, ObservedPod } from './observed.ts';

/** Why a pod is not ready. */
export interface PodTrouble {
  readonly pod: string;
  /** As Kubernetes names it: `ImagePullBackOff`, `CrashLoopBackOff`, `Unschedulable` … */
  readonly reason: string;
  /** A sentence that begins with the culprit: `pod x, container migrate (init): CrashLoopBackOff: …`. */
  readonly message: string;
}

/** Reasons that only say that it takes its time. */
const ORDINARY = new Set([
  'ContainerCreating',
  'PodInitializing',
  'ContainersNotReady',
  'ContainersNotInitialized',
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

function compareText(a = '', b = ''): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Whether the pod is ready (with minReadySeconds 0 that is: available). */
export function isReadyPod({ status }: ObservedPod): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false;
}

/** What keeps the newest unready pod of a component; the one with something to say comes before one that merely starts. */
export function troubleOf(observed: Observed, component: string): PodTrouble | undefined {
  const troubles = podsOf(observed, component)
    .filter((pod) => !isReadyPod(pod))
    .map(podTrouble);
  return troubles.find(({ reason }) => !ORDINARY.has(reason)) ?? troubles[0];
}

/** Why this pod is not ready, as far as its status tells. Nothing that a container printed is in it. */
export function podTrouble(pod: ObservedPod): PodTrouble {
  const { status } = pod;
  const say = (reason: string, culprit: string, detail: string | undefined): PodTrouble => ({
    pod: pod.metadata.name,
    reason,
    message: [`pod ${pod.metadata.name}${culprit}`, reason, detail].filter((part) => part).join(': '),
  });
  const condition = (type: string) =>
    status?.conditions?.find((candidate) => candidate.type === type && candidate.status === 'False');
  const unscheduled = condition('PodScheduled');
  if (unscheduled !== undefined) return say(unscheduled.reason ?? 'Unschedulable', '', unscheduled.message);
  for (const [containers, suffix] of [
    [status?.initContainerStatuses, ' (init)'],
    [status?.containerStatuses, ''],
  ] as const) {
    const stuck = containers?.find((container) => stateReason(container) !== undefined);
    if (stuck === undefined) continue;
    return say(stateReason(stuck) ?? '', `, container ${stuck.name}${suffix}`, stateDetail(stuck));
  }
  const unready = condition('Ready');
  return say(unready?.reason ?? status?.phase ?? 'Pending', '', unready?.message);
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

function stateDetail({ state, lastState }: ObservedContainer): string | undefined {
  const terminated = state?.terminated ?? lastState?.terminated;
  if (terminated !== undefined) return `exit code ${terminated.exitCode}`;
  return state?.waiting?.message;
}
