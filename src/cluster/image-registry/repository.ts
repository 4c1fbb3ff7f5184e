import type { HostResponse } from '../../outbound/call-host.ts';
import { type Call, call } from './call.ts';
import { RegistryError } from './registry-error.ts';
import { computedDigest, statedDigest } from './repository-call.ts';

/** Lists and deletes images in a repository of the platform's own registry (OCI distribution specification). */

export interface RepositoryOptions {
  /** `registry/path`, without tag and digest. */
  readonly repository: string;
  /** The registry is called over http. */
  readonly insecure: boolean;
  /**
   * Returns a bearer token for pull and delete. Called for each request, because thousands of requests take longer than
   * the lifetime of a token.
   */
  token(): Promise<string>;
}

/** A tag and the digest that it points to. */
export interface TaggedImage {
  readonly tag: string;
  readonly digest: string;
}

const ACCEPT = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ');
const MAX_BYTES = 4 * 1024 * 1024;
const PAGE = 500;
const CALL_TIMEOUT_MS = 15_000;

/** URL of the repository in the API of its registry. */
export function repositoryUrl({ repository, insecure }: RepositoryOptions): string {
  const slash = repository.indexOf('/');
  return `${insecure ? 'http' : 'https'}://${repository.slice(0, slash)}/v2/${repository.slice(slash + 1)}`;
}

/** The part of a call that every call to the registry of the platform has. */
export const ownRegistry = ({ insecure }: RepositoryOptions) => ({
  maxBytes: MAX_BYTES,
  addresses: { allowPrivate: true, closedNetworks: [] },
  allowHttp: insecure,
});

async function ask(
  options: RepositoryOptions,
  method: Call['method'],
  path: string,
  signal: AbortSignal,
): Promise<HostResponse> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(CALL_TIMEOUT_MS)]);
  const headers = { accept: ACCEPT, authorization: `Bearer ${await options.token()}` };
  try {
    const url = new URL(`${repositoryUrl(options)}/${path}`);
    return await call(url, { method, headers, ...ownRegistry(options) }, deadline);
  } catch (error) {
    signal.throwIfAborted();
    if (!deadline.aborted) throw error;
    throw new RegistryError('unavailable', 'the registry did not respond within the time limit');
  }
}

function failure({ status }: HostResponse): RegistryError {
  if (status === 401 || status === 403) {
    return new RegistryError('refused', `the registry denies access to the hub (status ${status})`);
  }
  return new RegistryError(
    status >= 500 ? 'failing' : 'unavailable',
    `the registry responds with status ${status}`,
  );
}

function tagsOf(body: Buffer): string[] {
  try {
    const { tags } = JSON.parse(body.toString('utf8')) as { tags?: unknown };
    return Array.isArray(tags) ? tags.filter((tag): tag is string => typeof tag === 'string') : [];
  } catch {
    throw new RegistryError('failing', 'the registry returned an invalid list of tags');
  }
}

/** The digest of a tag, by HEAD, or by GET when the HEAD does not state it; null when the tag no longer exists. */
async function digestOfTag(
  options: RepositoryOptions,
  tag: string,
  signal: AbortSignal,
): Promise<string | null> {
  const path = `manifests/${encodeURIComponent(tag)}`;
  const head = await ask(options, 'HEAD', path, signal);
  const stated = head.status === 200 ? statedDigest(head) : null;
  if (stated !== null) return stated;
  const answer = await ask(options, 'GET', path, signal);
  if (answer.status === 404) return null;
  const digest = answer.status === 200 ? (statedDigest(answer) ?? computedDigest(answer)) : null;
  if (digest === null) throw failure(answer);
  return digest;
}

/**
 * The tags of the repository that `isAsked` selects, with their digests; empty when the repository does not exist.
 * @throws RegistryError; the signal's reason
 */
export async function taggedImages(
  options: RepositoryOptions,
  isSelected: (tag: string) => boolean,
  signal: AbortSignal,
): Promise<TaggedImage[]> {
  const tags: string[] = [];
  for (let last: string | undefined; ; ) {
    const after = last === undefined ? '' : `&last=${encodeURIComponent(last)}`;
    const answer = await ask(options, 'GET', `tags/list?n=${PAGE}${after}`, signal);
    if (answer.status === 404) break;
    if (answer.status !== 200) throw failure(answer);
    const page = tagsOf(answer.body);
    tags.push(...page);
    if (page.length === 0 || answer.headers.link === undefined || page.at(-1) === last) break;
    last = page.at(-1);
  }
  const images: TaggedImage[] = [];
  for (const tag of tags.filter(isSelected)) {
    const digest = await digestOfTag(options, tag, signal);
    if (digest !== null) images.push({ tag, digest });
  }
  return images;
}

/**
 * Deletes an image with all its tags. An image that is already gone is not an error.
 * @throws RegistryError: `unsupported` when the registry does not allow deletion; the signal's reason
 */
export async function removeImage(
  options: RepositoryOptions,
  digest: string,
  signal: AbortSignal,
): Promise<void> {
  const answer = await ask(options, 'DELETE', `manifests/${digest}`, signal);
  if (answer.status === 405) {
    throw new RegistryError('unsupported', 'the registry does not allow deletion (storage.delete.enabled)');
  }
  if (answer.status !== 404 && (answer.status < 200 || answer.status >= 300)) throw failure(answer);
}
