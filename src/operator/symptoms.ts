import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import type { Culprit } from '../domain/culprit.ts';
import type { Component } from '../domain/resource-spec.ts';
import { componentName } from '../workloads/names.ts';
import { shortened } from './conditions.ts';
import { contractField } from './contract-field.ts';
import { liveChild, type Observed, type ObservedPod } from './observed.ts';
import {
  endedByInit,
  isOfTemplate,
  isReadyPod,
  type PodTrouble,
  podsOf,
  podsOfTemplate,
  troublesOf,
} from './pod-trouble.ts';
import { componentsOf, type Target } from './target.ts';
import { stateOf, workloadState } from './workload-state.ts';

/** One thing that keeps a component from running the target, with all that is known of it. */
export interface Symptom {
  readonly component: Component;
  /**
   * As Kubernetes names it, or `ReplicaFailure`, `PartialReplicaFailure` where the controller may make no pods, or no more;
   * `InitContainerFailed` where one that is not started again has ended pods.
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
  return componentsOf(target).flatMap((component) => {
    const template = target.templates?.[component];
    if (template === undefined) return [];
    const pods = podsOfTemplate(observed, component, template);
    const ofPods = pods
      .filter((pod) => !isReadyPod(pod))
      .flatMap((pod) => troublesOf(observed, pod, template))
      .map((trouble) => ofPod(component, trouble));
    const seen = [
      ...endedPods(observed, component, template),
      ...ofPods,
      ...refusedPods(observed, component, pods),
    ];
    return seen.map((symptom) => withField(observed, symptom));
  });
}

/**
 * Where an init container that is not started again ends its pod, the ReplicaSet makes another one at once and without a
 * pause: pods of this rollout that ended so, for each that is wanted, are its restarts.
 */
function endedPods(observed: Observed, component: Component, template: V1PodTemplateSpec): Symptom[] {
  const { startedAt, templatesAt = startedAt } = observed.resource.status?.rollout ?? {};
  const since = Date.parse(templatesAt ?? '');
  if (Number.isNaN(since)) return [];
  const troubles = podsOf(observed, component)
    // Kubernetes tells of whole seconds.
    .filter(({ metadata }) => Date.parse(metadata.creationTimestamp ?? '') + 1000 > since)
    .filter((pod) => isOfTemplate(pod, template))
    .flatMap((pod) => endedByInit(pod, template) ?? []);
  const [newest] = troubles;
  if (newest === undefined) return [];
  // Each of several pods may fail once.
  const wanted = stateOf(observed, 'Deployment', componentName(observed.resource, component))?.wanted ?? 1;
  return [ofPod(component, { ...newest, restarts: Math.floor(troubles.length / Math.max(1, wanted)) })];
}

function ofPod(component: Component, trouble: PodTrouble): Symptom {
  const { pod, reason, message, container, exitCode, detail, restarts, since, scheduledAt } = trouble;
  return {
    component,
    reason,
    message: `${component}: ${message}`,
    text: detail ?? '',
    restarts,
    ...(since === undefined ? {} : { since }),
    ...(scheduledAt === undefined ? {} : { scheduledAt }),
    culprit: {
      component,
      kind: 'Pod',
      object: pod,
      ...(container === undefined ? {} : { container: container.name, container_kind: container.kind }),
      ...(exitCode === undefined ? {} : { exit_code: exitCode }),
      ...detailOf(detail),
    },
  };
}

/** With the field of the contract that the cluster speaks of, where that can be told. */
function withField({ resource }: Observed, symptom: Symptom): Symptom {
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
function refusedPods(observed: Observed, component: Component, made: readonly ObservedPod[]): Symptom[] {
  const name = componentName(observed.resource, component);
  const deployment = liveChild(observed, 'Deployment', name);
  if (deployment === undefined) return [];
  const { refusal, refusedAt, current } = workloadState(deployment);
  if (refusal === null || !current) return [];
  const former = podsOf(observed, component).filter((pod) => !made.includes(pod));
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
