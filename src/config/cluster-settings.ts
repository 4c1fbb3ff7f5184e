import { z } from 'zod';
import { OTLP_PROTOCOLS } from '../contract/render-config.ts';
import { dnsSubdomainSchema } from '../domain/kubernetes/names.ts';
import { PLATFORM_LISTENER_ID } from '../domain/source.ts';
import { CLUSTER, type Setting, secret, setting } from './setting.ts';
import { baseUrl, count, csv, flag, networks, optional, providerNetworks } from './value-schemas.ts';

/** Settings of the cluster's side: of the listener and the operator. */
export const CLUSTER_SETTINGS = {
  BERTH_HUB_URL: setting(baseUrl, 'URL of the API (listener in a process of its own)', ['listener']),
  BERTH_HUB_CA: setting(
    optional,
    'PEM file of the certificates that vouch for an https hub, instead of those that Node trusts',
    ['listener'],
  ),
  BERTH_LISTENER_ID: setting(z.uuid().default(PLATFORM_LISTENER_ID), 'which listener this is', ['listener']),
  BERTH_LISTENER_KEY: secret(optional, 'API key with the scope listeners:run', ['api', 'listener']),
  BERTH_KUBECONFIG: setting(optional, 'kubeconfig; unset: KUBECONFIG, else the pod’s ServiceAccount', [
    ...CLUSTER,
    'builder',
  ]),
  BERTH_LISTENER_KUBECONFIG: setting(optional, 'kubeconfig of the listener alone', ['listener']),
  BERTH_OPERATOR_KUBECONFIG: setting(optional, 'kubeconfig of the operator alone', ['operator']),
  KUBECONFIG: setting(optional, 'kubeconfig, as for kubectl', [...CLUSTER, 'builder']),
  BERTH_NAMESPACE: setting(
    optional,
    'Berth’s own namespace: leases are kept there, and no deployment; unset: the pod’s, where it has a ServiceAccount, else berth-system',
    ['api', ...CLUSTER],
  ),
  BERTH_NAMESPACES: setting(csv, 'namespaces to work in, comma-separated; unset: all', CLUSTER),
  BERTH_DATABASE_IMAGE: setting(
    z.string().default('docker.io/library/postgres:18'),
    'image of new databases',
    CLUSTER,
  ),
  BERTH_CACHE_IMAGE: setting(z.string().default('docker.io/valkey/valkey:8'), 'image of caches', CLUSTER),
  BERTH_HEALTH_PATH: setting(optional, 'HTTP path of the api probes; unset: TCP', CLUSTER),
  BERTH_PROGRESS_DEADLINE_SECONDS: setting(count(600), 'a rollout that takes longer has failed', CLUSTER),
  BERTH_MIN_READY_SECONDS: setting(
    count(10, 0),
    'a pod is available, and its revision active, once it has been ready for so long; 0: at once',
    CLUSTER,
  ),
  BERTH_ROUTING: setting(
    z.enum(['none', 'ingress', 'gateway']).default('none'),
    'how custom_url is routed',
    CLUSTER,
  ),
  BERTH_ROUTING_CLASS: setting(optional, 'IngressClass, or namespace/name of the Gateway', CLUSTER),
  BERTH_TLS_ISSUER: setting(
    optional,
    'cert-manager ClusterIssuer for routes; for isolated apps by DNS-01 (docs/compatibility.md)',
    CLUSTER,
  ),
  BERTH_OTLP_ENDPOINT: setting(
    baseUrl,
    'OTLP endpoint that pods report traces to (docs/tracing.md)',
    CLUSTER,
  ),
  BERTH_OTLP_PROTOCOL: setting(
    z.enum(OTLP_PROTOCOLS).default('http/protobuf'),
    'what that endpoint speaks: http/protobuf, http/json or grpc',
    CLUSTER,
  ),
  BERTH_OTLP_HEADERS_SECRET: setting(
    dnsSubdomainSchema.optional(),
    'Secret in each namespace of deployments whose key OTEL_EXPORTER_OTLP_HEADERS the pods send along',
    CLUSTER,
  ),
  BERTH_STORAGE_CLASS: setting(optional, 'StorageClass of database volumes', CLUSTER),
  BERTH_NETWORK_ISOLATION: setting(
    flag,
    'true: default-deny NetworkPolicy for each app; unset: true in cloud, where it cannot be false',
    CLUSTER,
  ),
  BERTH_CLOSED_NETWORKS: setting(
    networks,
    'networks of pods, Services and nodes that are at public addresses, comma-separated: isolated apps, and builds, reach none of them, nor private ones',
    CLUSTER,
  ),
  BERTH_OPEN_NETWORKS: setting(
    providerNetworks,
    'networks of the cloud provider’s own services that isolated apps and builds may reach, comma-separated, of those that are closed by default: within 161.26.0.0/16 and 166.8.0.0/14 (IBM Cloud) and 168.63.129.16/32 (Azure)',
    CLUSTER,
  ),
} as const satisfies Record<string, Setting>;
