import type { V1PodDisruptionBudgetSpec } from '@kubernetes/client-node';
import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import type { Component } from '../../domain/resource-spec/components.ts';
import type { KubeObject } from '../desired-object.ts';
import { metadata, selectorLabels } from '../labels.ts';
import { componentName } from '../names.ts';
import { ownerReferences } from '../owner.ts';

/** Allows the eviction of one pod of the component at a time. Unhealthy pods can always be evicted, so that nodes can be drained. */
export function disruptionBudget(resource: ManagedDeployment, component: Component): KubeObject {
  const spec: V1PodDisruptionBudgetSpec = {
    maxUnavailable: 1,
    unhealthyPodEvictionPolicy: 'AlwaysAllow',
    selector: { matchLabels: selectorLabels(resource, component) },
  };
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: {
      ...metadata(resource, componentName(resource, component), component),
      ...ownerReferences(resource),
    },
    spec,
  };
}
