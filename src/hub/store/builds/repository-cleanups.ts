import { TERMINAL_STATUSES } from '../../../domain/revision/states.ts';
import type { Reader, Transaction } from '../core/database.ts';

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

/**
 * A cleanup for the deployments `d` with the ids $1, which got another image. An earlier image of these deployments may
 * be unused.
 */
const ENQUEUE = `
INSERT INTO repository_cleanings (deployment_id, tenant_id, app_name)
SELECT id, tenant_id, app_name FROM deployments WHERE id = ANY($1::uuid[]) ORDER BY id
ON CONFLICT (deployment_id) DO UPDATE SET attempts = repository_cleanings.attempts + 1, next_attempt_at = now()`;

/** Requests cleanups of the repositories of these deployments, because each got another image. */
export async function enqueueCleanings(
  transaction: Transaction,
  deploymentIds: readonly string[],
): Promise<void> {
  if (deploymentIds.length > 0) await transaction.query(ENQUEUE, [deploymentIds]);
}

const CLAIM = `
WITH due AS (
  SELECT deployment_id FROM repository_cleanings WHERE next_attempt_at <= now()
  ORDER BY next_attempt_at LIMIT $1 FOR UPDATE SKIP LOCKED
)
UPDATE repository_cleanings c SET attempts = c.attempts + 1,
  next_attempt_at = now() + make_interval(secs => $2::double precision)
FROM due WHERE c.deployment_id = due.deployment_id
RETURNING c.deployment_id AS "deploymentId", c.tenant_id AS "tenantId", c.app_name AS "appName", c.whole, c.attempts`;

/**
 * Claims up to `limit` due cleanups for `leaseSeconds`. If the process dies, another process claims the cleanups after
 * this time. Platform scope.
 */
export function claimCleanings(
  transaction: Transaction,
  { limit, leaseSeconds }: { limit: number; leaseSeconds: number },
): Promise<RepositoryCleaning[]> {
  return transaction.query<RepositoryCleaning>(CLAIM, [limit, leaseSeconds]);
}

/** Has no effect if a cleanup was requested again in the meantime, because more images may be unused now. */
const DONE = 'DELETE FROM repository_cleanings WHERE deployment_id = $1 AND attempts = $2 AND whole = $3';

/** Records that no images are left to remove. Platform scope. */
export async function finishCleaning(transaction: Transaction, cleaning: RepositoryCleaning): Promise<void> {
  await transaction.query(DONE, [cleaning.deploymentId, cleaning.attempts, cleaning.whole]);
}

const POSTPONE = `
UPDATE repository_cleanings SET next_attempt_at = now() + make_interval(secs => $4::double precision)
WHERE deployment_id = $1 AND attempts = $2 AND whole = $3`;

/** Records a failure. The cleanup is due again after the given number of seconds. Platform scope. */
export async function postponeCleaning(
  transaction: Transaction,
  { deploymentId, attempts, whole }: RepositoryCleaning,
  seconds: number,
): Promise<void> {
  await transaction.query(POSTPONE, [deploymentId, attempts, whole, seconds]);
}

/** Removes all requests, for a registry that the hub does not clean up. Platform scope. */
export async function discardCleanings(transaction: Transaction): Promise<void> {
  await transaction.query('DELETE FROM repository_cleanings');
}

/**
 * The conditions equal the conditions for the secrets of revisions (hub/store/core/housekeeping.ts), because a revision
 * cannot be repeated without its secrets.
 */
const NEEDED = `
SELECT r.number, r.resolved_image AS image FROM revisions r JOIN deployments d ON d.id = r.deployment_id
WHERE d.id = $1 AND (r.id = d.active_revision_id OR r.id = d.latest_revision_id OR r.status <> ALL($2::text[])
  OR r.number > (SELECT max(n.number) FROM revisions n WHERE n.deployment_id = d.id) - $3)`;

/**
 * The revisions of a deployment whose images are needed: revisions that may run, and the newest `kept` revisions.
 * Platform scope.
 * @returns the numbers of these revisions, and the known images
 */
export function neededImages(
  reader: Reader,
  deploymentId: string,
  kept: number,
): Promise<{ readonly number: number; readonly image: string | null }[]> {
  return reader.query(NEEDED, [deploymentId, TERMINAL_STATUSES, kept]);
}
