import type { FastifyReply, FastifyRequest } from 'fastify';
import { keyOf, limitIdOf } from '../tenancy/principal.ts';
import { onDisconnect } from './client-disconnect.ts';
import { ApiError } from './errors.ts';

/**
 * Limits the memory of all request bodies of authenticated callers together, from their first byte until the response.
 * Each body has a separate limit and must arrive within half a minute. The limits apply per process.
 */

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route reads its body as a stream, with limits of its own. */
    streamsBody?: true;
  }
}

export interface BodyLimits {
  /** Maximum bytes of all bodies. */
  readonly total: number;
  /**
   * Maximum bytes of the bodies of the keys of one tenant, or of one caller without a tenant. Keys of a tenant share the
   * limit, because a tenant can create keys.
   */
  readonly each: number;
}

const MEBIBYTE = 1024 * 1024;

/**
 * Default limits. A pod has 512 MiB by default, and a parsed body takes more memory than its bytes. The largest body is
 * 16 MiB.
 */
const LIMITS: BodyLimits = { total: 128 * MEBIBYTE, each: 40 * MEBIBYTE };

/** Size in bytes below which a body is not counted, because it takes no more memory than its connection. */
const SMALL = 4096;
const RETRY_AFTER_SECONDS = 1;

/** The expected size of a body: its Content-Length, or the limit of the route. */
function claimed({ method, headers, routeOptions }: FastifyRequest): number {
  // Methods whose body is not read, and bodies that are not held in memory.
  if (method === 'GET' || method === 'HEAD' || routeOptions.config.streamsBody === true) return 0;
  const length = headers['content-length'];
  if (length === undefined) return headers['transfer-encoding'] === undefined ? 0 : routeOptions.bodyLimit;
  const size = Number(length);
  // A body above the limit of the route is rejected before it is read.
  return size <= SMALL || size > routeOptions.bodyLimit ? 0 : size;
}

/** Checks that there is memory for the body, after authentication. @throws ApiError 429, 503 */
export function limitBodies({ total, each }: BodyLimits = LIMITS) {
  let all = 0;
  const held = new Map<string, number>();
  const add = (owner: string, bytes: number) => {
    all += bytes;
    const own = (held.get(owner) ?? 0) + bytes;
    if (own === 0) held.delete(owner);
    else held.set(owner, own);
  };
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const { caller } = request;
    const size = caller === null ? 0 : claimed(request);
    if (caller === null || size === 0) return;
    const owner = keyOf(caller.principal)?.keyTenantId ?? limitIdOf(caller.principal) ?? '';
    const retry = { retryAfterSeconds: RETRY_AFTER_SECONDS };
    if ((held.get(owner) ?? 0) + size > each)
      throw new ApiError(
        429,
        'The request bodies of your keys together exceed the size limit. Wait for responses, then try again.',
        retry,
      );
    if (all + size > total)
      throw new ApiError(503, 'The server is receiving too many request bodies at once. Try again.', retry);
    add(owner, size);
    onDisconnect(reply, () => add(owner, -size));
  };
}
