import type { ManagedDeployment } from '../contract/managed-deployment.ts';
import type { RenderConfig } from '../contract/render-config.ts';
import { parseImageReference } from '../domain/kubernetes/image.ts';

/**
 * When an image is pulled whose container does not say. The API server fills in the same for a new container, but to one
 * whose image changes it leaves what the former image was given: `app:latest` after `app:1` would never be pulled anew.
 */
export function pullPolicy(image: string): 'Always' | 'IfNotPresent' {
  const { tag = null, digest = null } = parseImageReference(image) ?? {};
  const moves = tag === 'latest' || (tag === null && digest === null);
  return moves ? 'Always' : 'IfNotPresent';
}

/**
 * When an image is pulled that a tenant names. Between strangers each time: what is on a node already may have come with the
 * credentials of another one, and only the registry says who may have it.
 * @param asked what the tenant says of it
 */
export function givenPullPolicy(
  image: string,
  { hosting }: Pick<RenderConfig, 'hosting'>,
  asked?: 'Always' | 'IfNotPresent' | 'Never',
): 'Always' | 'IfNotPresent' | 'Never' {
  return hosting === 'cloud' ? 'Always' : (asked ?? pullPolicy(image));
}

/** Whether the image is of the repository that is the deployment's own: `image-reference.ts` has its name. */
function isOfOwn({ metadata, spec }: ManagedDeployment, repository: string): boolean {
  if (spec.source === 'external_image' || spec.tenantId === undefined) return false;
  return repository.endsWith(`/${spec.tenantId}/${metadata.name}`);
}

/**
 * When the image of the app is pulled. One of the deployment's own repository that is named by its digest may be on a node, whoever
 * brought it there: a container that is started again must not wait for the registry, nor for the hub that it asks.
 */
export function appPullPolicy(
  resource: ManagedDeployment,
  image: string,
  config: Pick<RenderConfig, 'hosting'>,
): 'Always' | 'IfNotPresent' | 'Never' {
  const { name = '', digest = null } = parseImageReference(image) ?? {};
  return digest !== null && isOfOwn(resource, name) ? pullPolicy(image) : givenPullPolicy(image, config);
}
