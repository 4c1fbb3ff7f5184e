import type { V1LabelSelector } from '@kubernetes/client-node';
import type { RenderConfig } from '../../contract/render/render-config.ts';
import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import { LABELS } from '../../contract/resource/names.ts';
import { publicNetworks } from '../../domain/net/networks.ts';
import { COMPONENTS } from '../../domain/resource-spec/components.ts';
import { CACHE_PORT, DATABASE_PORT } from '../addresses.ts';
import type { KubeObject } from '../desired-object.ts';
import {
  deploymentId,
  type LabelledComponent,
  labelValue,
  metadata,
  selectorLabels,
  TASK_COMPONENT,
} from '../labels.ts';
import { app, cacheName, databaseName } from '../names.ts';
import { ownerReferences } from '../owner.ts';

/** JSON form. The type of the client library has `_from` instead of `from`. */
interface NetworkPolicySpec {
  podSelector: V1LabelSelector;
  policyTypes: ('Ingress' | 'Egress')[];
  ingress?: { from?: Peer[]; ports?: Port[] }[];
  egress?: { to?: Peer[]; ports?: Port[] }[];
}
interface Peer {
  podSelector?: V1LabelSelector;
  namespaceSelector?: V1LabelSelector;
  ipBlock?: { cidr: string; except?: string[] };
}
interface Port {
  protocol: 'TCP' | 'UDP';
  port: number;
}

const tcp = (port: number): Port => ({ protocol: 'TCP', port });

/**
 * DNS is allowed to any address, because the server may be a pod, a node-local cache or a separate address. Pods of
 * other tenants do not accept this traffic.
 */
const DNS: Port[] = [{ protocol: 'UDP', port: 53 }, tcp(53)];
/** Port of DNS pods that listen on an unprivileged port, as in OpenShift. */
const DNS_OF_PODS: Port[] = [{ protocol: 'UDP', port: 5353 }, tcp(5353)];
/**
 * Labels of the namespaces of ingress controllers, with the ports of their pods. The external address of an app leads
 * to the pods of the ingress controller, because for a policy, the address of a load balancer may be that of its pods.
 * Other ports are not opened, because a webhook of the controller may listen there and trust every client.
 */
const INGRESS_SOURCES: readonly { readonly label: string; readonly ports: Port[] }[] = [
  { label: 'true', ports: [tcp(80), tcp(443)] },
  { label: 'unprivileged', ports: [tcp(8000), tcp(8080), tcp(8443)] },
];

/** The pods that run the image of the app: its components and its tasks. */
function appPods(resource: ManagedDeployment): V1LabelSelector {
  return {
    matchLabels: { [LABELS.deploymentId]: labelValue(deploymentId(resource)) },
    matchExpressions: [{ key: LABELS.component, operator: 'In', values: [...COMPONENTS, TASK_COMPONENT] }],
  };
}

function podsOf(resource: ManagedDeployment, component: LabelledComponent): V1LabelSelector {
  return { matchLabels: selectorLabels(resource, component) };
}

function policy(
  resource: ManagedDeployment,
  name: string,
  component: LabelledComponent,
  spec: NetworkPolicySpec,
): KubeObject {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { ...metadata(resource, name, component), ...ownerReferences(resource) },
    spec,
  };
}

/** Only pods of this app can reach a data service. With isolation, the data service itself has no egress. */
function dataServicePolicy(
  resource: ManagedDeployment,
  config: RenderConfig,
  service: { name: string; component: 'database' | 'cache'; port: number },
): KubeObject {
  return policy(resource, service.name, service.component, {
    podSelector: podsOf(resource, service.component),
    policyTypes: config.networkIsolation ? ['Ingress', 'Egress'] : ['Ingress'],
    ingress: [{ from: [{ podSelector: appPods(resource) }], ports: [tcp(service.port)] }],
  });
}

/** The database's NetworkPolicy. */
export function databasePolicy(resource: ManagedDeployment, config: RenderConfig): KubeObject {
  const service = { name: databaseName(resource), component: 'database', port: DATABASE_PORT } as const;
  return dataServicePolicy(resource, config, service);
}

/** The cache's NetworkPolicy. */
export function cachePolicy(resource: ManagedDeployment, config: RenderConfig): KubeObject {
  const service = { name: cacheName(resource), component: 'cache', port: CACHE_PORT } as const;
  return dataServicePolicy(resource, config, service);
}

/**
 * The peers of a collector with a private address. For a Service, the peers are the pods of its namespace. For an IPv4
 * address, the peer is this address.
 */
function collectorPeer(host: string): Peer | null {
  if (/^\d+(\.\d+){3}$/.test(host)) return { ipBlock: { cidr: `${host}/32` } };
  // The namespace in `service.namespace` and `service.namespace.svc…`. A public name with two labels matches no
  // existing namespace.
  const [, namespace, svc] = host.split('.');
  if (namespace === undefined || (svc !== undefined && svc !== 'svc')) return null;
  return { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } } };
}

/** Egress to the collector. The port of the collector's pods must be the port of the endpoint. */
function collectorRules({ otlpEndpoint }: RenderConfig): { to: Peer[]; ports: Port[] }[] {
  const url = otlpEndpoint === null ? null : URL.parse(otlpEndpoint);
  const peer = url === null ? null : collectorPeer(url.hostname);
  if (url === null || peer === null) return [];
  const standard = url.protocol === 'https:' ? 443 : 80;
  return [{ to: [peer], ports: [tcp(url.port === '' ? standard : Number(url.port))] }];
}

/** The ingress controller may be in any namespace, except those of tenants and of builds. */
function platformNamespaces({ buildNamespace }: RenderConfig): V1LabelSelector {
  const ofNoTenant = { key: LABELS.tenantId, operator: 'DoesNotExist' };
  if (buildNamespace === undefined) return { matchExpressions: [ofNoTenant] };
  const notOfBuilds = { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: [buildNamespace] };
  return { matchExpressions: [ofNoTenant, notOfBuilds] };
}

/**
 * Rules for an isolated app in a default-deny namespace. The rules allow traffic to the app's own pods and data
 * services, DNS and the internet.
 */
function isolatedAppSpec(
  resource: ManagedDeployment,
  config: RenderConfig,
  ports: readonly number[],
): NetworkPolicySpec {
  const own = { podSelector: appPods(resource) };
  return {
    podSelector: appPods(resource),
    policyTypes: ['Ingress', 'Egress'],
    ingress: [
      { from: [own] },
      {
        from: [{ namespaceSelector: platformNamespaces(config) }],
        ports: ports.map(tcp),
      },
    ],
    egress: [
      { to: [own] },
      { to: [{ podSelector: podsOf(resource, 'database') }], ports: [tcp(DATABASE_PORT)] },
      { to: [{ podSelector: podsOf(resource, 'cache') }], ports: [tcp(CACHE_PORT)] },
      { ports: DNS },
      { to: [{ namespaceSelector: {} }], ports: DNS_OF_PODS },
      ...INGRESS_SOURCES.map(({ label, ports }) => ({
        to: [{ namespaceSelector: { matchLabels: { 'berth.dev/ingress': label } } }],
        ports,
      })),
      {
        // The networks of the internet, without other tenants, nodes and metadata services.
        to: publicNetworks(config.closedNetworks ?? [], config.openNetworks ?? []).map((ipBlock) => ({
          ipBlock,
        })),
      },
      ...collectorRules(config),
    ],
  };
}

/**
 * The NetworkPolicy of the app pods, if apps are isolated. For apps that are not isolated, the rules of the namespace
 * apply.
 * @param ports the ports on which app pods serve HTTP, at least one
 */
export function appPolicy(
  resource: ManagedDeployment,
  config: RenderConfig,
  ports: readonly number[],
): KubeObject[] {
  return config.networkIsolation
    ? [policy(resource, app(resource), 'app', isolatedAppSpec(resource, config, ports))]
    : [];
}
