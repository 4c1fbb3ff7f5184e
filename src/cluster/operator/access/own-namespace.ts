import type { Forbidden, Observed } from '../observed.ts';

/**
 * Rejects deployments in the namespace of Berth itself, as hub and listener do. Their pods could use the Secret and the
 * ServiceAccounts of the platform there. Pods of stored templates are kept, so that an upgrade stops nothing.
 */
export function withOwnNamespaceRefused(observed: Observed, ownNamespace: string): Observed {
  if (observed.resource.metadata.namespace !== ownNamespace) return observed;
  const refused: Forbidden = {
    resourcePath: 'metadata.namespace',
    message: `${ownNamespace} is the namespace of Berth itself, so pods of a deployment could use Secrets and ServiceAccounts of the platform`,
    ofPodTemplate: true,
  };
  return { ...observed, forbidden: [...(observed.forbidden ?? []), refused] };
}
