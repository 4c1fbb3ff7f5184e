import type { Logger } from '../../../domain/core/logger.ts';
import type { Clock } from '../client/clock.ts';
import type { KubeError } from '../client/errors.ts';
import type { ReflectorStats, WatchEnd } from './reflector-options.ts';

/** Counters and log messages of a reflector. */
export class ReflectorHealth {
  readonly #kind: string;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #counts = { lists: 0, errors: 0, events: 0 };
  readonly #restarts: Partial<Record<WatchEnd, number>> = {};
  #watches = 0;
  #signsOfLife = 0;
  readonly #since: Date;
  #lastEventAt: Date | undefined;
  #lastError: string | undefined;
  /** Number of `gone` failures since the last list. */
  #tooFarBehind = 0;

  constructor({ kind, logger, clock }: { kind: string; logger: Logger; clock: Clock }) {
    this.#kind = kind;
    this.#logger = logger;
    this.#clock = clock;
    this.#since = clock.date();
  }

  /** Number of events and bookmarks. */
  get signsOfLife(): number {
    return this.#signsOfLife;
  }

  listed(): void {
    this.#tooFarBehind = 0;
    this.#counts.lists += 1;
    this.#lastEventAt = this.#clock.date();
  }

  opensWatch(): void {
    this.#watches += 1;
  }

  /** The server has ended the watch regularly. */
  ended(): void {
    this.#restarted('ended');
  }

  #restarted(cause: WatchEnd): void {
    this.#restarts[cause] = (this.#restarts[cause] ?? 0) + 1;
  }

  /** The watch delivered an event. */
  received(type: string): void {
    if (type !== 'BOOKMARK') this.#counts.events += 1;
    this.#signsOfLife += 1;
    this.#lastEventAt = this.#clock.date();
    this.works();
  }

  works(): void {
    if (this.#lastError === undefined) return;
    this.#logger.info({ kind: this.#kind }, 'list and watch work again');
    this.#lastError = undefined;
  }

  /** Logs the same failure once, however often it is retried. */
  failed(error: KubeError, delayMs: number): void {
    this.#counts.errors += 1;
    this.#restarted(error.kind);
    const fields = { kind: this.#kind, error: error.message, status: error.status, delayMs };
    if (error.kind === 'gone') {
      // The server has responded, so a single expired watch is not a failure. Repeated expiry is a failure.
      this.#logger.info(fields, 'the watch is too far behind; listing again');
      this.#tooFarBehind += 1;
      if (this.#tooFarBehind > 1) this.#lastError = error.message;
      return;
    }
    if (error.message === this.#lastError) this.#logger.debug(fields, 'list or watch failed again');
    else this.#logger.warn(fields, 'list or watch failed; next: none, it is retried');
    this.#lastError = error.message;
  }

  stats(): Omit<ReflectorStats, 'objects' | 'handlerErrors'> {
    return {
      ...this.#counts,
      restarts: { ...this.#restarts },
      watchRestarts: Math.max(0, this.#watches - 1),
      since: this.#since,
      lastEventAt: this.#lastEventAt,
      lastError: this.#lastError,
    };
  }
}
