import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import type { Culprit } from '../../../domain/conditions/failure-source.ts';
import type { Component } from '../../../domain/resource-spec/resource-spec.ts';
import { componentName } from '../../../workloads/names.ts';
import { contractField } from '../observe/contract-field.ts';
import { liveChild, type Observed, type ObservedPod } from '../observed.ts';
import { endedLately, endedSince } from '../pods/ended-pods.ts';
import {
  isOfTemplate,
  isReadyPod,
  type PodTrouble,
  podsOf,
  podsOfTemplate,
  troublesOf,
} from '../pods/pod-trouble.ts';
import { recentFailures } from '../pods/restarts.ts';
import { workloadState } from '../pods/workload-state.ts';
import { shortened } from '../status/conditions.ts';
import { componentsOf, type Target } from './target.ts';

/** One thing that keeps a component from running the target, with all that is known of it. */
export interface Symptom {
  readonly component: Component;
  /**
   * As Kubernetes names it, or `ReplicaFailure`, `PartialReplicaFailure` where the controller may make no pods, or no more;
   * `InitContainerFailed` where one that is not started again has ended pods; `PodsEndedByNode` where nodes have ended several.
   */
  readonly reason: string;
  /** A sentence that begins with the component. */
  readonly message: string;
  /** What the cluster says, for rules that have to look into it. */
  readonly text: string;
  readonly restarts: number;
  /** It has not been so for longer than since then, in ms since the epoch. */
  readonly since?: number;
  /** When a node took the pod, in ms since the epoch. */
  readonly scheduledAt?: number;
  readonly culprit: Culprit;
}

/** All that keeps the components from running the target, in the order of components. Pods of other templates prove nothing. */
export function symptomsOf(observed: Observed, target: Target): Symptom[] {
  const { startedAt, templatesAt = startedAt } = observed.resource.status?.rollout ?? {};
  const since = Date.parse(templatesAt ?? '');
  return eachComponent(target, (component, template) => {
    const pods = podsOfTemplate(observed, component, template);
    const ofPods = pods
      .filter((pod) => !isReadyPod(pod))
      .flatMap((pod) => troublesOf(observed, pod, template))
      .map((trouble) => ofPod(component, trouble));
    const ended = endedSince(observed, component, template, since).map((trouble) =>
      ofPod(component, trouble),
    );
    const seen = [...ended, ...ofPods, ...refusedPods(observed, component, template, pods)];
    return seen.map((symptom) => withField(observed, symptom));
  });
}

/** A symptom outside of a rollout. */
export interface RunningSymptom extends Symptom {
  /** Its pod is ready all the same: a container that has failed runs again. */
  readonly isOfReadyPod: boolean;
  /** When the container counts as recovered, in ms since the epoch; absent: it does not run. */
  readonly recoversAt?: number;
  /** Of pods that have ended. */
  readonly isOfEndedPods?: boolean;
}

/**
 * The same outside of a rollout, of pods that run and of pods that replace others. A container between two restarts counts
 * as one that fails: its failure neither comes nor goes with each restart.
 */
export function runningSymptomsOf(observed: Observed, target: Target, now: number): RunningSymptom[] {
  return eachComponent(target, (component, template) => {
    const pods = podsOfTemplate(observed, component, template).filter(({ orphan }) => orphan !== true);
    const ofPods = pods.flatMap((pod): RunningSymptom[] => {
      const isOfReadyPod = isReadyPod(pod);
      const stopped = isOfReadyPod ? [] : troublesOf(observed, pod, template);
      const restarted = recentFailures(pod, template, now).filter(
        ({ recoversAt }) => !isOfReadyPod || Number.isFinite(recoversAt),
      );
      return [
        ...stopped.map((trouble) => ({ ...ofPod(component, trouble), isOfReadyPod })),
        ...restarted.map(({ trouble, recoversAt }) => ({
          ...ofPod(component, trouble),
          isOfReadyPod,
          recoversAt,
        })),
      ];
    });
    const ofEnded = endedLately(observed, component, template, now).map(({ trouble, ...standing }) => ({
      ...ofPod(component, trouble),
      ...standing,
    }));
    const refused = refusedPods(observed, component, template, pods);
    const ofMaking = refused.map((symptom) => ({ ...symptom, isOfReadyPod: false }));
    return [...ofPods, ...ofEnded, ...ofMaking].map((symptom) => withField(observed, symptom));
  });
}

function eachComponent<Found>(
  target: Target,
  find: (component: Component, template: V1PodTemplateSpec) => Found[],
): Found[] {
  return componentsOf(target).flatMap((component) => {
    const template = target.templates?.[component];
    return template === undefined ? [] : find(component, template);
  });
}

function ofPod(component: Component, trouble: PodTrouble): Symptom {
  const { reason, message, detail, restarts, since, scheduledAt } = trouble;
  return {
    component,
    reason,
    message: `${component}: ${message}`,
    text: detail ?? '',
    restarts,
    ...(since === undefined ? {} : { since }),
    ...(scheduledAt === undefined ? {} : { scheduledAt }),
    culprit: culpritOf(component, trouble),
  };
}

/** Where trouble of a pod comes from, part by part. @param component a component, or a data service */
export function culpritOf(component: string, { pod, container, exitCode, detail }: PodTrouble): Culprit {
  return {
    component,
    kind: 'Pod',
    object: pod,
    ...(container === undefined ? {} : { container: container.name, container_kind: container.kind }),
    ...(exitCode === undefined ? {} : { exit_code: exitCode }),
    ...detailOf(detail),
  };
}

/** With the field of the contract that the cluster speaks of, where that can be told. */
function withField<Found extends Symptom>({ resource }: Observed, symptom: Found): Found {
  const { text, message, culprit } = symptom;
  const field = contractField(resource, { text, container: culprit.container });
  return field === undefined
    ? symptom
    : { ...symptom, message: namingField(message, field), culprit: { ...culprit, field } };
}

/** A message that ends with the field to change. */
export function namingField(message: string, field: string): string {
  return `${message}; named by ${field}`;
}

/** `detail` as a culprit carries it. */
export function detailOf(detail: string | undefined): Pick<Culprit, 'detail'> {
  return detail ? { detail: shortened(detail) } : {};
}

const POD_TEMPLATE_HASH = 'pod-template-hash';

/**
 * What keeps the Deployment's controller from making pods. Its condition tells of the former ReplicaSet too, by the name
 * of the pod that could not be made; and once a pod of the target is there, the rules let it in.
 */
function refusedPods(
  observed: Observed,
  component: Component,
  template: V1PodTemplateSpec,
  made: readonly ObservedPod[],
): Symptom[] {
  const name = componentName(observed.resource, component);
  const deployment = liveChild(observed, 'Deployment', name);
  if (deployment === undefined) return [];
  const { refusal, refusedAt, current } = workloadState(deployment);
  if (refusal === null || !current) return [];
  // A pod of the target that has ended (evicted, say) is of the same ReplicaSet as those that are refused now.
  const former = podsOf(observed, component).filter((pod) => !isOfTemplate(pod, template));
  const hashes = former.flatMap(({ metadata }) => metadata.labels?.[POD_TEMPLATE_HASH] ?? []);
  if (hashes.some((hash) => refusal.includes(`-${hash}-`))) return [];
  return [
    {
      component,
      reason: made.length === 0 ? 'ReplicaFailure' : 'PartialReplicaFailure',
      message: `${component}: ${refusal}`,
      text: refusal,
      restarts: 0,
      ...(refusedAt === null ? {} : { since: refusedAt }),
      culprit: { component, kind: 'Deployment', object: name, ...detailOf(refusal) },
    },
  ];
}
