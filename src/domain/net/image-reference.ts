import { imageSchema, parseImageReference } from '../kubernetes/image.ts';

/** Parts of an image_uri that the API needs. The grammar is in kubernetes/image.ts. */

/** image_uri as sent: `[registry/]name[:tag][@digest]`. */
export const imageUriSchema = imageSchema;

/** The tag of an image. null: the image has no tag, or the text is not an image. */
export function versionOfImage(image: string | null): string | null {
  return image === null ? null : (parseImageReference(image)?.tag ?? null);
}

/** Returns the image if it is pinned to a digest, so that no lookup is needed. */
export function pinnedImage(image: string | null): string | null {
  return image !== null && parseImageReference(image)?.digest != null ? image : null;
}

/** A registry in the form of image references: without scheme and trailing slash. */
const registryName = (registry: string) => registry.replace(/^https?:\/\//, '').replace(/\/+$/, '');

/** The normal form: the host in lower case, without the default port 443. */
function canonical(name: string): string {
  const [host = '', ...path] = name.split('/');
  return path.length === 0 ? name : [host.toLowerCase().replace(/:443$/, ''), ...path].join('/');
}

/**
 * Whether an image is in a registry.
 * @param registry host, with or without a path: `registry.example.com`, `registry.example.com/apps`
 */
export function isUnderRegistry(image: string, registry: string): boolean {
  const name = parseImageReference(image)?.name ?? '';
  return canonical(name).startsWith(canonical(`${registryName(registry)}/`));
}

/** Host of a registry with its port, if any, as for `docker login`. */
export function registryHost(registry: string): string {
  return registryName(registry).split('/', 1)[0] ?? '';
}

/**
 * The repository of a deployment in the registry of the platform. The repository contains its pushed and built images,
 * and the deployment can pull only from it.
 * @param registry as for isUnderRegistry
 * @returns registry/path, without tag and digest. The repository never changes, because the id of the tenant and
 * appName never change
 */
export function imageRepository(
  registry: string,
  { tenantId, appName }: { readonly tenantId: string; readonly appName: string },
): string {
  return `${registryName(registry)}/${tenantId}/${appName}`;
}

/** The repository of the uploaded folders of a deployment. Images of the deployment cannot be in it. */
export function sourceRepository(
  registry: string,
  owner: { readonly tenantId: string; readonly appName: string },
): string {
  return `${imageRepository(registry, owner)}/sources`;
}

/** A repository without the host: its name in the registry. */
export function repositoryPath(repository: string): string {
  return repository.slice(repository.indexOf('/') + 1);
}

/** Whether an image is in exactly this repository. */
export function isOfRepository(image: string, repository: string): boolean {
  return canonical(parseImageReference(image)?.name ?? '') === canonical(repository);
}
