import type { ManagedDeployment } from '../contract/resource/managed-deployment.ts';
import type { Component } from '../domain/resource-spec/resource-spec.ts';

/** Base name of every object of the deployment: the custom resource's own name. */
export function app(resource: ManagedDeployment): string {
  return resource.metadata.name;
}

/** ServiceAccount of the app pods: the one that is named, else one of their own. Kubernetes reads a blank name as absent. */
export function serviceAccountName(resource: ManagedDeployment): string {
  return resource.spec.podTemplate.serviceAccountName || app(resource);
}

/** Deployment, autoscaler and disruption budget of one component. */
export function componentName(resource: ManagedDeployment, component: Component): string {
  return `${app(resource)}-${component}`;
}

/** StatefulSet, Service, volume claim, credentials and NetworkPolicy of the database. */
export function databaseName(resource: { readonly metadata: { readonly name: string } }): string {
  return `${resource.metadata.name}-db`;
}

/** Copy of the database's credentials, from which they come back with the same password. */
export function credentialsCopyName(resource: { readonly metadata: { readonly name: string } }): string {
  return `${databaseName(resource)}-copy`;
}

/** Deployment, Service and NetworkPolicy of the cache. */
export function cacheName(resource: ManagedDeployment): string {
  return `${app(resource)}-cache`;
}

/** Secret of the TLS certificate that the issuer writes. */
export function tlsSecretName(resource: { readonly metadata: { readonly name: string } }): string {
  return `${resource.metadata.name}-tls`;
}

/** ControllerRevision with the templates of a revision; attempt 1 has no suffix, later renderings `-2`, `-3` … */
export function storedTemplatesName(resource: ManagedDeployment, attempt: number): string {
  const base = `${app(resource)}-${resource.spec.revision.number}`;
  return attempt === 1 ? base : `${base}-${attempt}`;
}
