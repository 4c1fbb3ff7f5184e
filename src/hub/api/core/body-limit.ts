import type { FastifyReply, FastifyRequest } from 'fastify';
import { onGone } from './client-disconnect.ts';
import { ApiError } from './errors.ts';

/**
 * What the bodies of authenticated requests may hold in memory together, from when they begin to come until they are
 * answered: each has a limit of its own, and half a minute to come. The limits are of one process.
 */

export interface BodyLimits {
  /** Bytes, in all. */
  readonly total: number;
  /** Bytes of one tenant, or of one key that is no tenant's: a tenant makes itself keys. */
  readonly each: number;
}

const MEBIBYTE = 1024 * 1024;

/** A pod has 512 MiB by default, and what is read of a body takes more than its bytes. The largest body has 16 MiB. */
const LIMITS: BodyLimits = { total: 128 * MEBIBYTE, each: 40 * MEBIBYTE };

/** A smaller one takes no more than its connection. */
const SMALL = 4096;
const RETRY_AFTER_SECONDS = 1;

/** What a body may come to: as it says, or, of one that does not say, as much as the route takes. */
function claimed({ method, headers, routeOptions }: FastifyRequest): number {
  // The body of such is not read.
  if (method === 'GET' || method === 'HEAD') return 0;
  const length = headers['content-length'];
  if (length === undefined) return headers['transfer-encoding'] === undefined ? 0 : routeOptions.bodyLimit;
  const size = Number(length);
  // What is larger than the route takes is refused without being read.
  return size <= SMALL || size > routeOptions.bodyLimit ? 0 : size;
}

/** A check, once the caller is known, that there is room for the body. @throws ApiError 429, 503 */
export function bodyRoom({ total, each }: BodyLimits = LIMITS) {
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
        'Too many bytes of bodies are being sent with keys of yours at once. Wait for answers, then try again.',
        retry,
      );
    if (all + size > total)
      throw new ApiError(503, 'Too many bytes of bodies are being received. Try again.', retry);
    add(owner, size);
    onGone(reply, () => add(owner, -size));
  };
}
