import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import type { KubeObject, PodTemplates } from '../desired-object.ts';
import { metadata } from '../labels.ts';
import { app } from '../names.ts';
import { ownerReferences } from '../owner.ts';

/**
 * The ServiceAccount that Berth creates for the app, without rights and token. The ServiceAccount is not created if the
 * spec names another ServiceAccount, unless stored templates still need it.
 */
export function serviceAccount(resource: ManagedDeployment, templates: PodTemplates | null): KubeObject[] {
  const name = app(resource);
  const needed =
    !resource.spec.podTemplate.serviceAccountName ||
    Object.values(templates ?? {}).some((template) => template.spec?.serviceAccountName === name);
  if (!needed) return [];
  return [
    {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { ...metadata(resource, name, 'app'), ...ownerReferences(resource) },
      automountServiceAccountToken: false,
    },
  ];
}
