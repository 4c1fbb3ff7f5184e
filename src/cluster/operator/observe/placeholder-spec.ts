import { managedDeploymentSpecSchema } from '../../../contract/resource/managed-deployment.ts';
import type { ObservedResource } from '../observed.ts';
import { conditionOf } from '../status/conditions.ts';

/**
 * Replaces a spec that cannot be parsed by a placeholder: enough to find owned objects and to read the status. The
 * placeholder must not be used to create or change an object.
 */
export function withPlaceholderSpec(resource: ObservedResource): ObservedResource {
  const { deploymentId } = ((resource.spec as unknown) ?? {}) as { deploymentId?: unknown };
  const database = { external: conditionOf(resource, 'DatabaseReady')?.reason === 'ExternalDatabase' };
  const cache = { external: conditionOf(resource, 'CacheReady')?.reason === 'ExternalCache' };
  const suspend = resource.status?.suspended ?? false;
  const minimal = { revision: {}, suspend, database, cache };
  const named = managedDeploymentSpecSchema.safeParse({ ...minimal, deploymentId });
  return { ...resource, spec: named.success ? named.data : managedDeploymentSpecSchema.parse(minimal) };
}
