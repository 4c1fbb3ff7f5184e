import { createHash } from 'node:crypto';
import type { HostResponse } from '../../outbound/call-host.ts';
import { type ArtifactCall, callForArtifact, MANIFEST_TYPE, undisturbed } from './artifact-call.ts';
import { RegistryError } from './registry-error.ts';
import { type RepositoryOptions, repositoryUrl } from './repository.ts';
import { REDIRECTS } from './repository-call.ts';

/**
 * Stores a file as an artifact in a repository of the platform's own registry (OCI distribution and image specification).
 * Until the manifest at the end, the registry keeps nothing that it would not collect.
 */

export interface Artifact {
  readonly tag: string;
  readonly artifactType: string;
  /** Media type of the file. */
  readonly mediaType: string;
  /** Digest of the file, which the registry verifies. */
  readonly digest: string;
}

/** How long the registry may take for one call, or for a part of the file. */
const STALL_MS = 60_000;

/** The empty object, which the specification defines for artifacts without a configuration. */
const EMPTY = Buffer.from('{}');
const digestOf = (content: Buffer) => `sha256:${createHash('sha256').update(content).digest('hex')}`;
const EMPTY_CONFIG = {
  mediaType: 'application/vnd.oci.empty.v1+json',
  digest: digestOf(EMPTY),
  size: EMPTY.length,
};

/** @throws RegistryError unless the status is one of these */
function expectStatus(answer: HostResponse, ...expected: readonly number[]): HostResponse {
  const { status } = answer;
  if (expected.includes(status)) return answer;
  if (status === 401 || status === 403)
    throw new RegistryError('refused', `the registry denies access to the hub (status ${status})`);
  if (status === 429) throw new RegistryError('limited', 'the registry limits the rate of requests');
  const kind = status >= 500 ? 'failing' : 'unsupported';
  throw new RegistryError(kind, `the registry responds with status ${status}`);
}

/** The URL of an upload session. The token is sent to no other host. */
function sessionUrl(options: RepositoryOptions, { headers }: HostResponse): string {
  const own = new URL(repositoryUrl(options));
  const { location = '' } = headers;
  if (URL.canParse(location, own.href)) {
    const url = new URL(location, own.href);
    // A registry behind a proxy may not know its own scheme.
    if (url.hostname === own.hostname) return `${own.origin}${url.pathname}${url.search}`;
  }
  throw new RegistryError('unsupported', 'the registry returned no valid address for the upload');
}

const withDigest = (url: string, digest: string) =>
  `${url}${url.includes('?') ? '&' : '?'}digest=${encodeURIComponent(digest)}`;

/** Statuses of content that exists. A registry that keeps its blobs in an object store responds with an address there. */
const EXISTS = [200, ...REDIRECTS];

const manifestPath = (tag: string) => `manifests/${encodeURIComponent(tag)}`;

/** One repository, and how long its registry may take. */
class Artifacts {
  readonly #options: RepositoryOptions;
  readonly #signal: AbortSignal;
  readonly #stallMs: number;

  constructor(options: RepositoryOptions, signal: AbortSignal, stallMs: number) {
    this.#options = options;
    this.#signal = signal;
    this.#stallMs = stallMs;
  }

  /** Redirects are not followed, so the token is sent to no other host. */
  async has(path: string): Promise<boolean> {
    const url = `${repositoryUrl(this.#options)}/${path}`;
    const answer = await undisturbed(() => this.#call({ url, method: 'HEAD' }), this.#signal);
    return expectStatus(answer, ...EXISTS, 404).status !== 404;
  }

  /** Stores a file whose digest is verified at its end. */
  async storeFile(digest: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    let session = await this.#begin();
    try {
      const type = 'application/octet-stream';
      const sent = await this.#call({ url: session, method: 'PATCH', type, body: content });
      session = sessionUrl(this.#options, expectStatus(sent, 202));
      // Another upload may have stored the file meanwhile.
      if (await this.has(`blobs/${digest}`)) return await this.#cancel(session);
      const ended = await this.#call({ url: withDigest(session, digest), method: 'PUT', length: 0 });
      expectStatus(ended, 201);
    } catch (error) {
      await this.#cancel(session);
      throw error;
    }
  }

  /** Stores the configuration that all artifacts of the repository have. */
  async storeConfig(): Promise<void> {
    if (await this.has(`blobs/${EMPTY_CONFIG.digest}`)) return;
    const url = withDigest(await this.#begin(), EMPTY_CONFIG.digest);
    const type = 'application/octet-stream';
    const sent = await this.#call({ url, method: 'PUT', type, length: EMPTY.length, body: EMPTY });
    expectStatus(sent, 201);
  }

  async storeManifest({ tag, artifactType, mediaType, digest }: Artifact, size: number): Promise<void> {
    const path = manifestPath(tag);
    if (await this.has(path)) return;
    const manifest = {
      schemaVersion: 2,
      mediaType: MANIFEST_TYPE,
      artifactType,
      config: EMPTY_CONFIG,
      layers: [{ mediaType, digest, size }],
    };
    const body = Buffer.from(JSON.stringify(manifest));
    const url = `${repositoryUrl(this.#options)}/${path}`;
    const put = { url, method: 'PUT', type: MANIFEST_TYPE, length: body.length, body } as const;
    expectStatus(await undisturbed(() => this.#call(put), this.#signal), 201);
  }

  #call(asked: ArtifactCall): Promise<HostResponse> {
    return callForArtifact(this.#options, asked, this.#signal, this.#stallMs);
  }

  async #begin(): Promise<string> {
    const url = `${repositoryUrl(this.#options)}/blobs/uploads/`;
    const answer = await this.#call({ url, method: 'POST', length: 0 });
    return sessionUrl(this.#options, expectStatus(answer, 202));
  }

  /** Frees the part that was sent. A registry that does not respond frees it later by itself. */
  async #cancel(session: string): Promise<void> {
    const gone = AbortSignal.timeout(5_000);
    const ended = callForArtifact(this.#options, { url: session, method: 'DELETE' }, gone, this.#stallMs);
    await ended.catch(() => undefined);
  }
}

/**
 * Whether the registry has the manifest of the artifact and its file.
 * @throws RegistryError; the signal's reason
 */
export async function hasArtifact(
  options: RepositoryOptions,
  { tag, digest }: Pick<Artifact, 'tag' | 'digest'>,
  signal: AbortSignal,
  stallMs = STALL_MS,
): Promise<boolean> {
  const artifacts = new Artifacts(options, signal, stallMs);
  return (await artifacts.has(manifestPath(tag))) && (await artifacts.has(`blobs/${digest}`));
}

/**
 * Stores an artifact with one file. What the registry has already is not written again, because a write disturbs others that
 * read at the same moment. Several calls may store the same artifact at once.
 * @param options its token allows pull, push and delete
 * @param content is read as fast as the registry takes it. If it fails, nothing is stored
 * @param stallMs how long the registry may make no progress
 * @returns the size of the file in bytes
 * @throws RegistryError; the signal's reason; the error of `content`
 */
export async function storeArtifact(
  options: RepositoryOptions,
  artifact: Artifact,
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
  stallMs = STALL_MS,
): Promise<number> {
  const artifacts = new Artifacts(options, signal, stallMs);
  let size = 0;
  async function* counted() {
    for await (const part of content) {
      size += part.length;
      yield part;
    }
  }
  await artifacts.storeFile(artifact.digest, counted());
  await artifacts.storeConfig();
  await artifacts.storeManifest(artifact, size);
  return size;
}
