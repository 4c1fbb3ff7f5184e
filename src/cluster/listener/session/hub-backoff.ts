import { type BackoffOptions, fullJitter } from '../../../domain/core/backoff.ts';
import type { Logger } from '../../../domain/core/logger.ts';
import { type Clock, sleep } from '../../kube/client/clock.ts';
import { HubError } from './hub-client.ts';
import type { Term } from './term.ts';

export interface HubFailureOptions {
  term: Term;
  logger: Logger;
  clock: Clock;
  random: () => number;
}

/**
 * Handles a failed call of the hub. Ends the term if another process has the lease. Otherwise waits with a growing
 * backoff, at least as long as the hub asked for.
 * @param what the call, for the log: `get work`
 */
export async function backOff(
  what: string,
  error: unknown,
  failures: number,
  delays: BackoffOptions,
  options: HubFailureOptions,
  signal: AbortSignal,
): Promise<void> {
  const { term, logger, clock, random } = options;
  if (signal.aborted) return;
  if (error instanceof HubError && error.kind === 'conflict') {
    term.end(error.message);
    return;
  }
  logger.warn({ err: String(error), failures }, `failed to ${what}; next: none, it is retried`);
  const retryAfter = error instanceof HubError ? (error.retryAfterMs ?? 0) : 0;
  await sleep(clock, Math.max(retryAfter, fullJitter(failures, delays, random)), signal);
}
