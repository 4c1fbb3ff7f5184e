import type { V1Container, V1DeploymentSpec } from '@kubernetes/client-node';
import type { RenderConfig } from '../../contract/render/render-config.ts';
import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import { CACHE_PORT, PORT_NAMES } from '../addresses.ts';
import type { KubeObject } from '../desired-object.ts';
import { commonLabels, metadata, selectorLabels } from '../labels.ts';
import { cacheName } from '../names.ts';
import { ownerReferences } from '../owner.ts';
import { containerResources, withEphemeralStorage } from './container-resources.ts';
import { OWN_CONTAINER_SECURITY } from './security.ts';
import { clusterService } from './service.ts';

type CacheConfig = Pick<RenderConfig, 'ephemeralStorage'>;

/** User of the official Valkey and Redis images (Debian). */
const CACHE_USER = 999;

/**
 * Options of the cache, with which nothing is written to disk. `volatile-lru` evicts only keys with a time to live, so
 * that an app with a task queue in the cache never loses a task silently.
 */
function cacheArguments(maxMemoryMb: number): string[] {
  return [
    '--save',
    '',
    '--appendonly',
    'no',
    '--maxmemory',
    `${maxMemoryMb}mb`,
    '--maxmemory-policy',
    'volatile-lru',
  ];
}

function cacheContainer(resource: ManagedDeployment, image: string, config: CacheConfig): V1Container {
  const { resources, maxMemoryMb } = resource.spec.cache;
  const probe = { tcpSocket: { port: PORT_NAMES.cache }, timeoutSeconds: 5 };
  return {
    name: 'cache',
    image,
    // The arguments are only options, because the entry point of the image adds valkey-server or redis-server.
    args: cacheArguments(maxMemoryMb),
    ports: [{ name: PORT_NAMES.cache, containerPort: CACHE_PORT, protocol: 'TCP' }],
    startupProbe: { ...probe, periodSeconds: 1, failureThreshold: 60 },
    readinessProbe: { ...probe, periodSeconds: 5, failureThreshold: 3 },
    livenessProbe: { ...probe, periodSeconds: 10, failureThreshold: 6 },
    ...containerResources(withEphemeralStorage(resources, config)),
    volumeMounts: [{ name: 'data', mountPath: '/data' }],
    securityContext: OWN_CONTAINER_SECURITY,
  };
}

/** The cache, which keeps its data only in memory. The cache has one pod, never two at the same time (Recreate). */
export function cacheDeployment(resource: ManagedDeployment, image: string, config: CacheConfig): KubeObject {
  const spec: V1DeploymentSpec = {
    selector: { matchLabels: selectorLabels(resource, 'cache') },
    strategy: { type: 'Recreate' },
    revisionHistoryLimit: 1,
    template: {
      metadata: { labels: commonLabels(resource, 'cache') },
      spec: {
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: CACHE_USER,
          runAsGroup: CACHE_USER,
          fsGroup: CACHE_USER,
          seccompProfile: { type: 'RuntimeDefault' },
        },
        containers: [cacheContainer(resource, image, config)],
        // The working directory of the image, which remains empty, because nothing is saved.
        volumes: [{ name: 'data', emptyDir: {} }],
        terminationGracePeriodSeconds: 30,
      },
    },
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { ...metadata(resource, cacheName(resource), 'cache'), ...ownerReferences(resource) },
    spec,
  };
}

/** The Service of the cache. */
export function cacheService(resource: ManagedDeployment): KubeObject {
  const port = { name: PORT_NAMES.cache, port: CACHE_PORT, targetPort: PORT_NAMES.cache };
  return clusterService(resource, cacheName(resource), 'cache', 'cache', port);
}
