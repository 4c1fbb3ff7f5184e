import type { RenderConfig } from '../../contract/render/render-config.ts';
import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import { tenantNamespace } from '../../contract/resource/names.ts';
import { parseImageReference } from '../../domain/kubernetes/image.ts';
import { imageRepository, isOfRepository } from '../../domain/net/image-reference.ts';

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

/**
 * Whether the image is of the deployment's own repository in the registry of the platform. `spec.tenantId` is text that a
 * writer of custom resources chooses; the namespace is not. So the two must agree: the namespace of a tenant carries its id.
 */
function isOfOwn(
  { metadata, spec }: ManagedDeployment,
  image: string,
  { registry = null }: PullConfig,
): boolean {
  const { tenantId, source } = spec;
  if (source === 'external_image' || tenantId === undefined || registry === null) return false;
  if (metadata.namespace !== tenantNamespace(tenantId)) return false;
  return isOfRepository(image, imageRepository(registry, { tenantId, appName: metadata.name }));
}

type PullConfig = Pick<RenderConfig, 'hosting' | 'registry'>;

/**
 * When the image of the app is pulled. One of the deployment's own repository that is named by its digest may be on a node, whoever
 * brought it there: a container that is started again must not wait for the registry, nor for the hub that it asks.
 */
export function appPullPolicy(
  resource: ManagedDeployment,
  image: string,
  config: PullConfig,
): 'Always' | 'IfNotPresent' | 'Never' {
  const { digest = null } = parseImageReference(image) ?? {};
  return digest !== null && isOfOwn(resource, image, config)
    ? pullPolicy(image)
    : givenPullPolicy(image, config);
}

/**
 * When the image of a database is pulled; undefined: as Kubernetes has it. Only a custom resource can name another image
 * than the platform's, so in cloud that is an image of a tenant's like any other.
 */
export function databasePullPolicy(
  image: string,
  { hosting, databaseImage }: Pick<RenderConfig, 'hosting' | 'databaseImage'>,
): 'Always' | undefined {
  return hosting === 'cloud' && image !== databaseImage ? 'Always' : undefined;
}
