import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../domain/core/logger.ts';
import { ForeignMigration, NotMigrated, StoreError } from '../hub/store/core/errors.ts';

const LOOK_EVERY_MS = 1_000;

export interface WaitForMigration {
  /** Longest wait; 0: none, what is missing is told at once. */
  readonly seconds: number;
  readonly logger: Logger;
  /** Ends the wait early. */
  readonly stopping: AbortSignal;
}

/** What somebody else may be about to mend: the migration of an installation runs beside its API, its database may start. */
const mayCome = (error: unknown): error is Error =>
  (error instanceof NotMigrated && !(error instanceof ForeignMigration)) ||
  (error instanceof StoreError && error.retryable);

/**
 * Resolves once `check` does. Says what it waits for when that changes, not at each look.
 * @throws what `check` throws, when the time is over, the wait is ended, or waiting does not help
 */
export async function untilMigrated(
  check: () => Promise<void>,
  { seconds, logger, stopping }: WaitForMigration,
): Promise<void> {
  const end = performance.now() + seconds * 1000;
  let told: string | undefined;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (!mayCome(error) || performance.now() >= end || stopping.aborted) throw error;
      if (error.message !== told)
        logger.info({ reason: error.message, seconds }, 'waiting for the database to be migrated');
      told = error.message;
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal: stopping }).catch(() => undefined);
  }
}
