import type { V1DeploymentSpec, V1DeploymentStrategy, V1PodTemplateSpec } from '@kubernetes/client-node';
import type { RenderConfig } from '../contract/render/render-config.ts';
import type { ManagedDeployment } from '../contract/resource/managed-deployment.ts';
import { DEFAULT_CONTAINER_ANNOTATION } from '../domain/deployment/reserved.ts';
import { type Component, podRange } from '../domain/resource-spec/components.ts';
import type { KubeMetadata, KubeObject, Replicas } from './desired-object.ts';
import { metadata, selectorLabels } from './labels.ts';
import { componentName } from './names.ts';
import { ownerReferences } from './owner.ts';

/** Scale of a component that exists in the templates, but no longer in the resource. */
const ONE_POD = { min: 1, max: 1 };

/** Minimum and maximum number of pods of a component. 0 and 0: off. */
export function componentScale(
  resource: ManagedDeployment,
  component: Component,
): { min: number; max: number } {
  const { components, suspend } = resource.spec;
  const { min, max } = components[component]?.scale ?? ONE_POD;
  return podRange(min, suspend ? 0 : max);
}

/** The desired number of pods of the Deployment of a component: fixed or autoscaled. */
export function componentReplicas(resource: ManagedDeployment, component: Component): Replicas {
  const { min, max } = componentScale(resource, component);
  return min < max ? { kind: 'autoscaled', min, max } : { kind: 'fixed', count: max };
}

/** Labels and annotations of the user, and labels of the revision, from the template. */
function deploymentMetadata(
  resource: ManagedDeployment,
  component: Component,
  template: V1PodTemplateSpec,
): KubeMetadata {
  const base = metadata(resource, componentName(resource, component), component);
  const { [DEFAULT_CONTAINER_ANNOTATION]: _, ...annotations } = template.metadata?.annotations ?? {};
  return {
    ...base,
    labels: { ...template.metadata?.labels, ...base.labels },
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    ...ownerReferences(resource),
  };
}

/** The rolling update in which an old pod ends only when its replacement is available. */
const SUCCESSOR_FIRST: V1DeploymentStrategy = {
  type: 'RollingUpdate',
  rollingUpdate: { maxSurge: '25%', maxUnavailable: 0 },
};
/**
 * The rolling update in which an old pod ends before its replacement starts, because only one pod can use the volume.
 */
const PREDECESSOR_ENDS_FIRST: V1DeploymentStrategy = {
  type: 'RollingUpdate',
  rollingUpdate: { maxSurge: 0, maxUnavailable: 1 },
};

/**
 * The Deployment of one component, running `template`. The object does not contain `replicas`; see `componentReplicas`.
 * @param yields whether the old pod ends before the new pod starts
 */
export function componentDeployment(
  resource: ManagedDeployment,
  component: Component,
  template: V1PodTemplateSpec,
  config: RenderConfig,
  yields = false,
): KubeObject {
  const { progressDeadlineSeconds } = config;
  const minReadySeconds = Math.min(config.minReadySeconds ?? 0, progressDeadlineSeconds - 1);
  const spec: V1DeploymentSpec = {
    selector: { matchLabels: selectorLabels(resource, component) },
    strategy: yields ? PREDECESSOR_ENDS_FIRST : SUCCESSOR_FIRST,
    // minReadySeconds is needed because a container without a readiness probe is ready as soon as it starts, even if it
    // exits a moment later. Kubernetes requires a value below the deadline.
    ...(minReadySeconds > 0 ? { minReadySeconds } : {}),
    progressDeadlineSeconds,
    revisionHistoryLimit: 10,
    template,
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: deploymentMetadata(resource, component, template),
    spec,
  };
}
