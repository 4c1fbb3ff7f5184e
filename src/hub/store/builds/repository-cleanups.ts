import { TERMINAL_STATUSES } from '../../../domain/revision/states.ts';
import type { Reader, Transaction } from '../core/database.ts';
import { and, eq, or, sql } from '../core/drizzle.ts';
import { deployments, repositoryCleanings, revisions } from '../core/schema.ts';
import { claimCleaningsStatement } from '../sql/builds/claim-cleanings.ts';
import { enqueueCleaningsStatement } from '../sql/builds/enqueue-cleanings.ts';

/**
 * Pending cleanups of the platform's registry. A row is kept until its cleanup is complete, so that each cleanup runs
 * at least once, even after a restart. Each deployment has one row. The registry itself lists its images.
 */

/** A repository to clean up. */
export interface RepositoryCleaning {
  readonly deploymentId: string;
  readonly tenantId: string;
  readonly appName: string;
  /** Whether all images are removed. */
  readonly whole: boolean;
  /** The number of attempts, including the current attempt. */
  readonly attempts: number;
}

/** How long a process may clean up a repository before another process does so, in seconds. */
export const CLEANING_LEASE_SECONDS = 600;

/** Requests cleanups of the repositories of these deployments, because each got another image. */
export async function enqueueCleanings(
  transaction: Transaction,
  deploymentIds: readonly string[],
): Promise<void> {
  if (deploymentIds.length > 0) await transaction.run(enqueueCleaningsStatement, { deploymentIds });
}

/**
 * Claims up to `limit` due cleanups for `leaseSeconds`. If the process dies, another process claims the cleanups after
 * this time. Platform scope.
 */
export function claimCleanings(
  transaction: Transaction,
  { limit, leaseSeconds }: { limit: number; leaseSeconds: number },
): Promise<RepositoryCleaning[]> {
  return transaction.run(claimCleaningsStatement, { limit, leaseSeconds });
}

/** Matches no row if a cleanup was requested again in the meantime, because more images may be unused now. */
const unchanged = ({ deploymentId, attempts, whole }: RepositoryCleaning) =>
  and(
    eq(repositoryCleanings.deploymentId, deploymentId),
    eq(repositoryCleanings.attempts, attempts),
    eq(repositoryCleanings.whole, whole),
  );

/** Records that no images are left to remove. Platform scope. */
export async function finishCleaning(transaction: Transaction, cleaning: RepositoryCleaning): Promise<void> {
  await transaction.drizzle.delete(repositoryCleanings).where(unchanged(cleaning));
}

/** Records a failure. The cleanup is due again after the given number of seconds. Platform scope. */
export async function postponeCleaning(
  transaction: Transaction,
  cleaning: RepositoryCleaning,
  seconds: number,
): Promise<void> {
  await transaction.drizzle
    .update(repositoryCleanings)
    .set({ nextAttemptAt: sql`now() + make_interval(secs => ${seconds}::float8)` })
    .where(unchanged(cleaning));
}

/** Removes all requests, for a registry that the hub does not clean up. Platform scope. */
export async function discardCleanings(transaction: Transaction): Promise<void> {
  await transaction.drizzle.delete(repositoryCleanings);
}

/**
 * The revisions of a deployment whose images are needed: revisions that may run, and the newest `kept` revisions.
 * Platform scope. The conditions equal the conditions for the secrets of revisions (hub/store/core/housekeeping.ts),
 * because a revision cannot be repeated without its secrets.
 * @returns the numbers of these revisions, and the known images
 */
export function neededImages(
  reader: Reader,
  deploymentId: string,
  kept: number,
): Promise<{ readonly number: number; readonly image: string | null }[]> {
  const newest = sql`(SELECT max(n.number) FROM ${revisions} n WHERE n.deployment_id = ${deploymentId})`;
  return reader.drizzle
    .select({ number: revisions.number, image: revisions.resolvedImage })
    .from(revisions)
    .innerJoin(deployments, eq(deployments.id, revisions.deploymentId))
    .where(
      and(
        eq(deployments.id, deploymentId),
        or(
          eq(revisions.id, deployments.activeRevisionId),
          eq(revisions.id, deployments.latestRevisionId),
          sql`${revisions.status} <> ALL(${sql.param(TERMINAL_STATUSES)}::text[])`,
          sql`${revisions.number} > ${newest} - ${kept}`,
        ),
      ),
    );
}
