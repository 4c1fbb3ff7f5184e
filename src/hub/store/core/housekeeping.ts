import type { Logger } from '../../../domain/core/logger.ts';
import { TERMINAL_STATUSES } from '../../../domain/revision/states.ts';
import { pruneBuildLogs } from '../builds/build-logs.ts';
import { enqueueUnusedUploads } from '../builds/uploads.ts';
import { NEVER_HANDED_OUT } from '../listeners/requeue-work.ts';
import { renewBuildCredentials } from '../secrets/build-credentials.ts';
import { DESIRED_REVISION } from '../sql/fragments/desired-revision.ts';
import type { Scope, Transaction } from './database.ts';
import { alias, and, type PgTable, sql } from './drizzle.ts';
import {
  accessTokens,
  deployments,
  deviceLogins,
  idempotencyKeys,
  logRequests,
  secretSets,
  sessions,
  tombstones,
  webhookDeliveries,
} from './schema.ts';

/** One part of the hourly housekeeping. */
export interface Chore {
  readonly what: string;
  /** Processes a bounded portion. Platform scope. @returns the number of processed rows; 0: no rows are left */
  readonly portion: (transaction: Transaction) => Promise<number>;
}

/**
 * Selects a revision (`r`) that a newer revision has superseded before its listener first connected. No cluster has
 * this revision. The first report sets the status of the revision to SKIPPED.
 */
const NEVER_STARTS = `(r.status = 'QUEUED' AND ${NEVER_HANDED_OUT})`;

/**
 * Selects secrets (`s`) of a deployment (`d`) that no revision needs. Secrets are needed by revisions that may run, by
 * the desired revision (even if many later builds have failed), and by the newest `kept` revisions. A new set may
 * belong to a change that is not committed yet, so it is kept.
 */
const prunable = (kept: number) => sql`s.deployment_id = d.id AND s.id IS DISTINCT FROM d.secrets_id
  AND s.created_at < now() - interval '1 hour'
  AND NOT EXISTS (SELECT 1 FROM revisions r WHERE r.deployment_id = d.id AND r.secrets_id = s.id
    AND (r.id = d.active_revision_id OR r.id = d.latest_revision_id OR r.id = ${sql.raw(DESIRED_REVISION)}
      OR r.status <> ALL(${sql.param(TERMINAL_STATUSES)}::text[]) AND NOT ${sql.raw(NEVER_STARTS)}
      OR r.number > (SELECT max(n.number) FROM revisions n WHERE n.deployment_id = d.id) - ${kept}::int))`;

const DEPLOYMENTS_AT_ONCE = 200;
/** Maximum number of secret sets that one statement deletes. */
const SETS_AT_ONCE = 1_000;

/**
 * Removes a portion of the secrets of revisions that have ended or will never start. The newest `kept` revisions of a
 * deployment, and the latest and the active revision, keep their secrets. Platform scope.
 * @returns the number of deployments whose secrets were removed; 0: no secrets are left to remove
 */
export async function pruneSecrets(transaction: Transaction, kept: number): Promise<number> {
  const { drizzle } = transaction;
  const d = alias(deployments, 'd');
  // Numbers have no gaps, so the highest number is the count. Locked deployments are skipped.
  const locked = await drizzle
    .select({ id: d.id })
    .from(d)
    .where(
      and(
        sql`${d.id} IN (SELECT deployment_id FROM revisions WHERE number > ${kept})`,
        sql`EXISTS (SELECT 1 FROM secret_sets s WHERE ${prunable(kept)})`,
      ),
    )
    .orderBy(d.id)
    .limit(DEPLOYMENTS_AT_ONCE)
    .for('no key update', { of: d, skipLocked: true });
  if (locked.length === 0) return 0;
  // A separate statement is used, so that it sees changes that were committed before the lock, such as a rollback to an
  // old revision.
  const ids = locked.map(({ id }) => id);
  await drizzle.delete(secretSets).where(
    sql`${secretSets.id} IN (SELECT s.id FROM secret_sets s, deployments d
      WHERE d.id = ANY(${sql.param(ids)}::uuid[]) AND ${prunable(kept)} LIMIT ${SETS_AT_ONCE})`,
  );
  return locked.length;
}

/**
 * Number of rows per statement. With this number, a statement takes far less than the timeout of ten seconds, and locks
 * are short.
 */
const REMOVED_AT_ONCE = 500;

/** Locked rows are skipped. The next portion or the next hour removes the skipped rows. */
const removal = (what: string, table: PgTable, expired: string): Chore => ({
  what,
  portion: async ({ drizzle }) => {
    const removed = await drizzle.delete(table).where(
      sql`ctid = ANY(ARRAY(SELECT t.ctid FROM ${table} t WHERE ${sql.raw(expired)}
        LIMIT ${REMOVED_AT_ONCE} FOR UPDATE OF t SKIP LOCKED))`,
    );
    return removed.rowCount ?? 0;
  },
});

/** Ids of deliveries are kept for some days, because git hosts repeat deliveries for days. */
const OLD_ID = `t.received_at < now() - interval '7 days' AND t.delivery_id NOT LIKE 'sha256:%'`;
/** A signature without a time could be replayed by anyone who obtained the body, so its hash is kept longer. */
const OLD_HASH = `t.received_at < now() - interval '90 days' AND t.delivery_id LIKE 'sha256:%'`;

/**
 * A tombstone with pending purge work is kept twice as long, because its listener may return late, but not if the
 * listener was deleted. The tombstone of a deployment that was deleted with keep_workloads is kept until the deployment
 * is released, because its pods pull images.
 */
const OLD_TOMBSTONE = `t.purged_at < now() - interval '30 days' AND NOT t.kept_workloads
  AND NOT (t.due AND t.purged_at > now() - interval '60 days'
    AND EXISTS (SELECT 1 FROM listeners l WHERE l.id = t.listener_id AND l.lease_expires_at > now()))`;

/** A session is kept for a day after its end, so that the answer of its sign-in cannot be used again. */
const OLD_SESSION = `least(t.expires_at, t.ended_at) < now() - interval '1 day'`;

/** A token is listed for a week after its end. */
const OLD_TOKEN = `least(t.expires_at, t.revoked_at) < now() - interval '7 days'`;

/** The chores that remove expired rows. */
export const EXPIRED: readonly Chore[] = [
  removal('stored responses for Idempotency-Keys', idempotencyKeys, 't.expires_at <= now()'),
  removal('deliveries of webhooks', webhookDeliveries, OLD_ID),
  removal('hashes of deliveries', webhookDeliveries, OLD_HASH),
  removal('tombstones', tombstones, OLD_TOMBSTONE),
  removal('log requests of disconnected readers', logRequests, 't.expires_at < now()'),
  removal('sessions that have ended', sessions, OLD_SESSION),
  removal('access tokens that have ended', accessTokens, OLD_TOKEN),
  removal('logins of devices', deviceLogins, `t.expires_at < now() - interval '1 day'`),
];

/** All chores. `keptSecrets`: the number of newest revisions of a deployment whose secrets are kept. */
export const choresOf = (keptSecrets: number): readonly Chore[] => [
  // This chore comes first, because waiting builds need their credentials, whereas the other chores remove data that is
  // no longer needed.
  { what: 'credentials of waiting builds', portion: renewBuildCredentials },
  ...EXPIRED,
  {
    what: 'secrets of old revisions',
    portion: (transaction) => pruneSecrets(transaction, keptSecrets),
  },
  { what: 'logs of old builds', portion: pruneBuildLogs },
  // The cleanup of the registry removes the uploads.
  { what: 'uploads that no revision needs', portion: enqueueUnusedUploads },
];

/**
 * Runs all chores in portions. Each portion has its own transaction, so that no deployment waits for all portions. A
 * failed chore is logged and does not stop the other chores.
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
        `failed to remove expired data (${what}); next: none, it is retried in an hour`,
      );
    }
  }
}
