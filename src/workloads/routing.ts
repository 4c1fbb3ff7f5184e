import type { V1IngressSpec } from '@kubernetes/client-node';
import type { ManagedDeployment } from '../contract/managed-deployment.ts';
import type { RenderConfig } from '../contract/render-config.ts';
import { SERVICE_PORT } from './addresses.ts';
import { appUrl } from './app-url.ts';
import type { KubeMetadata, KubeObject } from './desired-object.ts';
import { metadata } from './labels.ts';
import { app, tlsSecretName } from './names.ts';
import { ownerReferences } from './owner.ts';

const CERT_MANAGER_ISSUER = 'cert-manager.io/cluster-issuer';

function routeMetadata(resource: ManagedDeployment): KubeMetadata {
  return { ...metadata(resource, app(resource), 'app'), ...ownerReferences(resource) };
}

/** The URL's path without a trailing slash: `/` for the whole host. */
function pathPrefix(url: URL): string {
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
    // Without an issuer the ingress controller answers with its own certificate.
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

/** TLS ends at the Gateway, whose listener holds the certificate. */
function httpRoute(resource: ManagedDeployment, url: URL, config: RenderConfig): KubeObject {
  const [first = '', second] = (config.routing.className ?? '').split('/');
  const parent = second === undefined ? { name: first } : { namespace: first, name: second };
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: routeMetadata(resource),
    spec: {
      parentRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', ...parent }],
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

/** Ingress or HTTPRoute from the app's URL to its Service; none where there is no URL or routing is not Berth's. */
export function route(resource: ManagedDeployment, config: RenderConfig): KubeObject[] {
  const address = appUrl(resource, config);
  if (address === null || !URL.canParse(address)) return [];
  const url = new URL(address);
  return [
    config.routing.mode === 'gateway' ? httpRoute(resource, url, config) : ingress(resource, url, config),
  ];
}
