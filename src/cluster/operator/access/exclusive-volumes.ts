import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import { LABELS } from '../../../contract/resource/names.ts';
import { VOLUME_IN_USE } from '../../../domain/conditions/remedy-causes.ts';
import { COMPONENTS, type Component } from '../../../domain/resource-spec/components.ts';
import { componentName } from '../../../workloads/names.ts';
import { claimsOf } from '../../../workloads/tasks/task-job.ts';
import { hasEnded } from '../../kube/client/object.ts';
import { type ChildObject, liveChild, type Observed, type ObservedPod } from '../observed.ts';
import { isOfTemplate, isReadyPod, podsOfTemplate, troublesOf } from '../pods/pod-trouble.ts';
import { workloadState } from '../pods/workload-state.ts';
import { componentsOf, type Target } from '../rollout/target.ts';

/**
 * Volumes that only one pod, or one node, can use at a time.
 *
 * A rolling update starts the new pod before it ends the old pod, so the new pod waits forever for a volume of the old
 * pod. When the cluster reports this for the new pod, the old pod is ended first. Access modes are not read, because a
 * ReadWriteOnce volume lets both pods run on a shared node. The operator therefore needs no access to claims that Berth
 * did not create.
 */

/** Components whose old pod must end before the new one can start. */
export function componentsThatYield(observed: Observed, target: Target): ReadonlySet<Component> {
  return new Set(componentsOf(target).filter((component) => mustYield(observed, target, component)));
}

/** Whether a message says that another pod uses the volume. */
export function isVolumeInUse(text: string): boolean {
  return VOLUME_IN_USE.test(text);
}

function mustYield(observed: Observed, target: Target, component: Component): boolean {
  const template = target.templates?.[component];
  const live = liveChild(observed, 'Deployment', componentName(observed.resource, component));
  // With several replicas, the other pods would keep the volume anyway.
  if (template === undefined || live === undefined || workloadState(live).wanted !== 1) return false;
  const running = observed.pods.filter((pod) => isComponentPod(pod) && !hasEnded(pod));
  // All components mount the same volumes. A pod of another component may use the volume, and that pod does not end.
  if (running.some(({ metadata }) => metadata.labels?.[LABELS.component] !== component)) return false;
  const old = running.filter((pod) => !isOfTemplate(pod, template));
  // The scheduler notices the end of the old pod with a delay.
  if (old.length === 0 && !isYielding(live)) return false;
  // The end of the old pod releases only claims that the old pod uses.
  if (!old.every((pod) => sharesClaim(formerTemplate(observed, component, pod), template))) return false;
  return podsOfTemplate(observed, component, template)
    .filter((pod) => !isReadyPod(pod))
    .flatMap((pod) => troublesOf(observed, pod, template))
    .some(({ detail = '' }) => isVolumeInUse(detail) && areUsers(old, detail));
}

/** The stored template of the pod; undefined: not stored, or unreadable. */
function formerTemplate(
  { storedTemplates }: Observed,
  component: Component,
  pod: ObservedPod,
): V1PodTemplateSpec | undefined {
  for (const stored of storedTemplates) {
    try {
      const template = stored.templates()[component];
      if (template !== undefined && isOfTemplate(pod, template)) return template;
    } catch {
      // Another writer created this ReplicaSet, so no pod runs from it.
    }
  }
  return undefined;
}

function sharesClaim(former: V1PodTemplateSpec | undefined, template: V1PodTemplateSpec): boolean {
  if (former === undefined) return false;
  const claims = new Set(claimsOf(former));
  return claimsOf(template).some((claim) => claims.has(claim));
}

/** Whether the Deployment already ends old pods first. */
function isYielding(deployment: ChildObject): boolean {
  const { spec } = deployment as { spec?: { strategy?: { rollingUpdate?: { maxUnavailable?: unknown } } } };
  return spec?.strategy?.rollingUpdate?.maxUnavailable === 1;
}

function isComponentPod({ metadata }: ObservedPod): boolean {
  return COMPONENTS.some((component) => component === metadata.labels?.[LABELS.component]);
}

/** The part of a message that names the pods of the volume. */
const USERS = /already used by pod\(s\) ([a-z0-9., -]+)/i;

/** Whether only these pods use the volume, according to the pods that the message names. */
function areUsers(pods: readonly ObservedPod[], text: string): boolean {
  if (/pod\(s\) in different namespaces/i.test(text)) return false;
  const named =
    USERS.exec(text)?.[1]
      ?.split(/[ ,]+/)
      .filter((name) => name !== '' && name !== 'and') ?? [];
  return named.every((name) => pods.some(({ metadata }) => metadata.name === name));
}
