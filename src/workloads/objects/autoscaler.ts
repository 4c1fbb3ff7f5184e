import type { V2HorizontalPodAutoscalerSpec, V2MetricSpec } from '@kubernetes/client-node';
import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import { APP_CONTAINER_NAME } from '../../domain/deployment/reserved.ts';
import type { Component } from '../../domain/resource-spec/components.ts';
import type { KubeObject } from '../desired-object.ts';
import { metadata } from '../labels.ts';
import { componentName } from '../names.ts';
import { ownerReferences } from '../owner.ts';

const TARGET_PERCENT = 75;

/**
 * The target is the utilization of the app container only, because a metric over all containers fails if one sidecar
 * has no request.
 */
function metric(resource: 'cpu' | 'memory'): V2MetricSpec {
  return {
    type: 'ContainerResource',
    containerResource: {
      name: resource,
      container: APP_CONTAINER_NAME,
      target: { type: 'Utilization', averageUtilization: TARGET_PERCENT },
    },
  };
}

/** The autoscaler of a component. The autoscaler scales up fast and down slowly. */
export function autoscaler(
  resource: ManagedDeployment,
  component: Component,
  scale: { min: number; max: number },
): KubeObject {
  const name = componentName(resource, component);
  const spec: V2HorizontalPodAutoscalerSpec = {
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name },
    minReplicas: scale.min,
    maxReplicas: scale.max,
    metrics: [metric('cpu'), metric('memory')],
    behavior: {
      scaleUp: {
        stabilizationWindowSeconds: 0,
        selectPolicy: 'Max',
        policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
      },
      scaleDown: {
        stabilizationWindowSeconds: 1800,
        selectPolicy: 'Max',
        policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
      },
    },
  };
  return {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { ...metadata(resource, name, component), ...ownerReferences(resource) },
    spec,
  };
}
