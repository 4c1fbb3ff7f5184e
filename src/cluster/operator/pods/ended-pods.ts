import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import type { Component } from '../../../domain/resource-spec/resource-spec.ts';
import { componentName } from '../../../workloads/names.ts';
import type { Observed, ObservedPod } from '../observed.ts';
import {
  endedByInit,
  endedByNode,
  hasEnded,
  isOfTemplate,
  isReadyPod,
  lastChangeOf,
  type PodTrouble,
  podsOf,
} from './pod-trouble.ts';
import { stateOf } from './workload-state.ts';

/** Trouble of pods that have ended as a whole while others take their place. Pure. */

/** So far back pods that have ended are counted where no rollout says since when. */
const ENDED_PODS_MS = 600_000;
/** One pod that a node has ended is replaced; several in a row say that the next one ends so as well. */
const FEWEST_ENDED_PODS = 2;

/** The trouble of pods of a rollout that init containers have ended. @param since when it began, in ms since the epoch */
export function endedSince(
  observed: Observed,
  component: Component,
  template: V1PodTemplateSpec,
  since: number,
): PodTrouble[] {
  // Kubernetes tells of whole seconds.
  const pods = podsOf(observed, component).filter((pod) => madeAt(pod) + 1000 > since);
  const ofTemplate = pods.filter((pod) => isOfTemplate(pod, template));
  return endedByInits(ofTemplate, template, wantedPods(observed, component));
}

/** Trouble of pods that have ended outside of a rollout. */
export interface EndedTrouble {
  readonly trouble: PodTrouble;
  /** Nothing is missing because of it at this moment. */
  readonly isOfReadyPod: boolean;
  readonly isOfEndedPods: true;
  /** When it is over unless another pod ends before, in ms since the epoch. */
  readonly recoversAt: number;
}

/**
 * The trouble of pods that have ended outside of a rollout. A pod that has become ready since is no recovery, as it may end
 * like those before: the trouble lasts until no pod has ended for some time.
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
    // A pod that was made after these have ended is ready: another one that is missing merely starts, as in a scale-up.
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
 * Where an init container that is not started again ends its pod, the ReplicaSet makes another one at once and without a
 * pause: pods that ended so, for each that is wanted, are its restarts.
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
  // Each of several pods may fail once.
  return [{ ...newest, restarts: Math.floor(troubles.length / Math.max(1, wanted)) }];
}

/** Pods that nodes have refused or evicted, in the words of the newest. @param pods newest first */
function endedByNodes(pods: readonly ObservedPod[]): PodTrouble[] {
  const troubles = pods.flatMap((pod) => endedByNode(pod) ?? []);
  const [newest] = troubles;
  if (newest === undefined || troubles.length < FEWEST_ENDED_PODS) return [];
  return [{ ...newest, reason: 'PodsEndedByNode' }];
}

const madeAt = ({ metadata }: ObservedPod): number => Date.parse(metadata.creationTimestamp ?? '');

function wantedPods(observed: Observed, component: Component): number {
  return stateOf(observed, 'Deployment', componentName(observed.resource, component))?.wanted ?? 1;
}
