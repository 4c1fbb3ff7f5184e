import { imageSchema, parseImageReference } from '../kubernetes/image.ts';

/** What the API reads out of an image_uri; the grammar is in kubernetes/image.ts. */

/** image_uri as sent: `[registry/]name[:tag][@digest]`. */
export const imageUriSchema = imageSchema;

/** The tag of an image; null: it has none, or there is no image. */
export function imageVersion(image: string | null): string | null {
  return image === null ? null : (parseImageReference(image)?.tag ?? null);
}

/** The image itself where it is pinned to a digest: there is nothing left to resolve. */
export function pinnedImage(image: string | null): string | null {
  return image !== null && parseImageReference(image)?.digest != null ? image : null;
}

/** A registry as image references begin with it: without scheme, without a slash at its end. */
const registryName = (registry: string) => registry.replace(/^https?:\/\//, '').replace(/\/+$/, '');

/** The same for each way to write it: hosts have no capital letters, and registries are at port 443 unless one is named. */
function canonical(name: string): string {
  const [host = '', ...path] = name.split('/');
  return path.length === 0 ? name : [host.toLowerCase().replace(/:443$/, ''), ...path].join('/');
}

/**
 * Whether an image lies under a registry.
 * @param registry host, with or without a path: `registry.example.com`, `registry.example.com/apps`
 */
export function isUnderRegistry(image: string, registry: string): boolean {
  const name = parseImageReference(image)?.name ?? '';
  return canonical(name).startsWith(canonical(`${registryName(registry)}/`));
}

/** Host of a registry, with its port if it has one: what `docker login` takes. */
export function registryHost(registry: string): string {
  return registryName(registry).split('/', 1)[0] ?? '';
}

/**
 * The repository of a deployment in the registry of the platform: what is pushed for it or built from its source goes
 * there, and nothing else is pulled for it.
 * @param registry as for isUnderRegistry
 * @returns registry/path, without tag and digest. It never changes: id of the tenant and appName never do.
 */
export function imageRepository(
  registry: string,
  { tenantId, appName }: { readonly tenantId: string; readonly appName: string },
): string {
  return `${registryName(registry)}/${tenantId}/${appName}`;
}

/** A repository without the registry's host: what the registry itself calls it. */
export function repositoryPath(repository: string): string {
  return repository.slice(repository.indexOf('/') + 1);
}

/** Whether an image is one of this very repository. */
export function isOfRepository(image: string, repository: string): boolean {
  return canonical(parseImageReference(image)?.name ?? '') === canonical(repository);
}
