import { createHash } from 'node:crypto';
import type { HostResponse } from '../../outbound/call-host.ts';
import { type Call, call } from './call.ts';
import { RegistryError } from './registry-error.ts';
import { ownRegistry, type RepositoryOptions, repositoryUrl } from './repository.ts';
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

const MANIFEST_TYPE = 'application/vnd.oci.image.manifest.v1+json';
/** The empty object, which the specification defines for artifacts without a configuration. */
const EMPTY = Buffer.from('{}');
const digestOf = (content: Buffer) => `sha256:${createHash('sha256').update(content).digest('hex')}`;
const EMPTY_CONFIG = {
  mediaType: 'application/vnd.oci.empty.v1+json',
  digest: digestOf(EMPTY),
  size: EMPTY.length,
};

/** A signal that fires when the registry does not progress. The time of the sender does not count. */
class StallTimer {
  readonly #stalled = new AbortController();
  readonly #ms: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number) {
    this.#ms = ms;
  }

  get signal(): AbortSignal {
    return this.#stalled.signal;
  }

  start(): void {
    this.stop();
    this.#timer = setTimeout(() => this.#stalled.abort(), this.#ms);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** The body, while whose parts are sent the time of the registry counts. */
  async *timed(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    this.stop();
    for await (const part of body) {
      this.start();
      yield part;
      this.stop();
    }
    this.start();
  }
}

interface Question extends Pick<Call, 'method' | 'body'> {
  readonly url: string;
  readonly type?: string;
  /** Length of a body that is not a stream. */
  readonly length?: number;
}

async function ask(
  options: RepositoryOptions,
  { url, method, type, length, body }: Question,
  signal: AbortSignal,
  stallMs: number,
): Promise<HostResponse> {
  const timer = new StallTimer(stallMs);
  const deadline = AbortSignal.any([signal, timer.signal]);
  const headers = {
    accept: MANIFEST_TYPE,
    authorization: `Bearer ${await options.token()}`,
    ...(type === undefined ? {} : { 'content-type': type }),
    ...(length === undefined ? {} : { 'content-length': String(length) }),
  };
  timer.start();
  try {
    const sent = body === undefined || body instanceof Uint8Array ? body : timer.timed(body);
    const request = {
      method,
      headers,
      ...ownRegistry(options),
      ...(sent === undefined ? {} : { body: sent }),
    };
    return await call(new URL(url), request, deadline);
  } catch (error) {
    signal.throwIfAborted();
    if (!timer.signal.aborted) throw error;
    throw new RegistryError('slow', 'the registry did not respond within the time limit');
  } finally {
    timer.stop();
  }
}

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

class Upload {
  readonly #options: RepositoryOptions;
  readonly #signal: AbortSignal;
  readonly #stallMs: number;

  constructor(options: RepositoryOptions, signal: AbortSignal, stallMs: number) {
    this.#options = options;
    this.#signal = signal;
    this.#stallMs = stallMs;
  }

  #ask(question: Question): Promise<HostResponse> {
    return ask(this.#options, question, this.#signal, this.#stallMs);
  }

  async #begin(): Promise<string> {
    const url = `${repositoryUrl(this.#options)}/blobs/uploads/`;
    const answer = await this.#ask({ url, method: 'POST', length: 0 });
    return sessionUrl(this.#options, expectStatus(answer, 202));
  }

  /** Sends a file whose digest is verified at its end. */
  async file(digest: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    let session = await this.#begin();
    try {
      const type = 'application/octet-stream';
      const sent = await this.#ask({ url: session, method: 'PATCH', type, body: content });
      session = sessionUrl(this.#options, expectStatus(sent, 202));
      const ended = await this.#ask({ url: withDigest(session, digest), method: 'PUT', length: 0 });
      expectStatus(ended, 201);
    } catch (error) {
      await this.#cancel(session);
      throw error;
    }
  }

  /** Frees the part that was sent. A registry that does not respond frees it later by itself. */
  async #cancel(session: string): Promise<void> {
    const gone = AbortSignal.timeout(5_000);
    const ended = ask(this.#options, { url: session, method: 'DELETE' }, gone, this.#stallMs);
    await ended.catch(() => undefined);
  }

  async small(content: Buffer): Promise<void> {
    const url = withDigest(await this.#begin(), digestOf(content));
    const type = 'application/octet-stream';
    const sent = await this.#ask({ url, method: 'PUT', type, length: content.length, body: content });
    expectStatus(sent, 201);
  }

  async manifest({ tag, artifactType, mediaType, digest }: Artifact, size: number): Promise<void> {
    const manifest = {
      schemaVersion: 2,
      mediaType: MANIFEST_TYPE,
      artifactType,
      config: EMPTY_CONFIG,
      layers: [{ mediaType, digest, size }],
    };
    const body = Buffer.from(JSON.stringify(manifest));
    const url = `${repositoryUrl(this.#options)}/manifests/${encodeURIComponent(tag)}`;
    const sent = await this.#ask({ url, method: 'PUT', type: MANIFEST_TYPE, length: body.length, body });
    expectStatus(sent, 201);
  }
}

/** Statuses of content that exists. A registry that keeps its blobs in an object store responds with an address there. */
const EXISTS = [200, ...REDIRECTS];

/**
 * Whether the registry has the manifest of the artifact and its file. Redirects are not followed, so the token is sent to no
 * other host.
 * @throws RegistryError; the signal's reason
 */
export async function hasArtifact(
  options: RepositoryOptions,
  { tag, digest }: Pick<Artifact, 'tag' | 'digest'>,
  signal: AbortSignal,
  stallMs = STALL_MS,
): Promise<boolean> {
  for (const path of [`manifests/${encodeURIComponent(tag)}`, `blobs/${digest}`]) {
    const url = `${repositoryUrl(options)}/${path}`;
    const answer = await ask(options, { url, method: 'HEAD' }, signal, stallMs);
    if (expectStatus(answer, ...EXISTS, 404).status === 404) return false;
  }
  return true;
}

/**
 * Stores an artifact with one file. An artifact that exists already is stored again with the same result.
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
  const upload = new Upload(options, signal, stallMs);
  let size = 0;
  async function* counted() {
    for await (const part of content) {
      size += part.length;
      yield part;
    }
  }
  await upload.file(artifact.digest, counted());
  await upload.small(EMPTY);
  await upload.manifest(artifact, size);
  return size;
}
