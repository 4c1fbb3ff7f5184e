import type { V1IngressSpec } from '@kubernetes/client-node';
import type { RenderConfig } from '../../contract/render/render-config.ts';
import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import { SERVICE_PORT } from '../addresses.ts';
import type { KubeMetadata, KubeObject } from '../desired-object.ts';
import { metadata } from '../labels.ts';
import { app, tlsSecretName } from '../names.ts';
import { ownerReferences } from '../owner.ts';
import { appUrl } from './app-url.ts';

const CERT_MANAGER_ISSUER = 'cert-manager.io/cluster-issuer';

function routeMetadata(resource: ManagedDeployment): KubeMetadata {
  return { ...metadata(resource, app(resource), 'app'), ...ownerReferences(resource) };
}

/** The path of the URL without a trailing slash. `/` means the whole host. */
export function pathPrefix(url: URL): string {
  return url.pathname.replace(/\/+$/, '') || '/';
}

function ingress(resource: ManagedDeployment, url: URL, config: RenderConfig): KubeObject {
  const { className, tlsIssuer } = config.routing;
  const backend = { service: { name: app(resource), port: { number: SERVICE_PORT } } };
  const spec: V1IngressSpec = {
    ...(className === null ? {} : { ingressClassName: className }),
    rules: [
      { host: url.hostname, http: { paths: [{ path: pathPrefix(url), pathType: 'Prefix', backend }] } },
    ],
    // Without an issuer, the ingress controller uses its own certificate.
    tls: [{ hosts: [url.hostname], ...(tlsIssuer === null ? {} : { secretName: tlsSecretName(resource) }) }],
  };
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: {
      ...routeMetadata(resource),
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
function httpRoute(resource: ManagedDeployment, url: URL, config: RenderConfig): KubeObject {
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: routeMetadata(resource),
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

/**
 * Ingress or HTTPRoute from the URL of the app to its Service. The result is empty without a URL, or if Berth does not
 * create routes.
 */
export function route(resource: ManagedDeployment, config: RenderConfig): KubeObject[] {
  const address = appUrl(resource, config);
  if (address === null || !URL.canParse(address)) return [];
  const url = new URL(address);
  const make = routeKind(config) === 'HTTPRoute' ? httpRoute : ingress;
  return [make(resource, url, config)];
}
