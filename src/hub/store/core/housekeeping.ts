import type { Logger } from '../../../domain/core/logger.ts';
import { TERMINAL_STATUSES } from '../../../domain/revision/states.ts';
import { pruneBuildLogs } from '../builds/build-logs.ts';
import { DESIRED_REVISION } from '../listeners/listener-work-rows.ts';
import { NEVER_HANDED_OUT } from '../listeners/requeue-work.ts';
import { renewBuildCredentials } from '../secrets/build-credentials.ts';
import type { Scope, Transaction } from './database.ts';

/** One part of the hourly housekeeping. */
export interface Chore {
  readonly what: string;
  /** Does a bounded portion. Platform scope. @returns the amount of work done; 0: nothing is left */
  readonly portion: (transaction: Transaction) => Promise<number>;
}

/**
 * A revision (`r`) that a newer one has superseded before its listener first connected. No cluster has it. The first
 * report marks it SKIPPED.
 */
const NEVER_STARTS = `(r.status = 'QUEUED' AND ${NEVER_HANDED_OUT})`;

/**
 * Secrets (`s`) of a deployment (`d`) that no revision needs: not one that may run, not the desired one (however many
 * builds have failed since), and none of the newest $1. A new set may belong to a change that is not committed yet.
 */
const PRUNABLE = `s.deployment_id = d.id AND s.id IS DISTINCT FROM d.secrets_id AND s.created_at < now() - interval '1 hour'
  AND NOT EXISTS (SELECT 1 FROM revisions r WHERE r.deployment_id = d.id AND r.secrets_id = s.id
    AND (r.id = d.active_revision_id OR r.id = d.latest_revision_id OR r.id = ${DESIRED_REVISION}
      OR r.status <> ALL($2::text[]) AND NOT ${NEVER_STARTS}
      OR r.number > (SELECT max(n.number) FROM revisions n WHERE n.deployment_id = d.id) - $1))`;

/** Numbers have no gaps, so the highest number is the count. Locked deployments are skipped. */
const LOCK_PRUNABLE = `
SELECT d.id FROM deployments d
WHERE d.id IN (SELECT deployment_id FROM revisions WHERE number > $1)
  AND EXISTS (SELECT 1 FROM secret_sets s WHERE ${PRUNABLE})
ORDER BY d.id LIMIT $3 FOR NO KEY UPDATE OF d SKIP LOCKED`;

/** A separate statement, so that it sees what was committed before the lock, such as a rollback to an old revision. */
const PRUNE = `
DELETE FROM secret_sets WHERE id IN (
  SELECT s.id FROM secret_sets s, deployments d WHERE d.id = ANY($3::uuid[]) AND ${PRUNABLE} LIMIT $4)`;

const DEPLOYMENTS_AT_ONCE = 200;
/** Deletes the secrets of these deployments. */
const SETS_AT_ONCE = 1_000;

/**
 * Removes a portion of the secrets of revisions that have ended or will never start, that are older than the newest
 * `kept` of their deployment, and neither the latest nor the active one. Platform scope.
 * @returns the number of deployments that had such secrets; 0: none is left
 */
export async function pruneSecrets(transaction: Transaction, kept: number): Promise<number> {
  const rows = await transaction.query<{ id: string }>(LOCK_PRUNABLE, [
    kept,
    TERMINAL_STATUSES,
    DEPLOYMENTS_AT_ONCE,
  ]);
  const ids = rows.map(({ id }) => id);
  if (ids.length > 0) await transaction.query(PRUNE, [kept, TERMINAL_STATUSES, ids, SETS_AT_ONCE]);
  return rows.length;
}

/** Rows per statement. It stays far below the timeout of ten seconds, and no lock lasts long enough to be noticed. */
const REMOVED_AT_ONCE = 500;

/** Locked rows are skipped. The next portion or the next hour removes them. */
const removal = (what: string, table: string, expired: string): Chore => {
  const text = `
DELETE FROM ${table} WHERE ctid = ANY(ARRAY(
  SELECT t.ctid FROM ${table} t WHERE ${expired} LIMIT ${REMOVED_AT_ONCE} FOR UPDATE OF t SKIP LOCKED))
RETURNING 1`;
  return { what, portion: async (transaction) => (await transaction.query(text)).length };
};

/** Git hosts repeat deliveries for days. */
const OLD_ID = `t.received_at < now() - interval '7 days' AND t.delivery_id NOT LIKE 'sha256:%'`;
/** A signature without a time could be replayed by anyone who obtained the body, so its hash is kept longer. */
const OLD_HASH = `t.received_at < now() - interval '90 days' AND t.delivery_id LIKE 'sha256:%'`;

/**
 * A tombstone with pending purge work is kept twice as long, since its listener may never return, and shorter if the
 * listener was deleted. A deployment that left with its workloads is kept until it is released, because it pulls
 * images.
 */
const OLD_TOMBSTONE = `t.purged_at < now() - interval '30 days' AND NOT t.kept_workloads
  AND NOT (t.due AND t.purged_at > now() - interval '60 days'
    AND EXISTS (SELECT 1 FROM listeners l WHERE l.id = t.listener_id AND l.lease_expires_at > now()))`;

/** Rows that have expired. */
export const EXPIRED: readonly Chore[] = [
  removal('answers to repeated requests', 'idempotency_keys', 't.expires_at <= now()'),
  removal('deliveries of webhooks', 'webhook_deliveries', OLD_ID),
  removal('hashes of deliveries', 'webhook_deliveries', OLD_HASH),
  removal('tombstones', 'tombstones', OLD_TOMBSTONE),
  removal('requests for logs whose readers have gone', 'log_requests', 't.expires_at < now()'),
];

/** All chores. `keptSecrets`: the number of newest revisions of a deployment whose secrets are kept. */
export const choresOf = (keptSecrets: number): readonly Chore[] => [
  // First, because waiting builds need their credentials, and no one needs what the others remove.
  { what: 'credentials of builds that wait', portion: renewBuildCredentials },
  ...EXPIRED,
  {
    what: 'secrets of old revisions',
    portion: (transaction) => pruneSecrets(transaction, keptSecrets),
  },
  { what: 'logs of old builds', portion: pruneBuildLogs },
];

/**
 * Runs all chores in portions, each in its own transaction, so that no deployment waits for all of them. A failed chore
 * is logged and does not stop the others.
 */
export async function housekeep(
  platform: Scope,
  chores: readonly Chore[],
  logger: Logger,
  stopping: AbortSignal,
): Promise<void> {
  for (const { what, portion } of chores) {
    try {
      while (!stopping.aborted && (await platform.transaction(portion)) > 0);
    } catch (error) {
      logger.warn(
        { what, err: String(error) },
        `failed to remove expired data (${what}); retrying in an hour`,
      );
    }
  }
}
