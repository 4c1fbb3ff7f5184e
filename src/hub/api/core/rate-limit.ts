import { isIP, isIPv4 } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { type Rate, TokenBuckets } from '../../../domain/scheduling/token-buckets.ts';
import { ApiError } from './errors.ts';

/**
 * Rate limits: calls of a key, deliveries of a webhook, and failed authentications of an address (docs/decisions/0017).
 */

export interface RateLimits {
  /** Calls of one API key; null: unlimited. */
  readonly perKey: Rate | null;
  /** Failed authentications from one address; null: unlimited. */
  readonly failures: Rate | null;
  /** Deliveries of the webhooks of one integration; null or absent: unlimited. */
  readonly webhooks?: Rate | null;
  /** Reads of logs and objects in the clusters of one tenant; null or absent: unlimited. */
  readonly clusterReads?: Rate | null;
}

/**
 * Factor of the limit for listeners. A listener serves thousands of deployments with one key, so its calls are counted
 * separately, with this multiple of the limit.
 */
const LISTENER_FACTOR = 10;

const scaled = ({ perSecond, burst }: Rate, factor: number): Rate => ({
  perSecond: perSecond * factor,
  burst: burst * factor,
});

const bucketsOf = (rate: Rate | null) => (rate === null ? null : new TokenBuckets(rate));

function tooMany(detail: string, waitSeconds: number): ApiError {
  return new ApiError(429, detail, { retryAfterSeconds: Math.max(1, Math.ceil(waitSeconds)) });
}

/** The first groups of an IPv6 address, in their shortest form. */
function prefixOf(address: string, count: number): string {
  const [head = '', tail] = address
    .split('::')
    .map((part) => part.split(':').filter((group) => group !== ''));
  const groups = [
    ...head,
    ...Array(Math.max(0, 8 - head.length - (tail?.length ?? 0))).fill('0'),
    ...(tail ?? []),
  ];
  return groups
    .slice(0, count)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}

const GROUP_BITS = 16;

/**
 * The key by which failures are counted: an IPv4 address, or the /64 of an IPv6 address, which belongs to one customer.
 * Values that are not addresses, which a proxy may forward, share one key.
 * @param bits of the network of an IPv6 address, a multiple of 16
 */
export function networkOf(address: string, bits = 64): string {
  const mapped = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i.exec(address)?.[1] ?? address;
  if (isIPv4(mapped)) return mapped;
  return isIP(mapped) === 6 ? `${prefixOf(mapped, bits / GROUP_BITS)}::/${bits}` : 'unknown';
}

/** Exchanges of tokens of the workloads of one rule. Each of them writes rows of the database. */
const EXCHANGES: Rate = { perSecond: 5, burst: 300 };
/** Logins of devices that one address can start. Each of them is a row of the database. */
const DEVICE_LOGINS: Rate = { perSecond: 0.1, burst: 10 };
/** Size of the IPv6 networks that share this limit: one customer can have a /48, which has 65,536 networks of /64. */
const DEVICE_LOGIN_BITS = 48;
/** Polls of one login of a device. Its interval is at least 5 seconds. Each poll is a transaction. */
const DEVICE_POLLS: Rate = { perSecond: 0.5, burst: 10 };

/** The limits of this process. */
export interface RateLimiter {
  /**
   * @param who the caller in the message; default: the API key
   * @throws ApiError 429 when the caller has called too often
   */
  call(callerId: string | null, byListener: boolean, who?: string): void;
  /**
   * Limits requests with credentials of the registry, by deployment and kind of credential, so that many pushes do not
   * block the pulls of the cluster.
   * @throws ApiError 429
   */
  registryCall(deploymentId: string, kind: string): void;
  /** @throws ApiError 429 when the workloads of a rule have exchanged too many tokens */
  exchange(rule: string): void;
  /** @throws ApiError 429 when the address has started too many logins of devices */
  deviceLogin(request: FastifyRequest): void;
  /** Whether a login of a device is polled far more often than its interval allows. @param codeHash hash of its code */
  isPolledTooOften(codeHash: string): boolean;
  /**
   * Limits reads of logs and objects, each of which costs the listener and the API server of the cluster up to 15 calls.
   * @throws ApiError 429 when the tenant has read too often
   */
  clusterRead(tenantId: string): void;
  /** @throws ApiError 429 when the webhooks of an integration come too often */
  delivery(integrationId: string): void;
  /**
   * Records a failed authentication.
   * @param kind what failures count together; absent: credentials of requests. The id of an integration, for a webhook: a git host
   * delivers for all tenants from the same addresses, so failures of one integration do not count against others. Otherwise a kind
   * that `mayFail` checks before a valid attempt is known, so that other failures of a shared address do not block it.
   * @throws ApiError 429 when the address has failed too often
   */
  failure(request: FastifyRequest, kind?: string): void;
  /**
   * Checks the failures of an address before the authentication. @throws ApiError 429 when the address has failed too
   * often
   */
  mayFail(request: FastifyRequest, kind?: string): void;
}

const failing = ({ ip }: FastifyRequest, kind = '') => `${networkOf(ip)} ${kind}`;

const TOO_MANY_FAILURES =
  'Too many requests without a valid API key were made from this address. Try again later.';

/** @param limits null: no limits */
export function createLimiter(
  limits: RateLimits | null,
  clock: () => number = performance.now.bind(performance),
) {
  const { perKey = null, failures = null, webhooks = null, clusterReads = null } = limits ?? {};
  const keys = bucketsOf(perKey);
  const listeners = bucketsOf(perKey === null ? null : scaled(perKey, LISTENER_FACTOR));
  const addresses = bucketsOf(failures);
  const integrations = bucketsOf(webhooks);
  const readers = bucketsOf(clusterReads);
  const rules = bucketsOf(failures === null ? null : EXCHANGES);
  const devices = bucketsOf(failures === null ? null : DEVICE_LOGINS);
  const polls = bucketsOf(failures === null ? null : DEVICE_POLLS);
  return {
    call(callerId, byListener, who = 'The API key has') {
      // The key of the listener in the same process is not in the database.
      if (callerId === null) return;
      const wait = (byListener ? listeners : keys)?.take(callerId, clock()) ?? 0;
      if (wait > 0) throw tooMany(`${who} made too many requests. Try again later.`, wait);
    },
    registryCall(deploymentId, kind) {
      const wait = keys?.take(`registry ${kind} ${deploymentId}`, clock()) ?? 0;
      if (wait > 0)
        throw tooMany('Too many registry requests were made for this deployment. Try again later.', wait);
    },
    exchange(rule) {
      const wait = rules?.take(rule, clock()) ?? 0;
      if (wait > 0)
        throw tooMany(`Too many tokens were exchanged for the rule ${rule}. Try again later.`, wait);
    },
    deviceLogin({ ip }) {
      const wait = devices?.take(networkOf(ip, DEVICE_LOGIN_BITS), clock()) ?? 0;
      if (wait > 0) throw tooMany('Too many logins were started from this address. Try again later.', wait);
    },
    isPolledTooOften: (codeHash) => (polls?.take(codeHash, clock()) ?? 0) > 0,
    clusterRead(tenantId) {
      const wait = readers?.take(tenantId, clock()) ?? 0;
      if (wait > 0) throw tooMany('The tenant reads logs and objects too often. Try again later.', wait);
    },
    delivery(integrationId) {
      const wait = integrations?.take(integrationId, clock()) ?? 0;
      if (wait > 0)
        throw tooMany('The webhooks of the integration are delivered too often. Try again later.', wait);
    },
    failure(request, kind) {
      const wait = addresses?.take(failing(request, kind), clock()) ?? 0;
      if (wait > 0) throw tooMany(TOO_MANY_FAILURES, wait);
    },
    mayFail(request, kind) {
      const wait = addresses?.wait(failing(request, kind), clock()) ?? 0;
      if (wait > 0) throw tooMany(TOO_MANY_FAILURES, wait);
    },
  } satisfies RateLimiter;
}
