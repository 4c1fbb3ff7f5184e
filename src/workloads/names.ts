import type { ManagedDeployment } from '../contract/resource/managed-deployment.ts';
import { hostHash } from '../contract/resource/names.ts';
import type { Component } from '../domain/resource-spec/components.ts';

/** Base name of every object of the deployment: the name of the custom resource. */
export function app(resource: ManagedDeployment): string {
  return resource.metadata.name;
}

/**
 * ServiceAccount of the app pods, which is the specified account, otherwise an account that Berth creates. Kubernetes
 * reads a blank name as absent.
 */
export function serviceAccountName(resource: ManagedDeployment): string {
  return resource.spec.podTemplate.serviceAccountName || app(resource);
}

/** Name of Deployment, autoscaler and disruption budget of a component. */
export function componentName(resource: ManagedDeployment, component: Component): string {
  return `${app(resource)}-${component}`;
}

/** Name of StatefulSet, Service, volume claim, credentials and NetworkPolicy of the database. */
export function databaseName(resource: { readonly metadata: { readonly name: string } }): string {
  return `${resource.metadata.name}-db`;
}

/** Name of the copy of the database credentials, from which they are restored with the same password. */
export function credentialsCopyName(resource: { readonly metadata: { readonly name: string } }): string {
  return `${databaseName(resource)}-copy`;
}

/** Name of Deployment, Service and NetworkPolicy of the cache. */
export function cacheName(resource: ManagedDeployment): string {
  return `${app(resource)}-cache`;
}

/** Name of the Secret with the TLS certificate, which the issuer writes. */
export function tlsSecretName(resource: { readonly metadata: { readonly name: string } }): string {
  return `${resource.metadata.name}-tls`;
}

/** Name of the route of an additional host. */
export function hostRouteName(resource: ManagedDeployment, host: string): string {
  return `${app(resource)}-host-${hostHash(host)}`;
}

/**
 * Name of the Secret with the certificate of an additional host, and of its cert-manager Certificate.
 * @param hash `hostHash` of the host
 */
export function hostTlsSecretName(
  resource: { readonly metadata: { readonly name: string } },
  hash: string,
): string {
  return `${tlsSecretName(resource)}-${hash}`;
}

/**
 * Name of the ControllerRevision with the templates of a revision. Attempt 1 has no suffix. Later attempts have `-2`,
 * `-3` …
 */
export function storedTemplatesName(resource: ManagedDeployment, attempt: number): string {
  const base = `${app(resource)}-${resource.spec.revision.number}`;
  return attempt === 1 ? base : `${base}-${attempt}`;
}
