import { managedDeploymentSpecSchema } from '../../../contract/resource/managed-deployment.ts';
import type { ObservedResource } from '../observed.ts';
import { conditionOf } from '../status/conditions.ts';

/**
 * A resource whose spec cannot be read, with as much of one as is needed to see what is there of it: whose it is, and from
 * the status what of it is not to be there. Nothing may be made or changed by it.
 */
export function withPlaceholderSpec(resource: ObservedResource): ObservedResource {
  const { deploymentId } = ((resource.spec as unknown) ?? {}) as { deploymentId?: unknown };
  const database = { external: conditionOf(resource, 'DatabaseReady')?.reason === 'ExternalDatabase' };
  const cache = { external: conditionOf(resource, 'CacheReady')?.reason === 'ExternalCache' };
  const suspend = resource.status?.suspended ?? false;
  const least = { revision: {}, suspend, database, cache };
  const named = managedDeploymentSpecSchema.safeParse({ ...least, deploymentId });
  return { ...resource, spec: named.success ? named.data : managedDeploymentSpecSchema.parse(least) };
}
