import { MANAGED_DEPLOYMENT } from '../../../contract/resource/definition.ts';
import { LABELS } from '../../../contract/resource/names.ts';
import { labelValue } from '../../../workloads/labels.ts';
import { wantedHosts } from '../../../workloads/objects/app-url.ts';
import { controllerOf, type KubeObject, type UntypedObject } from '../../kube/client/object.ts';

/** Index keys of the caches, and the tenant of a custom resource. */

/** Key of a custom resource by the identity value that selectors use. */
export function identityKeys({ metadata, ...object }: UntypedObject): string[] {
  const { deploymentId = metadata.uid } = (object['spec'] ?? {}) as { deploymentId?: unknown };
  return typeof deploymentId === 'string' ? [`${metadata.namespace}/${labelValue(deploymentId)}`] : [];
}

/** Key of an object that outlives its custom resource, by the identity value of its label. */
export function keptKeys({ metadata: { namespace, labels } }: KubeObject): string[] {
  const value = labels?.[LABELS.deploymentId];
  return value === undefined ? [] : [`${namespace}/${value}`];
}

/** Keys of a custom resource by its hosts. */
export function hostKeys(object: UntypedObject): string[] {
  return wantedHosts(object['spec']);
}

export const WITH_BUILD = 'yes';

/** Key of a custom resource that requests a build. */
export function buildKeys(object: UntypedObject): string[] {
  const { build } = (object['spec'] ?? {}) as { build?: unknown };
  return build === undefined ? [] : [WITH_BUILD];
}

/** Keys of the custom resources that an object may belong to, according to its owner reference and its label. */
export function appKeys(object: KubeObject): string[] {
  const { namespace, labels } = object.metadata;
  const owner = controllerOf(object);
  const names = [owner?.kind === MANAGED_DEPLOYMENT.kind ? owner.name : undefined, labels?.[LABELS.instance]];
  return [...new Set(names.filter((name) => name !== undefined))].map((name) => `${namespace}/${name}`);
}

/** Tenant of a custom resource. */
export function resourceTenant({ metadata, spec }: UntypedObject): string {
  const { tenantId } = (spec ?? {}) as { tenantId?: string };
  return tenantId ?? metadata.labels?.[LABELS.tenantId] ?? metadata.namespace ?? '';
}
