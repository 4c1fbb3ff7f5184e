import { randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Logger, withFields } from '../../../domain/core/logger.ts';
import { isKubeError } from '../client/errors.ts';
import { onBehalfOf } from '../transport/flow-context.ts';
import type { WorkQueue } from './work-queue.ts';

/** How a reconcile ended. */
export type ReconcileOutcome =
  | { kind: 'settled' }
  /** Reconcile again after this time, without counting as a failure. */
  | { kind: 'requeue'; afterMs: number }
  /** Transient failure: retried after a backoff, at least the error's retryAfterMs. */
  | { kind: 'retry'; error: unknown }
  /** Permanent failure: not retried until the object changes. */
  | { kind: 'terminal'; error: unknown };

export interface WorkersOptions {
  /** The queue of keys. The workers shut it down when they stop, so a new term of leadership needs a new queue. */
  queue: WorkQueue;
  /**
   * Reconciles one key, on behalf of its tenant. An error counts as `retry`. The signal fires at the deadline and with
   * `abort`. The id is on every log line of this reconcile.
   */
  reconcile: (key: string, signal: AbortSignal, reconcileId: string) => Promise<ReconcileOutcome>;
  workers: number;
  /** Deadline of one reconcile in ms, default 60 s. */
  deadlineMs?: number;
  logger: Logger;
  /** Fires to stop new keys. Current reconciles may finish (SIGTERM). */
  signal: AbortSignal;
  /** Fires to abort current reconciles (leadership lost). */
  abort?: AbortSignal;
  onOutcome?: (result: { key: string; outcome: ReconcileOutcome; durationMs: number }) => void;
}

/** Distinguishes the reconciles of this process from those of other processes. */
const PROCESS = randomBytes(4).toString('hex');
let reconciles = 0;

function nextReconcileId(): string {
  reconciles += 1;
  return `${PROCESS}-${reconciles.toString(36)}`;
}

const DEADLINE_MS = 60_000;
/** A reconcile that still runs at this time after its signal fired is considered to ignore the signal. */
const OVERDUE_MS = 10_000;

/** Runs workers until the signal fires; resolves when the last reconcile has ended. */
export async function runWorkers(options: WorkersOptions): Promise<void> {
  const { queue, workers, signal, abort } = options;
  const stop = () => void queue.shutdown();
  for (const source of [signal, abort]) {
    if (source?.aborted) stop();
    source?.addEventListener('abort', stop, { once: true });
  }
  try {
    await Promise.all(Array.from({ length: workers }, () => work(options)));
  } finally {
    for (const source of [signal, abort]) source?.removeEventListener('abort', stop);
  }
}

async function work(options: WorkersOptions): Promise<void> {
  const { queue, onOutcome } = options;
  for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
    const began = performance.now();
    const reconcileId = nextReconcileId();
    const logger = withFields(options.logger, { reconcileId });
    const attemptOptions = { ...options, logger };
    const outcome = await onBehalfOf(queue.tenantOf(key), () => attempt(key, reconcileId, attemptOptions));
    settle(queue, key, outcome, attemptOptions);
    queue.done(key);
    try {
      onOutcome?.({ key, outcome, durationMs: performance.now() - began });
    } catch (error) {
      logger.error({ err: error, object: key }, 'the observer of outcomes threw an error; continuing');
    }
    // A reconcile without calls does not yield to the event loop, and a start causes thousands of such reconciles.
    // Without this pause, timers and responses would wait for all reconciles, including the renewal of the lease.
    await nextTurn();
  }
}

/** One reconcile with its deadline. Never throws. */
async function attempt(key: string, reconcileId: string, options: WorkersOptions): Promise<ReconcileOutcome> {
  const { reconcile, abort, logger, deadlineMs = DEADLINE_MS } = options;
  const ending = new AbortController();
  let overdue: NodeJS.Timeout | undefined;
  const end = (reason: unknown) => {
    ending.abort(reason);
    overdue ??= setTimeout(
      () =>
        logger.error(
          { object: key },
          'a reconcile did not stop after its deadline; its worker is blocked until it ends',
        ),
      OVERDUE_MS,
    );
  };
  const onAbort = () => end(abort?.reason);
  if (abort?.aborted) onAbort();
  abort?.addEventListener('abort', onAbort, { once: true });
  const timer = setTimeout(
    () => end(new Error(`the reconcile took longer than ${deadlineMs} ms`)),
    deadlineMs,
  );
  try {
    return await reconcile(key, ending.signal, reconcileId);
  } catch (error) {
    return { kind: 'retry', error };
  } finally {
    clearTimeout(timer);
    clearTimeout(overdue);
    abort?.removeEventListener('abort', onAbort);
  }
}

function settle(
  queue: WorkQueue,
  key: string,
  outcome: ReconcileOutcome,
  { logger, abort }: WorkersOptions,
): void {
  switch (outcome.kind) {
    case 'settled':
      queue.forget(key);
      return;
    case 'requeue':
      queue.forget(key);
      queue.addAfter(key, outcome.afterMs);
      return;
    case 'terminal':
      queue.forget(key);
      logger.warn(
        { object: key, error: messageOf(outcome.error) },
        'failed to reconcile: see error; next: change the object, it is not retried before',
      );
      return;
    case 'retry': {
      if (abort?.aborted) return;
      const { error } = outcome;
      // guard: retry-after
      const minDelayMs = isKubeError(error) ? error.retryAfterMs : undefined;
      // guard: failed-reconcile-retried
      const delayMs = queue.addRateLimited(key, minDelayMs);
      const fields = {
        key,
        error: messageOf(error),
        delayMs: Math.round(delayMs),
        failures: queue.failures(key),
      };
      // A conflict is the normal sign that the object has changed. An unknown error may be a bug.
      if (isKubeError(error, 'conflict'))
        logger.debug(fields, 'the object changed during the reconcile; reconciling again');
      else if (isKubeError(error))
        logger.warn(fields, 'failed to reconcile: see error; next: none, it is retried');
      else
        logger.warn({ ...fields, err: error }, 'failed to reconcile: see error; next: none, it is retried');
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
