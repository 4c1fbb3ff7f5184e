import type { RenderConfig } from '../contract/render-config.ts';
import type { Settings } from './settings.ts';

/** The rendering configuration but for the cluster's version, which only the cluster knows. */
export function renderingOf(settings: Settings): Omit<RenderConfig, 'kubernetesVersion'> {
  const cloud = settings.BERTH_HOSTING === 'cloud';
  return {
    hosting: settings.BERTH_HOSTING,
    podSecurity: cloud ? 'restricted' : 'baseline',
    databaseImage: settings.BERTH_DATABASE_IMAGE,
    cacheImage: settings.BERTH_CACHE_IMAGE,
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
    networkIsolation: settings.BERTH_NETWORK_ISOLATION ?? cloud,
    storageClass: settings.BERTH_STORAGE_CLASS ?? null,
  };
}
