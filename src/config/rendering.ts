import type { RenderConfig } from '../contract/render/render-config.ts';
import { compareQuantities } from '../domain/kubernetes/quantity.ts';
import { runsBuilds } from './builds.ts';
import { ConfigError } from './config-error.ts';
import type { Settings } from './settings.ts';

/**
 * The rendering configuration without the Kubernetes version, which is read from the cluster.
 * @throws ConfigError
 */
export function renderingOf(settings: Settings): Omit<RenderConfig, 'kubernetesVersion'> {
  const cloud = settings.BERTH_HOSTING === 'cloud';
  return {
    hosting: settings.BERTH_HOSTING,
    podSecurity: cloud ? 'restricted' : 'baseline',
    databaseImage: settings.BERTH_DATABASE_IMAGE,
    cacheImage: settings.BERTH_CACHE_IMAGE,
    registry: settings.BERTH_REGISTRY ?? null,
    healthPath: settings.BERTH_HEALTH_PATH ?? null,
    progressDeadlineSeconds: settings.BERTH_PROGRESS_DEADLINE_SECONDS,
    minReadySeconds: settings.BERTH_MIN_READY_SECONDS,
    routing: {
      mode: settings.BERTH_ROUTING,
      className: settings.BERTH_ROUTING_CLASS ?? null,
      tlsIssuer: settings.BERTH_TLS_ISSUER ?? null,
    },
    otlpEndpoint: settings.BERTH_OTLP_ENDPOINT ?? null,
    otlpProtocol: settings.BERTH_OTLP_PROTOCOL,
    otlpHeadersSecret: settings.BERTH_OTLP_HEADERS_SECRET ?? null,
    networkIsolation: isolationOf(settings, cloud),
    closedNetworks: settings.BERTH_CLOSED_NETWORKS,
    ...(settings.BERTH_OPEN_NETWORKS.length === 0 ? {} : { openNetworks: settings.BERTH_OPEN_NETWORKS }),
    buildNamespace: settings.BERTH_BUILD_NAMESPACE,
    builds: runsBuilds(settings),
    ephemeralStorage: ephemeralStorageOf(settings),
    storageClass: settings.BERTH_STORAGE_CLASS ?? null,
  };
}

/** Kubernetes rejects a pod whose request is above its limit. */
function ephemeralStorageOf({
  BERTH_EPHEMERAL_STORAGE_REQUEST: request,
  BERTH_EPHEMERAL_STORAGE_LIMIT: limit,
}: Settings): NonNullable<RenderConfig['ephemeralStorage']> {
  if (request === null || limit === null || compareQuantities(request, limit) <= 0) return { request, limit };
  throw new ConfigError([
    `BERTH_EPHEMERAL_STORAGE_REQUEST: ${request} is more than BERTH_EPHEMERAL_STORAGE_LIMIT (${limit}); next: lower it, ` +
      'or raise the limit',
  ]);
}

/**
 * In cloud mode, the namespaces of tenants deny all traffic, so an app without its own policies could not reach any
 * network.
 */
function isolationOf({ BERTH_NETWORK_ISOLATION: isolated }: Settings, cloud: boolean): boolean {
  if (!cloud || isolated !== false) return isolated ?? cloud;
  throw new ConfigError([
    'BERTH_NETWORK_ISOLATION: must not be false with BERTH_HOSTING=cloud, because the namespaces of tenants deny ' +
      'all traffic that no policy of an app allows; next: unset it',
  ]);
}
