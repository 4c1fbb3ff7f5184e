import { TERMINAL_STATUSES } from '../../../domain/revision/states.ts';
import type { Reader, Transaction } from '../core/database.ts';

/**
 * What is to be removed from the platform's registry, as rows that stay until it is: at least once, whoever restarts
 * meanwhile. One row a deployment; the registry itself tells what is there.
 */

/** A repository that is to be cleaned. */
export interface RepositoryCleaning {
  readonly deploymentId: string;
  readonly tenantId: string;
  readonly appName: string;
  /** All of it goes. */
  readonly whole: boolean;
  /** This one included. */
  readonly attempts: number;
}

/** The deployment `d` of the ids $1 has another image: an earlier one may be one that nobody needs. */
const ENQUEUE = `
INSERT INTO repository_cleanings (deployment_id, tenant_id, app_name)
SELECT id, tenant_id, app_name FROM deployments WHERE id = ANY($1::uuid[]) ORDER BY id
ON CONFLICT (deployment_id) DO UPDATE SET attempts = repository_cleanings.attempts + 1, next_attempt_at = now()`;

/** Has the repositories of these deployments cleaned: each has got another image. */
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
 * Takes up to `limit` that are due, for `leaseSeconds`: a process that dies meanwhile leaves them to the others. Platform
 * scope.
 */
export function claimCleanings(
  transaction: Transaction,
  { limit, leaseSeconds }: { limit: number; leaseSeconds: number },
): Promise<RepositoryCleaning[]> {
  return transaction.query<RepositoryCleaning>(CLAIM, [limit, leaseSeconds]);
}

/** Nothing happens where it was asked for anew meanwhile: what was found may be too little. */
const DONE = 'DELETE FROM repository_cleanings WHERE deployment_id = $1 AND attempts = $2 AND whole = $3';

/** Nothing is left to be removed. Platform scope. */
export async function finishCleaning(transaction: Transaction, cleaning: RepositoryCleaning): Promise<void> {
  await transaction.query(DONE, [cleaning.deploymentId, cleaning.attempts, cleaning.whole]);
}

const POSTPONE = `
UPDATE repository_cleanings SET next_attempt_at = now() + make_interval(secs => $4::double precision)
WHERE deployment_id = $1 AND attempts = $2 AND whole = $3`;

/** It failed, and is due again after so many seconds. Platform scope. */
export async function postponeCleaning(
  transaction: Transaction,
  { deploymentId, attempts, whole }: RepositoryCleaning,
  seconds: number,
): Promise<void> {
  await transaction.query(POSTPONE, [deploymentId, attempts, whole, seconds]);
}

/** Forgets them all, where the registry is not the hub's to clean. Platform scope. */
export async function discardCleanings(transaction: Transaction): Promise<void> {
  await transaction.query('DELETE FROM repository_cleanings');
}

/** As the secrets of revisions are kept (hub/store/core/housekeeping.ts): without these, a revision cannot be repeated either. */
const NEEDED = `
SELECT r.number, r.resolved_image AS image FROM revisions r JOIN deployments d ON d.id = r.deployment_id
WHERE d.id = $1 AND (r.id = d.active_revision_id OR r.id = d.latest_revision_id OR r.status <> ALL($2::text[])
  OR r.number > (SELECT max(n.number) FROM revisions n WHERE n.deployment_id = d.id) - $3)`;

/**
 * The revisions of a deployment whose images are needed: those that may run, and the newest `kept`. Platform scope.
 * @returns their numbers, and their images as far as these are known
 */
export function neededImages(
  reader: Reader,
  deploymentId: string,
  kept: number,
): Promise<{ readonly number: number; readonly image: string | null }[]> {
  return reader.query(NEEDED, [deploymentId, TERMINAL_STATUSES, kept]);
}
