import type { FastifyReply, FastifyRequest } from 'fastify';
import { onDisconnect } from './client-disconnect.ts';
import { ApiError } from './errors.ts';

/**
 * Limits the memory of all request bodies of authenticated callers together, from their first byte until the response.
 * Each body has its own limit and half a minute to arrive. The limits apply per process.
 */

export interface BodyLimits {
  /** Bytes of all bodies. */
  readonly total: number;
  /**
   * Bytes of one tenant, or of one key without a tenant. Keys of a tenant share the limit, because a tenant can create
   * keys.
   */
  readonly each: number;
}

const MEBIBYTE = 1024 * 1024;

/** A pod has 512 MiB by default, and a parsed body takes more memory than its bytes. The largest body is 16 MiB. */
const LIMITS: BodyLimits = { total: 128 * MEBIBYTE, each: 40 * MEBIBYTE };

/** A smaller body takes no more memory than its connection. */
const SMALL = 4096;
const RETRY_AFTER_SECONDS = 1;

/** The expected size of a body: its Content-Length, or the limit of the route. */
function claimed({ method, headers, routeOptions }: FastifyRequest): number {
  // The body of these methods is not read.
  if (method === 'GET' || method === 'HEAD') return 0;
  const length = headers['content-length'];
  if (length === undefined) return headers['transfer-encoding'] === undefined ? 0 : routeOptions.bodyLimit;
  const size = Number(length);
  // A body above the limit of the route is rejected without being read.
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
    const owner = caller.keyTenantId ?? caller.keyId ?? '';
    const retry = { retryAfterSeconds: RETRY_AFTER_SECONDS };
    if ((held.get(owner) ?? 0) + size > each)
      throw new ApiError(
        429,
        'The request bodies of your keys exceed the size limit together. Wait for responses, then try again.',
        retry,
      );
    if (all + size > total)
      throw new ApiError(503, 'The server is receiving too many request bodies at once. Try again.', retry);
    add(owner, size);
    onDisconnect(reply, () => add(owner, -size));
  };
}
