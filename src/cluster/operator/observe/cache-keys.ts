import { MANAGED_DEPLOYMENT } from '../../../contract/resource/managed-deployment.ts';
import { LABELS } from '../../../contract/resource/names.ts';
import { labelValue } from '../../../workloads/labels.ts';
import { wantedHost } from '../../../workloads/objects/app-url.ts';
import { controllerOf, type KubeObject, type UntypedObject } from '../../kube/client/object.ts';

/** What objects are filed under in the caches, and whose they are. */

/** Of a custom resource: the value by which selectors would know it. */
export function identityKeys({ metadata, ...object }: UntypedObject): string[] {
  const { deploymentId = metadata.uid } = (object['spec'] ?? {}) as { deploymentId?: unknown };
  return typeof deploymentId === 'string' ? [`${metadata.namespace}/${labelValue(deploymentId)}`] : [];
}

/** Of what outlives a custom resource: the identity value that it carries. */
export function keptKeys({ metadata: { namespace, labels } }: KubeObject): string[] {
  const value = labels?.[LABELS.deploymentId];
  return value === undefined ? [] : [`${namespace}/${value}`];
}

/** Of a custom resource: the host that it wants to be reached under. */
export function hostKeys(object: UntypedObject): string[] {
  const host = wantedHost(object['spec']);
  return host === null ? [] : [host];
}

export const WITH_BUILD = 'yes';

/** Of a custom resource: whether it asks for a build. */
export function buildKeys(object: UntypedObject): string[] {
  const { build } = (object['spec'] ?? {}) as { build?: unknown };
  return build === undefined ? [] : [WITH_BUILD];
}

/** Keys of the custom resources that an object may belong to: by its owner reference and by its label. */
export function appKeys(object: KubeObject): string[] {
  const { namespace, labels } = object.metadata;
  const owner = controllerOf(object);
  const names = [owner?.kind === MANAGED_DEPLOYMENT.kind ? owner.name : undefined, labels?.[LABELS.instance]];
  return [...new Set(names.filter((name) => name !== undefined))].map((name) => `${namespace}/${name}`);
}

/** Of a custom resource: whose it is. */
export function tenantOf({ metadata, spec }: UntypedObject): string {
  const { tenantId } = (spec ?? {}) as { tenantId?: string };
  return tenantId ?? metadata.labels?.[LABELS.tenantId] ?? metadata.namespace ?? '';
}
