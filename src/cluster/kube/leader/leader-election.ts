import type { Logger } from '../../../domain/core/logger.ts';
import type { KubeClient } from '../client/client-types.ts';
import { type Clock, sleep, systemClock } from '../client/clock.ts';
import { toKubeError } from '../client/errors.ts';
import type { ObjectName } from '../client/object.ts';
import { LeaseLock } from './lease-lock.ts';

export interface LeaderElectionOptions {
  client: Pick<KubeClient, 'find' | 'create' | 'replace'>;
  lease: Required<ObjectName>;
  /** Unique for each process: host name and a random part. */
  identity: string;
  logger: Logger;
  /**
   * Called when leadership begins. The signal fires when leadership ends. The next term of this process begins only
   * after the returned promise has resolved. If this process stops regularly, the same holds for the terms of other
   * processes. The promise may resolve while work still runs only if that work observes the signal. If the call throws,
   * leadership is released and requested again.
   */
  onStartedLeading: (signal: AbortSignal) => Promise<void> | void;
  onStoppedLeading?: () => void;
  /** Called when this or another process becomes the leader. */
  onNewLeader?: (identity: string) => void;
  /** How long candidates wait for a silent leader; default 15 s. */
  leaseDurationMs?: number;
  /** How long a leader continues after its last renewal; default 10 s, less than leaseDurationMs. */
  renewDeadlineMs?: number;
  /** Interval between renewals, and maximum interval between a candidate's attempts; default 2 s. */
  retryPeriodMs?: number;
  clock?: Clock;
  random?: () => number;
}

const LEASE_DURATION_MS = 15_000;
const RENEW_DEADLINE_MS = 10_000;
const RETRY_PERIOD_MS = 2_000;

interface Moment {
  readonly at: number;
  /** Wall clock, because the monotonic clock may stop while the machine is suspended. */
  readonly date: number;
}

/**
 * Elects one of several processes with a Lease (the algorithm of client-go's leaderelection). Clocks of different
 * processes are never compared. A candidate takes over when it has observed no renewal for the duration of the lease. A
 * leader stops when its last successful renewal was *sent* more than `renewDeadlineMs` ago, on either of its clocks. A
 * wall clock that is set forward ends the term. A new term may begin at once. The election provides liveness, not
 * safety. A process that was suspended may still write before it stops, so writes are also fenced.
 */
export class LeaderElector {
  readonly #options: LeaderElectionOptions;
  readonly #lock: LeaseLock;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #renewDeadlineMs: number;
  readonly #retryPeriodMs: number;
  /** When the last successful renewal of this term was sent; undefined between terms. */
  #renewedAt: Moment | undefined;
  #leader: string | undefined;

  constructor(options: LeaderElectionOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#renewDeadlineMs = options.renewDeadlineMs ?? RENEW_DEADLINE_MS;
    this.#retryPeriodMs = options.retryPeriodMs ?? RETRY_PERIOD_MS;
    const leaseDurationMs = options.leaseDurationMs ?? LEASE_DURATION_MS;
    if (this.#renewDeadlineMs >= leaseDurationMs || this.#retryPeriodMs >= this.#renewDeadlineMs) {
      throw new Error(
        'failed to set up leader election: retry period < renew deadline < lease duration must hold',
      );
    }
    this.#lock = new LeaseLock({ ...options, leaseDurationMs, clock: this.#clock });
  }

  /**
   * True while the last renewal is recent enough. The result is correct even right after a suspension, before any timer
   * has fired.
   */
  isLeader(): boolean {
    // guard: term-expires-by-own-clock
    if (this.#timeLeft() <= 0) return false;
    return this.#renewedAt !== undefined;
  }

  /** Seeks leadership until the signal fires. When the signal fires, ends the term, releases the lease and resolves. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if ((await this.#attempt()) === 'mine') await this.#lead(signal);
      // The pause is shorter than the retry period, so that a released lease is taken within the period. Jitter spreads
      // the candidates.
      await sleep(this.#clock, this.#retryPeriodMs * (0.4 + 0.4 * this.#random()), signal);
    }
  }

  /** One attempt at the lease: taken or renewed (`mine`), held by another process, or unknown (the call failed). */
  async #attempt(): Promise<'mine' | 'other' | 'unknown'> {
    const sent: Moment = { at: this.#clock.now(), date: this.#clock.date().getTime() };
    try {
      const mine = await this.#lock.acquireOrRenew(
        Math.max(1, Math.min(this.#renewDeadlineMs / 2, this.#timeLeft())),
      );
      this.#announce();
      if (mine) this.#renewedAt = sent;
      if (mine) return 'mine';
      // The conflicting write may be a write of this process whose response was lost. The next attempt shows which
      // process holds the lease.
      return this.#lock.holder === this.#options.identity ? 'unknown' : 'other';
    } catch (error) {
      const { logger, lease } = this.#options;
      logger.warn(
        { lease, error: toKubeError(error).message },
        'failed to acquire or renew the lease; next: none, it is retried',
      );
      return 'unknown';
    }
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const { logger, lease, identity, onStoppedLeading } = this.#options;
    const term = new AbortController();
    const stop = () => term.abort(new Error('leadership ended: the process is stopping'));
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    logger.info({ lease, identity }, 'leading');
    const drained = new AbortController();
    const renewals = this.#keepRenewing(term, drained.signal);
    const work = this.#work(term);
    await aborted(term.signal);
    // Renews the lease while the current work drains, so that no other process starts before the work has ended.
    await work;
    drained.abort();
    await renewals;
    signal.removeEventListener('abort', stop);
    let released = false;
    // guard: lease-released-on-stop
    if (this.isLeader()) released = await this.#release();
    this.#renewedAt = undefined;
    logger.info({ lease, identity, released }, 'no longer leading');
    onStoppedLeading?.();
  }

  async #work(term: AbortController): Promise<void> {
    const { onStartedLeading, logger, lease } = this.#options;
    try {
      await onStartedLeading(term.signal);
    } catch (error) {
      if (term.signal.aborted) return;
      logger.error({ err: error, lease }, 'the work of the leader failed; releasing leadership');
      term.abort(error);
    }
  }

  async #keepRenewing(term: AbortController, drained: AbortSignal): Promise<void> {
    while (!drained.aborted) {
      await sleep(this.#clock, Math.max(0, Math.min(this.#retryPeriodMs, this.#timeLeft())), drained);
      if (drained.aborted) return;
      const taken = this.isLeader() && (await this.#attempt()) === 'other';
      if (taken) this.#renewedAt = undefined;
      if (this.isLeader()) continue;
      term.abort(
        new Error(
          `leadership lost: ${taken ? 'another process took the lease' : 'the lease was not renewed in time'}`,
        ),
      );
      return;
    }
  }

  async #release(): Promise<boolean> {
    try {
      await this.#lock.release(this.#retryPeriodMs);
      return true;
    } catch (error) {
      const { logger, lease } = this.#options;
      logger.warn(
        { lease, error: toKubeError(error).message },
        'failed to release the lease; it will expire',
      );
      return false;
    }
  }

  /** Milliseconds until the deadline of this term; infinite without a term. */
  #timeLeft(): number {
    if (this.#renewedAt === undefined) return Number.POSITIVE_INFINITY;
    const { at, date } = this.#renewedAt;
    const passed = Math.max(this.#clock.now() - at, this.#clock.date().getTime() - date);
    return this.#renewDeadlineMs - passed;
  }

  #announce(): void {
    const { holder } = this.#lock;
    if (holder === this.#leader || holder === undefined) return;
    this.#leader = holder;
    this.#options.onNewLeader?.(holder);
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
