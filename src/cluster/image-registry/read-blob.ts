import { createHash } from 'node:crypto';
import type { Credentials } from './docker-config.ts';
import { registryReference } from './reference.ts';
import { RegistryError } from './registry-error.ts';
import {
  authorizationFor,
  callRepository,
  type LookupContext,
  openRepository,
  type RegistryOptions,
  registryFailure,
} from './repository-call.ts';

/** Reads a blob of a repository by its digest (OCI distribution specification). */

export interface BlobRequest {
  /** `registry/path`, without tag and digest. */
  readonly repository: string;
  readonly digest: string;
  /** null: anonymous. */
  readonly credentials: Credentials | null;
  /** Largest blob, in bytes. */
  readonly maxBytes: number;
}

function contextOf(
  { repository, digest }: BlobRequest,
  options: RegistryOptions,
  timeout: AbortSignal,
): LookupContext {
  const reference = registryReference(`${repository}@${digest}`);
  if (reference === null) throw new RegistryError('unsupported', 'it is not a valid repository');
  const { host } = reference;
  return {
    reference,
    insecure: options.insecureHosts.includes(host),
    mayBePrivate: options.privateHosts === 'any' || options.privateHosts.includes(host),
    options,
    signal: timeout,
    endsAt: performance.now() + options.timeoutMs,
    head: { isWorthwhile: true },
  };
}

/** The content, whose size and digest are verified. The last part is passed on only if the digest is right. */
async function* verified(
  content: AsyncIterable<Buffer>,
  { digest, maxBytes }: BlobRequest,
  host: string,
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  let size = 0;
  let last: Buffer | null = null;
  for await (const part of content) {
    hash.update(part);
    size += part.length;
    if (size > maxBytes) throw new RegistryError('unsupported', `the blob is larger than ${maxBytes} bytes`);
    if (last !== null) yield last;
    last = part;
  }
  if (`sha256:${hash.digest('hex')}` !== digest)
    throw new RegistryError('failing', `${host} returned other content than the digest states`);
  if (last !== null) yield last;
}

/**
 * Reads a blob once.
 * @param read receives the content. An error of `read` is thrown as it is
 * @returns null: the registry has no such blob
 * @throws RegistryError
 */
export async function readBlob<T>(
  request: BlobRequest,
  options: RegistryOptions,
  read: (content: AsyncIterable<Buffer>) => Promise<T>,
): Promise<{ readonly value: T } | null> {
  const timeout = AbortSignal.timeout(options.timeoutMs);
  const context = contextOf(request, options, timeout);
  const { host } = context.reference;
  const path = `blobs/${request.digest}`;
  try {
    const first = await callRepository(context, 'HEAD', path);
    const authorization =
      first.status === 401 ? await authorizationFor(context, first, request.credentials) : undefined;
    if (authorization === null) throw registryFailure(first, host);
    const { value } = await openRepository(context, path, authorization, async (response) => {
      if (response.status === 404) return null;
      if (response.status !== 200) throw registryFailure({ ...response, body: Buffer.alloc(0) }, host);
      return { value: await read(verified(response.content, request, host)) };
    });
    return value;
  } catch (error) {
    if (!timeout.aborted) throw error;
    throw new RegistryError('slow', `${host} did not respond within ${options.timeoutMs / 1000} s`);
  }
}
