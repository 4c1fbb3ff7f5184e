import { z } from 'zod';
import { OTLP_PROTOCOLS } from '../contract/render/render-config.ts';
import { PLATFORM_LISTENER_ID } from '../domain/deployment/source.ts';
import { dnsSubdomainSchema } from '../domain/kubernetes/names.ts';
import { CONTAINER_DEFAULTS } from '../domain/resource-spec/container-defaults.ts';
import { CLUSTER, HUB, type Setting, secret, setting } from './setting.ts';
import {
  baseUrl,
  bytes,
  count,
  csv,
  flag,
  nameServers,
  networks,
  optional,
  providerNetworks,
} from './value-schemas.ts';

/** Settings of the listener and the operator. */
export const CLUSTER_SETTINGS = {
  BERTH_HUB_URL: setting(baseUrl, 'URL of the API, for a listener in its own process', ['listener']),
  BERTH_HUB_CA: setting(
    optional,
    'PEM file of the certificate authorities for an https hub. The authorities of this file replace the authorities ' +
      'that Node trusts',
    ['listener'],
  ),
  BERTH_LISTENER_ID: setting(z.uuid().default(PLATFORM_LISTENER_ID), 'id of this listener', ['listener']),
  BERTH_LISTENER_KEY: secret(optional, 'API key with the scope listeners:run', ['api', 'listener']),
  BERTH_KUBECONFIG: setting(
    optional,
    'kubeconfig file. Unset: KUBECONFIG, otherwise the ServiceAccount of the pod',
    CLUSTER,
  ),
  BERTH_LISTENER_KUBECONFIG: setting(optional, 'kubeconfig file for the listener only', ['listener']),
  BERTH_OPERATOR_KUBECONFIG: setting(optional, 'kubeconfig file for the operator only', ['operator']),
  KUBECONFIG: setting(optional, 'kubeconfig file, as for kubectl', CLUSTER),
  BERTH_SERVICE_ACCOUNT_PATH: setting(
    z.string().default('/var/run/secrets/kubernetes.io/serviceaccount'),
    'folder of the ServiceAccount of the pod, with the files token, ca.crt and namespace',
    CLUSTER,
  ),
  BERTH_NAMESPACE: setting(
    optional,
    'namespace of Berth itself, which contains the leases and no deployments. Unset: the namespace of the pod if it ' +
      'has a ServiceAccount, otherwise berth-system',
    ['api', ...CLUSTER],
  ),
  BERTH_NAMESPACES: setting(csv, 'namespaces that Berth manages, comma-separated. Unset: all', CLUSTER),
  BERTH_DATABASE_IMAGE: setting(
    z.string().default('docker.io/library/postgres:18'),
    'image of new databases',
    CLUSTER,
  ),
  BERTH_CACHE_IMAGE: setting(z.string().default('docker.io/valkey/valkey:8'), 'image of caches', CLUSTER),
  BERTH_HEALTH_PATH: setting(
    optional,
    'HTTP path of the probes of the api component. Unset: TCP probes',
    CLUSTER,
  ),
  BERTH_PROGRESS_DEADLINE_SECONDS: setting(count(600), 'seconds after which a rollout fails', CLUSTER),
  BERTH_MIN_READY_SECONDS: setting(
    count(10, 0),
    'seconds that a pod must be ready before it counts as available and its revision as active. 0: at once',
    CLUSTER,
  ),
  BERTH_ROUTING: setting(
    z.enum(['none', 'ingress', 'gateway']).default('none'),
    'how custom_url is routed: none, ingress or gateway',
    CLUSTER,
  ),
  BERTH_ROUTING_CLASS: setting(optional, 'IngressClass, or namespace/name of the Gateway', CLUSTER),
  BERTH_TLS_ISSUER: setting(
    optional,
    'cert-manager ClusterIssuer for routes. Isolated apps need DNS-01 (docs/compatibility.md)',
    CLUSTER,
  ),
  BERTH_DNS_SERVERS: setting(
    nameServers,
    'DNS servers for the lookup of domains of deployments and of their TXT records, as address[:port], comma-separated. ' +
      'Unset: those of the machine',
    ['operator'],
  ),
  BERTH_OTLP_ENDPOINT: setting(
    baseUrl,
    'OTLP endpoint for the traces of applications (docs/tracing.md)',
    CLUSTER,
  ),
  BERTH_OTLP_PROTOCOL: setting(
    z.enum(OTLP_PROTOCOLS).default('http/protobuf'),
    'protocol of the OTLP endpoint: http/protobuf, http/json or grpc',
    CLUSTER,
  ),
  BERTH_OTLP_HEADERS_SECRET: setting(
    dnsSubdomainSchema.optional(),
    'name of a Secret in each namespace of deployments. Pods send the value of the key OTEL_EXPORTER_OTLP_HEADERS of ' +
      'this Secret to the OTLP endpoint',
    CLUSTER,
  ),
  BERTH_EPHEMERAL_STORAGE_REQUEST: setting(
    bytes(CONTAINER_DEFAULTS.requests['ephemeral-storage']),
    'ephemeral storage that containers of apps, databases and caches request, such as 64Mi. none: no request. Running ' +
      'pods change at their next revision',
    CLUSTER,
  ),
  BERTH_EPHEMERAL_STORAGE_LIMIT: setting(
    bytes(CONTAINER_DEFAULTS.limits['ephemeral-storage']),
    'limit of their ephemeral storage. The limit of an app is higher by the sizeLimit of its emptyDir volumes. none: no ' +
      'limit. Running pods change at their next revision',
    CLUSTER,
  ),
  BERTH_STORAGE_CLASS: setting(optional, 'StorageClass of database volumes', CLUSTER),
  BERTH_NETWORK_ISOLATION: setting(
    flag,
    'true: create a default-deny NetworkPolicy for each app. Unset: true in cloud mode, where false is not allowed',
    CLUSTER,
  ),
  BERTH_CLOSED_NETWORKS: setting(
    networks,
    'networks of pods, Services and nodes with public addresses, comma-separated. Isolated apps and builds cannot reach them. They cannot reach private networks either. Berth itself calls no git hosts and registries in them, except where it may call private addresses',
    [...HUB, ...CLUSTER],
  ),
  BERTH_OPEN_NETWORKS: setting(
    providerNetworks,
    'networks of services of the cloud provider that isolated apps and builds may reach, comma-separated. Each ' +
      'network must be within a network that is blocked by default: 161.26.0.0/16 and 166.8.0.0/14 (IBM Cloud), ' +
      '168.63.129.16/32 (Azure)',
    CLUSTER,
  ),
} as const satisfies Record<string, Setting>;
