import type { LeaseRequest } from '../../../contract/protocol/lease-protocol.ts';
import { fullJitter } from '../../../domain/core/backoff.ts';
import { LISTENER_ABILITIES } from '../../../domain/core/log-query.ts';
import type { Logger } from '../../../domain/core/logger.ts';
import { type Clock, sleep } from '../../kube/client/clock.ts';
import { type HubClient, HubError } from './hub-client.ts';

/** The time in which this process acts for its listener: from taking the hub's lease to losing it. */
export interface Term {
  readonly epoch: number;
  /** Fires when the lease is lost or may have expired. All work must stop at once. */
  readonly lost: AbortSignal;
  /**
   * Whether the lease is certainly still held. The listener checks the lease before each write, because a suspended
   * process does not notice that time passes.
   */
  isValid(): boolean;
  /** Called when the hub reports that another process has the lease. */
  end(why: string): void;
}

/** The part of a lease request that describes the current state of the cluster. */
export type ClusterFacts = Pick<
  LeaseRequest,
  'cluster_version' | 'rendering' | 'cluster_reachable' | 'cluster_id' | 'unreadable_namespaces'
>;

export interface TermOptions {
  hub: Pick<HubClient, 'lease'>;
  /** Unique per process start. */
  identity: string;
  version: string;
  /** Namespaces that the listener may use; null: as registered with the hub. */
  namespaces: readonly string[] | null;
  /**
   * Facts about the cluster; read before each renewal.
   * @param mostMs maximum wait for the cluster, after which the result contains the last known facts. Absent: no maximum
   */
  clusterFacts: (mostMs?: number) => Promise<ClusterFacts>;
  /** Whether the cluster responded to `clusterFacts` in time, and is reachable. */
  isClusterResponding: () => boolean;
  /**
   * Called with the first response of the hub, also when another process holds the lease. The hub then knows the
   * namespaces and the cluster of this listener.
   */
  onAnswer?: () => void;
  /** The work of the term, until the lease is lost or the process stops. An error ends the term. */
  act: (term: Term) => Promise<void>;
  logger: Logger;
  clock: Clock;
  random: () => number;
}

/** Poll interval while another process holds the lease, so that a released lease is taken soon. */
const HELD_RETRY_MS = 1000;
const RETRY = { baseMs: 500, capMs: 10_000 };
/** Retry interval while the settings, or the listener at the hub, must be fixed by a person. */
const REFUSED_RETRY_MS = 10_000;
/** The lease is renewed after this fraction of its time, so that some renewals may fail. */
const RENEW_PART = 3;
/** A renewal waits at most for this fraction of the lease for a cluster that responds slowly or not at all. */
const CLUSTER_WAIT_PART = 10;
/** Maximum renewal interval. A renewal also reports to the hub whether the cluster responds. */
const LONGEST_RENEWAL_MS = 10_000;
/**
 * Renewal interval while the cluster does not respond, so that the hub soon learns of the failure, and hands out work
 * soon after the cluster responds again.
 */
const UNREACHABLE_RENEWAL_MS = 2_000;
const RELEASE_TIMEOUT_MS = 2000;

interface Lease {
  epoch: number;
  ttlMs: number;
  /**
   * End of the lease on the monotonic clock. The duration is counted from before the call was sent, so the lease never
   * ends later than at the hub.
   */
  validUntil: number;
  /** End of the lease on the wall clock, because the monotonic clock may stop while the machine is suspended. */
  validUntilDate: number;
  /** Whether the cluster responded before the lease was requested. */
  responding: boolean;
}

async function claim(
  options: TermOptions,
  more: Pick<LeaseRequest, 'epoch' | 'release'>,
  signal: AbortSignal,
  mostClusterMs?: number,
): Promise<Lease> {
  const { hub, identity, version, namespaces, clock } = options;
  const facts = await options.clusterFacts(mostClusterMs);
  const responding = options.isClusterResponding();
  const sentAt = clock.now();
  const sentDate = clock.date().getTime();
  const { epoch, ttl_seconds: ttl } = await hub.lease(
    {
      holder: identity,
      version,
      abilities: [...LISTENER_ABILITIES],
      ...(namespaces === null ? {} : { namespaces: [...namespaces] }),
      ...facts,
      ...more,
    },
    { signal },
  );
  const ttlMs = ttl * 1000;
  return { epoch, ttlMs, validUntil: sentAt + ttlMs, validUntilDate: sentDate + ttlMs, responding };
}

/**
 * Number of milliseconds for which the lease is certainly still held. A changed clock may end the lease early, never
 * late.
 */
function timeLeft({ validUntil, validUntilDate }: Lease, clock: Clock): number {
  // guard: lease-expires-by-own-clock
  return Math.min(validUntil - clock.now(), validUntilDate - clock.date().getTime());
}

/** Logs a refusal of the lease, but not if it repeats. Returns the wait time in milliseconds. */
function refusalLogger({ logger, identity }: TermOptions): (refusal: HubError) => number {
  let logged: string | undefined;
  return ({ message, isAnotherCluster }) => {
    const fields = { identity, why: message };
    if (message !== logged && isAnotherCluster) logger.error(fields, 'the hub denies the lease');
    else if (message !== logged) logger.info(fields, 'waiting for the lease');
    logged = message;
    return isAnotherCluster ? REFUSED_RETRY_MS : HELD_RETRY_MS;
  };
}

/** Waits for the lease as long as necessary, and takes it. undefined: the signal fired. */
async function acquire(options: TermOptions, signal: AbortSignal): Promise<Lease | undefined> {
  const { logger, clock, random } = options;
  const logRefusal = refusalLogger(options);
  let failures = 0;
  while (!signal.aborted) {
    try {
      const lease = await claim(options, { epoch: null }, signal);
      options.onAnswer?.();
      return lease;
    } catch (error) {
      if (signal.aborted) return undefined;
      if (error instanceof HubError && error.kind === 'conflict') {
        options.onAnswer?.();
        failures = 0;
        await sleep(clock, logRefusal(error) * (0.5 + random()), signal);
      } else {
        logger.warn({ err: String(error) }, 'failed to take the lease; next: none, it is retried');
        failures += 1;
        await sleep(clock, fullJitter(failures, RETRY, random), signal);
      }
    }
  }
  return undefined;
}

function untilRenewal({ ttlMs, responding }: Lease): number {
  return Math.min(ttlMs / RENEW_PART, responding ? LONGEST_RENEWAL_MS : UNREACHABLE_RENEWAL_MS);
}

/** Renews until the signal fires or the lease is lost. Returns why the lease was lost; undefined: the signal fired. */
async function keep(options: TermOptions, lease: Lease, signal: AbortSignal): Promise<string | undefined> {
  const { clock, random, logger } = options;
  let failures = 0;
  while (!signal.aborted) {
    const left = timeLeft(lease, clock);
    if (left <= 0) return 'it could not be renewed in time';
    const pause = failures === 0 ? untilRenewal(lease) : fullJitter(failures, RETRY, random);
    await sleep(clock, Math.min(pause, left), signal);
    if (signal.aborted) return undefined;
    if (timeLeft(lease, clock) <= 0) return 'it could not be renewed in time';
    try {
      const mostClusterMs = lease.ttlMs / CLUSTER_WAIT_PART;
      const renewed = await claim(options, { epoch: lease.epoch }, signal, mostClusterMs);
      const { validUntil, validUntilDate, responding } = renewed;
      Object.assign(lease, { validUntil, validUntilDate, responding });
      failures = 0;
    } catch (error) {
      if (signal.aborted) return undefined;
      if (error instanceof HubError && error.kind === 'conflict') return error.message;
      failures += 1;
      logger.warn({ err: String(error), failures }, 'failed to renew the lease');
    }
  }
  return undefined;
}

async function serve(options: TermOptions, lease: Lease, signal: AbortSignal): Promise<void> {
  const { clock, logger } = options;
  const losing = new AbortController();
  const ended = new AbortController();
  const lose = (why: string) => {
    if (losing.signal.aborted) return;
    logger.warn({ epoch: lease.epoch, why }, 'lost the lease; this process no longer acts');
    losing.abort(new Error(`the lease was lost: ${why}`));
    ended.abort();
  };
  const term: Term = {
    epoch: lease.epoch,
    lost: losing.signal,
    isValid: () => !losing.signal.aborted && timeLeft(lease, clock) > 0,
    end: lose,
  };
  // A renewal that hangs must not extend the term beyond the lease.
  const cancelExpiry = watchExpiry(clock, lease, lose);
  const keeping = keep(options, lease, ended.signal).then((why) => why !== undefined && lose(why));
  try {
    await options.act(term);
  } finally {
    cancelExpiry();
    ended.abort();
    await keeping;
  }
  if (signal.aborted && term.isValid()) await release(options, lease);
}

async function release(options: TermOptions, lease: Lease): Promise<void> {
  try {
    const timeout = AbortSignal.timeout(RELEASE_TIMEOUT_MS);
    await claim(options, { epoch: lease.epoch, release: true }, timeout, 0);
  } catch (error) {
    options.logger.warn({ err: String(error) }, 'failed to release the lease; it will expire');
  }
}

function watchExpiry(clock: Clock, lease: Lease, lose: (why: string) => void): () => void {
  let cancel = () => {};
  const check = () => {
    const left = timeLeft(lease, clock);
    if (left <= 0) lose('the lease expired');
    else cancel = clock.after(left, check);
  };
  check();
  return () => cancel();
}

/**
 * Takes the lease and acts while it is held, repeatedly, until the signal fires. When the signal fires, ends the
 * current term and releases the lease.
 */
export async function runTerms(options: TermOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const lease = await acquire(options, signal);
    if (lease === undefined) return;
    options.logger.info({ epoch: lease.epoch }, 'holding the lease');
    try {
      await serve(options, lease, signal);
    } catch (error) {
      options.logger.error(
        { err: error, epoch: lease.epoch },
        'a term ended with an error; requesting the lease again',
      );
      await sleep(options.clock, fullJitter(1, RETRY, options.random), signal);
    }
  }
}
