import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import type { ResourceFailureSource } from '../../../contract/resource/resource-failure-source.ts';
import type { Component } from '../../../domain/resource-spec/components.ts';
import { componentName } from '../../../workloads/names.ts';
import { contractField } from '../observe/contract-field.ts';
import { liveChild, type Observed, type ObservedPod } from '../observed.ts';
import { withLastCheck } from '../pods/failed-check.ts';
import {
  isOfTemplate,
  isReadyPod,
  type PodTrouble,
  podsOf,
  podsOfTemplate,
  troublesOf,
} from '../pods/pod-trouble.ts';
import { endedLately, endedSince, recentFailures } from '../pods/recent-failures.ts';
import { workloadState } from '../pods/workload-state.ts';
import { shortened } from '../status/conditions.ts';
import { componentsOf, type Target } from './target.ts';

/** One problem that prevents a component from running the target, with its details. */
export interface Symptom {
  readonly component: Component;
  /**
   * A reason of Kubernetes, or one of the following. `ReplicaFailure`: the controller cannot create any pod.
   * `PartialReplicaFailure`: the controller cannot create more pods. `InitContainerFailed`: an init container that does
   * not restart has failed its pod. `PodsEndedByNode`: nodes have ended several pods.
   */
  readonly reason: string;
  /** A sentence that begins with the component. */
  readonly message: string;
  /** The message of the cluster, for rules that match on it. */
  readonly text: string;
  readonly restarts: number;
  /** The earliest possible start of the symptom, in ms since the epoch. */
  readonly since?: number;
  /** When the pod was scheduled to a node, in ms since the epoch. */
  readonly scheduledAt?: number;
  readonly failureSource: ResourceFailureSource;
}

/** The symptoms of a rollout, in the order of components. Pods of other templates are ignored. */
export function symptomsOf(observed: Observed, target: Target): Symptom[] {
  const { startTime, templatesChangeTime = startTime } = observed.resource.status?.rollout ?? {};
  const since = Date.parse(templatesChangeTime ?? '');
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

/** A symptom outside a rollout. */
export interface RunningSymptom extends Symptom {
  /** Whether the pod is ready again, because the failed container has restarted. */
  readonly isOfReadyPod: boolean;
  /** When the container counts as recovered, in ms since the epoch; absent: it is not running. */
  readonly recoversAt?: number;
  /** Whether the symptom belongs to pods that have ended. */
  readonly isOfEndedPods?: boolean;
}

/**
 * The symptoms outside a rollout, of running pods and of their replacements. A container also counts as failing between
 * two restarts, so that the symptom does not flap with each restart.
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
          ...ofPod(component, withLastCheck(trouble, pod, observed.warnings?.get(pod.metadata.uid ?? ''))),
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
    failureSource: failureSourceOf(component, trouble),
  };
}

/** The structured source of a pod's problem. @param component a component, or a data service */
export function failureSourceOf(
  component: string,
  { pod, container, exitCode, detail }: PodTrouble,
): ResourceFailureSource {
  return {
    component,
    kind: 'Pod',
    object: pod,
    ...(container === undefined ? {} : { container: container.name, containerKind: container.kind }),
    ...(exitCode === undefined ? {} : { exitCode }),
    ...detailOf(detail),
  };
}

/** Adds the field of the custom resource that the cluster's message refers to, if it can be found. */
function withField<Found extends Symptom>({ resource }: Observed, symptom: Found): Found {
  const { text, message, failureSource } = symptom;
  const field = contractField(resource, { text, container: failureSource.container });
  return field === undefined
    ? symptom
    : { ...symptom, message: namingField(message, field), failureSource: { ...failureSource, field } };
}

/** The message, with the field to change appended. */
export function namingField(message: string, field: string): string {
  return `${message}; named by ${field}`;
}

/** `detail` as a part of the failure source. */
export function detailOf(detail: string | undefined): Pick<ResourceFailureSource, 'detail'> {
  return detail ? { detail: shortened(detail) } : {};
}

const POD_TEMPLATE_HASH = 'pod-template-hash';

/**
 * Why the Deployment controller cannot create pods. The condition also covers the former ReplicaSet, which the name of
 * the rejected pod identifies. If the target has a pod, only further pods are rejected.
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
  // A pod of the target that has ended, for example by an eviction, belongs to the same ReplicaSet as the rejected
  // pods.
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
      failureSource: { component, kind: 'Deployment', object: name, ...detailOf(refusal) },
    },
  ];
}
