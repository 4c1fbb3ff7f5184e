import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import type { Component } from '../../../domain/resource-spec/components.ts';
import { componentName } from '../../../workloads/names.ts';
import { hasEnded } from '../../kube/client/object.ts';
import type { Observed, ObservedContainer, ObservedPod } from '../observed.ts';
import { CRASH_LOOP_RESTARTS } from '../rollout/failure-rules.ts';
import {
  containersOf,
  containerTrouble,
  endedByInit,
  endedByNode,
  isOfTemplate,
  isReadyPod,
  lastChangeOf,
  type PodTrouble,
  podsOf,
} from './pod-trouble.ts';
import { stateOf } from './workload-state.ts';

/** Trouble of pods in phase Failed or Succeeded while other pods replace them. Pure. */

/** Period in which ended pods count, if no rollout determines the start. */
const ENDED_PODS_MS = 600_000;
/**
 * Minimum number of pods ended by nodes that count as trouble. A single pod is replaced. Several in a row show that the
 * next pod will also end.
 */
const MIN_ENDED_PODS = 2;

/**
 * The trouble of pods of a rollout that init containers ended.
 * @param since start of the rollout, in ms since the epoch
 */
export function endedSince(
  observed: Observed,
  component: Component,
  template: V1PodTemplateSpec,
  since: number,
): PodTrouble[] {
  // Kubernetes timestamps have whole seconds.
  const pods = podsOf(observed, component).filter((pod) => madeAt(pod) + 1000 > since);
  const ofTemplate = pods.filter((pod) => isOfTemplate(pod, template));
  return endedByInits(ofTemplate, template, wantedPods(observed, component));
}

/** Trouble of pods that ended outside a rollout. */
export interface EndedTrouble {
  readonly trouble: PodTrouble;
  /** Whether no pod is missing now because of the trouble. */
  readonly isOfReadyPod: boolean;
  readonly isOfEndedPods: true;
  /** When the trouble ends unless another pod ends before, in ms since the epoch. */
  readonly recoversAt: number;
}

/**
 * The trouble of pods that ended outside a rollout. A new ready pod is not a recovery, because it may end like the
 * former pods. The trouble persists until no pod has ended for some time.
 */
export function endedLately(
  observed: Observed,
  component: Component,
  template: V1PodTemplateSpec,
  now: number,
): EndedTrouble[] {
  const pods = podsOf(observed, component).filter((pod) => isOfTemplate(pod, template));
  const ended = pods.filter((pod) => hasEnded(pod) && lastChangeOf(pod) > now - ENDED_PODS_MS);
  const ready = pods.filter((pod) => !hasEnded(pod) && pod.orphan !== true && isReadyPod(pod));
  const wanted = wantedPods(observed, component);
  const [newestReady] = ready;
  const readyMadeAt = newestReady === undefined ? Number.NaN : madeAt(newestReady);
  const standing = (pods: readonly ObservedPod[]) => {
    const endedAt = Math.max(...pods.map(lastChangeOf));
    // A pod that was created after these pods ended is ready. Another missing pod is only starting, as in a scale-up.
    const isReplaced = readyMadeAt >= endedAt;
    const isOfReadyPod = ready.length >= wanted || isReplaced;
    return { isOfReadyPod, isOfEndedPods: true, recoversAt: endedAt + ENDED_PODS_MS } as const;
  };
  const byInit = ended.filter((pod) => endedByInit(pod, template) !== undefined);
  const byNode = ended.filter((pod) => endedByNode(pod) !== undefined);
  return [
    ...endedByInits(byInit, template, wanted).map((trouble) => ({ trouble, ...standing(byInit) })),
    ...endedByNodes(byNode).map((trouble) => ({ trouble, ...standing(byNode) })),
  ];
}

/**
 * If an init container that is not restarted ends its pod, the ReplicaSet replaces the pod at once, without back-off.
 * The number of replaced pods per replica counts as restarts.
 * @param pods newest first
 */
function endedByInits(
  pods: readonly ObservedPod[],
  template: V1PodTemplateSpec,
  wanted: number,
): PodTrouble[] {
  const troubles = pods.flatMap((pod) => endedByInit(pod, template) ?? []);
  const [newest] = troubles;
  if (newest === undefined) return [];
  // With several replicas, each pod may fail once.
  return [{ ...newest, restarts: Math.floor(troubles.length / Math.max(1, wanted)) }];
}

/**
 * Pods that nodes rejected or evicted, with the message of the newest.
 * @param pods newest first
 */
function endedByNodes(pods: readonly ObservedPod[]): PodTrouble[] {
  const troubles = pods.flatMap((pod) => endedByNode(pod) ?? []);
  const [newest] = troubles;
  if (newest === undefined || troubles.length < MIN_ENDED_PODS) return [];
  return [{ ...newest, reason: 'PodsEndedByNode' }];
}

const madeAt = ({ metadata }: ObservedPod): number => Date.parse(metadata.creationTimestamp ?? '');

function wantedPods(observed: Observed, component: Component): number {
  return stateOf(observed, 'Deployment', componentName(observed.resource, component))?.wanted ?? 1;
}

/**
 * Finds recent failures of containers that run again. A container that fails repeatedly runs for some time after each
 * restart, and its pod may be ready during this time. So a container counts as recovered only after it has run for
 * a minimum time.
 */

/** The last failure of a container that runs again. */
export interface RecentFailure {
  readonly trouble: PodTrouble;
  /** When the container counts as recovered, in ms since the epoch; Infinity: its start time is unknown. */
  readonly recoversAt: number;
}

const MIN_RECOVERY_MS = 30_000;
/** Maximum recovery time. After this time, Kubernetes also resets the back-off of a container. */
const MAX_RECOVERY_MS = 600_000;

/**
 * How long a container must run after this number of restarts to count as recovered. The time doubles, like the
 * kubelet's back-off.
 */
export function recoveryMs(restarts: number): number {
  return Math.min(MAX_RECOVERY_MS, MIN_RECOVERY_MS * 2 ** Math.max(0, restarts - 1));
}

/** Failures of containers that run again and have not recovered. */
export function recentFailures(
  pod: ObservedPod,
  template: V1PodTemplateSpec | undefined,
  now: number,
): RecentFailure[] {
  return containersOf(pod, template).flatMap((container) => {
    const { state, lastState, restartCount = 0 } = container.status;
    const ended = lastState?.terminated;
    if (state?.running === undefined || ended === undefined) return [];
    // Only an init container may exit with code 0. Other containers that repeatedly exit with code 0 also go into
    // back-off.
    const isLoop = container.kind !== 'init' && restartCount >= CRASH_LOOP_RESTARTS;
    if (ended.exitCode === 0 && !isLoop) return [];
    const reason = ended.exitCode === 0 ? 'CrashLoopBackOff' : (ended.reason ?? 'Error');
    const recoversAt = startOf(container.status) + recoveryMs(restartCount);
    if (recoversAt <= now) return [];
    return [{ trouble: containerTrouble(pod, container, reason), recoversAt }];
  });
}

/** Start time of the container, in ms since the epoch. */
function startOf({ state, lastState }: ObservedContainer): number {
  const times = [state?.running?.startedAt, lastState?.terminated?.finishedAt];
  const known = times.map((time) => Date.parse(time ?? ''));
  return known.find((time) => !Number.isNaN(time)) ?? Number.POSITIVE_INFINITY;
}
