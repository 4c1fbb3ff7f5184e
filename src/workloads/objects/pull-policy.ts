import type { RenderConfig } from '../../contract/render/render-config.ts';
import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import { tenantNamespace } from '../../contract/resource/names.ts';
import { parseImageReference } from '../../domain/kubernetes/image.ts';
import { imageRepository, isOfRepository } from '../../domain/net/image-reference.ts';

/**
 * The default pull policy of an image. The API server sets the same default for a new container, but keeps the policy
 * when the image changes. Without this default, `app:latest` after `app:1` would never be pulled again.
 */
export function pullPolicy(image: string): 'Always' | 'IfNotPresent' {
  const { tag = null, digest = null } = parseImageReference(image) ?? {};
  const moves = tag === 'latest' || (tag === null && digest === null);
  return moves ? 'Always' : 'IfNotPresent';
}

/**
 * The pull policy of an image of a tenant. In cloud mode, the pull policy is Always, because an image on a node may
 * have been pulled with the credentials of another tenant, and only the registry can authorize the access.
 * @param asked the policy that the tenant specified
 */
export function givenPullPolicy(
  image: string,
  { hosting }: Pick<RenderConfig, 'hosting'>,
  asked?: 'Always' | 'IfNotPresent' | 'Never',
): 'Always' | 'IfNotPresent' | 'Never' {
  return hosting === 'cloud' ? 'Always' : (asked ?? pullPolicy(image));
}

/**
 * Whether the image is in the deployment's own repository in the registry of the platform. A writer of custom resources
 * chooses `spec.tenantId`, but not the namespace. Therefore the namespace must be the namespace of the tenant.
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
 * The pull policy of the image of the app. An image by digest in the deployment's own repository may be used from the node.
 * A restarted container then does not depend on the registry, nor on the hub that authorizes it.
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
 * The pull policy of the image of a database. undefined: the default of Kubernetes. Only a custom resource can specify
 * another image than the image of the platform, so in cloud mode such an image is treated as an image of a tenant.
 */
export function databasePullPolicy(
  image: string,
  { hosting, databaseImage }: Pick<RenderConfig, 'hosting' | 'databaseImage'>,
): 'Always' | undefined {
  return hosting === 'cloud' && image !== databaseImage ? 'Always' : undefined;
}
