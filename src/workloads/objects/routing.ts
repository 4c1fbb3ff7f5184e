import type { V1IngressSpec } from '@kubernetes/client-node';
import type { RenderConfig } from '../../contract/render/render-config.ts';
import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import { hostHash } from '../../contract/resource/names.ts';
import { SERVICE_PORT } from '../addresses.ts';
import type { KubeMetadata, KubeObject } from '../desired-object.ts';
import { metadata } from '../labels.ts';
import { app, hostRouteName, hostTlsSecretName, tlsSecretName } from '../names.ts';
import { ownerReferences } from '../owner.ts';
import { appUrl, wantedDomains } from './app-url.ts';

const CERT_MANAGER_ISSUER = 'cert-manager.io/cluster-issuer';

/** An address that a route leads to the app: the URL, or an additional host. */
interface Address {
  readonly url: URL;
  /** Name of the route object. */
  readonly name: string;
  /** Name of the Secret for the certificate. */
  readonly tlsSecret: string;
}

function routeMetadata(resource: ManagedDeployment, { name }: Address): KubeMetadata {
  return { ...metadata(resource, name, 'app'), ...ownerReferences(resource) };
}

/** The path of the URL without a trailing slash. `/` means the whole host. */
export function pathPrefix(url: URL): string {
  return url.pathname.replace(/\/+$/, '') || '/';
}

function ingress(resource: ManagedDeployment, address: Address, config: RenderConfig): KubeObject {
  const { url, tlsSecret } = address;
  const { className, tlsIssuer } = config.routing;
  const backend = { service: { name: app(resource), port: { number: SERVICE_PORT } } };
  const spec: V1IngressSpec = {
    ...(className === null ? {} : { ingressClassName: className }),
    rules: [
      { host: url.hostname, http: { paths: [{ path: pathPrefix(url), pathType: 'Prefix', backend }] } },
    ],
    // Without an issuer, the ingress controller uses its own certificate.
    tls: [{ hosts: [url.hostname], ...(tlsIssuer === null ? {} : { secretName: tlsSecret }) }],
  };
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: {
      ...routeMetadata(resource, address),
      ...(tlsIssuer === null ? {} : { annotations: { [CERT_MANAGER_ISSUER]: tlsIssuer } }),
    },
    spec,
  };
}

/** A Gateway. Without a namespace, the Gateway is in the namespace of the route. */
export interface ParentRef {
  readonly name: string;
  readonly namespace?: string;
}

/** The Gateway that routes are attached to. */
export function gatewayRef({ routing }: RenderConfig): ParentRef {
  const [first = '', second] = (routing.className ?? '').split('/');
  return second === undefined ? { name: first } : { namespace: first, name: second };
}

/** The Gateway terminates TLS, with the certificate of its listener. */
function httpRoute(resource: ManagedDeployment, address: Address, config: RenderConfig): KubeObject {
  const { url } = address;
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: routeMetadata(resource, address),
    spec: {
      parentRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', ...gatewayRef(config) }],
      hostnames: [url.hostname],
      rules: [
        {
          matches: [{ path: { type: 'PathPrefix', value: pathPrefix(url) } }],
          backendRefs: [{ group: '', kind: 'Service', name: app(resource), port: SERVICE_PORT, weight: 1 }],
        },
      ],
    },
  };
}

/** Kind of route objects. null: Berth creates no routes. */
export function routeKind({ routing }: RenderConfig): 'Ingress' | 'HTTPRoute' | null {
  if (routing.mode === 'none') return null;
  return routing.mode === 'gateway' ? 'HTTPRoute' : 'Ingress';
}

/** The addresses of the app. An additional host leads to the whole app, without the path of the URL. */
function addresses(resource: ManagedDeployment, config: RenderConfig): Address[] {
  const address = appUrl(resource, config);
  const ofUrl = address === null || !URL.canParse(address) ? [] : [new URL(address)];
  return [
    ...ofUrl.map((url) => ({ url, name: app(resource), tlsSecret: tlsSecretName(resource) })),
    ...wantedDomains(resource.spec).map((host) => ({
      url: new URL(`https://${host}`),
      name: hostRouteName(resource, host),
      tlsSecret: hostTlsSecretName(resource, hostHash(host)),
    })),
  ];
}

/**
 * An Ingress or HTTPRoute for each address of the app, to its Service. Each address has an object and a certificate of its own,
 * so that an address without DNS, certificate or permission does not affect the others. The result is empty without an address,
 * or if Berth does not create routes.
 */
export function routes(resource: ManagedDeployment, config: RenderConfig): KubeObject[] {
  const kind = routeKind(config);
  if (kind === null) return [];
  const make = kind === 'HTTPRoute' ? httpRoute : ingress;
  return addresses(resource, config).map((address) => make(resource, address, config));
}
