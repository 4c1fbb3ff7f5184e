import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../domain/core/logger.ts';
import { ForeignMigration, NotMigrated, StoreError } from '../hub/store/core/errors.ts';

const POLL_EVERY_MS = 1_000;

export interface WaitForMigration {
  /** Longest wait. 0: fail at once. */
  readonly seconds: number;
  readonly logger: Logger;
  /** Aborts the wait. */
  readonly stopping: AbortSignal;
}

/** Whether waiting may help: the migration may run at the same time as the API, or the database may still be starting. */
const mayBecomeReady = (error: unknown): error is Error =>
  (error instanceof NotMigrated && !(error instanceof ForeignMigration)) ||
  (error instanceof StoreError && error.retryable);

/**
 * Repeats `check` until it resolves. Logs the reason for the wait only when the reason changes.
 * @throws the error of `check` on timeout, when the wait is aborted, or when waiting does not help
 */
export async function untilMigrated(
  check: () => Promise<void>,
  { seconds, logger, stopping }: WaitForMigration,
): Promise<void> {
  const end = performance.now() + seconds * 1000;
  let lastReason: string | undefined;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (!mayBecomeReady(error) || performance.now() >= end || stopping.aborted) throw error;
      if (error.message !== lastReason)
        logger.info({ reason: error.message, seconds }, 'waiting for the database to be migrated');
      lastReason = error.message;
    }
    await sleep(POLL_EVERY_MS, undefined, { signal: stopping }).catch(() => undefined);
  }
}
