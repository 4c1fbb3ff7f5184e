import { parseImageReference } from '../../domain/kubernetes/image.ts';

/** Parses image references as container runtimes do. */

export interface RegistryReference {
  /** Host of the registry, with its port if given. Credentials are stored under this name. */
  readonly host: string;
  /** Host at which the registry's API is called. */
  readonly apiHost: string;
  readonly repository: string;
  /** Tag or digest. */
  readonly reference: string;
  readonly isDigest: boolean;
}

const DOCKER_HUB = 'docker.io';
const DOCKER_HUB_API = 'registry-1.docker.io';
const DEFAULT_TAG = 'latest';

/**
 * The first part of an image name is a host if it has the form of a host. Any other first part belongs to a name on
 * Docker Hub.
 */
function isHost(part: string): boolean {
  return part.includes('.') || part.includes(':') || part === 'localhost' || part !== part.toLowerCase();
}

/** Other names of Docker Hub. */
export function canonicalRegistryHost(host: string): string {
  const known = ['index.docker.io', DOCKER_HUB_API, 'www.docker.io', 'hub.docker.com'];
  return known.includes(host) ? DOCKER_HUB : host;
}

/** Parses an image reference; null when it is invalid. */
export function registryReference(image: string): RegistryReference | null {
  const parsed = parseImageReference(image);
  if (parsed === null) return null;
  const { name, tag, digest } = parsed;
  const slash = name.indexOf('/');
  const first = slash === -1 ? '' : name.slice(0, slash);
  const named = slash !== -1 && isHost(first);
  const host = named ? canonicalRegistryHost(first) : DOCKER_HUB;
  const path = named ? name.slice(slash + 1) : name;
  const isHub = host === DOCKER_HUB;
  return {
    host,
    apiHost: isHub ? DOCKER_HUB_API : host,
    repository: isHub && !path.includes('/') ? `library/${path}` : path,
    reference: digest ?? tag ?? DEFAULT_TAG,
    isDigest: digest !== null,
  };
}
