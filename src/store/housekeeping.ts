import { TERMINAL_STATUSES } from '../domain/states.ts';
import type { Transaction } from './database.ts';
import { WANTED_REVISION } from './listener-work-rows.ts';

/**
 * What is to be purged is kept for twice as long, unless its listener is gone: it may never come. What left with its workloads
 * is kept until it is given up: it pulls images.
 */
const OLD_TOMBSTONES = `
DELETE FROM tombstones t WHERE purged_at < now() - interval '30 days' AND NOT kept_workloads
  AND NOT (due AND purged_at > now() - interval '60 days'
    AND EXISTS (SELECT 1 FROM listeners l WHERE l.id = t.listener_id AND l.lease_expires_at > now()))`;

/**
 * Secrets (`s`) of a deployment (`d`) that no revision needs: none that may still run or that the cluster is told to run
 * (however many builds have failed since), none of the newest $1. A set that was just made may belong to a change that is
 * not committed.
 */
const PRUNABLE = `s.deployment_id = d.id AND s.id IS DISTINCT FROM d.secrets_id AND s.created_at < now() - interval '1 hour'
  AND NOT EXISTS (SELECT 1 FROM revisions r WHERE r.deployment_id = d.id AND r.secrets_id = s.id
    AND (r.id = d.active_revision_id OR r.id = d.latest_revision_id OR r.id = ${WANTED_REVISION}
      OR r.status <> ALL($2::text[])
      OR r.number > (SELECT max(n.number) FROM revisions n WHERE n.deployment_id = d.id) - $1))`;

/** Numbers have no gaps, so the highest one is how many there are. Who changes one of these now is left alone. */
const LOCK_PRUNABLE = `
SELECT d.id FROM deployments d
WHERE d.id IN (SELECT deployment_id FROM revisions WHERE number > $1)
  AND EXISTS (SELECT 1 FROM secret_sets s WHERE ${PRUNABLE})
ORDER BY d.id LIMIT $3 FOR NO KEY UPDATE OF d SKIP LOCKED`;

/** In a statement of its own: it sees what was committed before the lock, such as a rollback to an old revision. */
const PRUNE = `
DELETE FROM secret_sets s USING deployments d WHERE d.id = ANY($3::uuid[]) AND ${PRUNABLE}
RETURNING s.id`;

const PRUNED_AT_ONCE = 200;

/**
 * Removes the secrets of revisions that are over, older than the newest `kept` of their deployment, and neither the
 * latest nor the active one; of a part of all deployments. Platform scope.
 * @returns how many deployments had such; 0: none is left
 */
export async function pruneSecrets(transaction: Transaction, kept: number): Promise<number> {
  const rows = await transaction.query<{ id: string }>(LOCK_PRUNABLE, [
    kept,
    TERMINAL_STATUSES,
    PRUNED_AT_ONCE,
  ]);
  if (rows.length > 0) await transaction.query(PRUNE, [kept, TERMINAL_STATUSES, rows.map(({ id }) => id)]);
  return rows.length;
}

/** Longer than git hosts send a delivery again, and than its signature is taken (domain/webhook-signature.ts). */
/** Git hosts repeat deliveries for days; a body whose signature carries no time could be sent again by whoever got hold of it. */
const OLD_DELIVERIES = `
DELETE FROM webhook_deliveries WHERE received_at < now() - interval '7 days'
  AND (delivery_id NOT LIKE 'sha256:%' OR received_at < now() - interval '90 days')`;

/**
 * Removes what has outlived its use: answers kept for 24 hours, deliveries of webhooks for 7 days (hashes of their bodies for 90), tombstones for 30,
 * requests for logs whose readers have gone.
 * Platform scope.
 */
export async function sweep(transaction: Transaction): Promise<void> {
  await transaction.query('DELETE FROM idempotency_keys WHERE expires_at <= now()');
  await transaction.query(OLD_DELIVERIES);
  await transaction.query(OLD_TOMBSTONES);
  await transaction.query('DELETE FROM log_requests WHERE expires_at < now()');
}
