import type { Logger } from '../../../domain/core/logger.ts';
import { TERMINAL_STATUSES } from '../../../domain/revision/states.ts';
import { pruneBuildLogs } from '../builds/build-logs.ts';
import { WANTED_REVISION } from '../listeners/listener-work-rows.ts';
import { NEVER_HANDED_OUT } from '../listeners/requeue-work.ts';
import { renewBuildCredentials } from '../secrets/build-credentials.ts';
import type { Scope, Transaction } from './database.ts';

/** A part of what is done every hour. */
export interface Chore {
  readonly what: string;
  /** Does a bounded part of it. Platform scope. @returns how much; 0: nothing is left */
  readonly portion: (transaction: Transaction) => Promise<number>;
}

/**
 * A revision (`r`) that a newer one has overtaken while its listener never came: no cluster has it, and none will. The first
 * report makes it SKIPPED.
 */
const NEVER_STARTS = `(r.status = 'QUEUED' AND ${NEVER_HANDED_OUT})`;

/**
 * Secrets (`s`) of a deployment (`d`) that no revision needs: none that may still run or that the cluster is told to run
 * (however many builds have failed since), none of the newest $1. A set that was just made may belong to a change that is
 * not committed.
 */
const PRUNABLE = `s.deployment_id = d.id AND s.id IS DISTINCT FROM d.secrets_id AND s.created_at < now() - interval '1 hour'
  AND NOT EXISTS (SELECT 1 FROM revisions r WHERE r.deployment_id = d.id AND r.secrets_id = s.id
    AND (r.id = d.active_revision_id OR r.id = d.latest_revision_id OR r.id = ${WANTED_REVISION}
      OR r.status <> ALL($2::text[]) AND NOT ${NEVER_STARTS}
      OR r.number > (SELECT max(n.number) FROM revisions n WHERE n.deployment_id = d.id) - $1))`;

/** Numbers have no gaps, so the highest one is how many there are. Who changes one of these now is left alone. */
const LOCK_PRUNABLE = `
SELECT d.id FROM deployments d
WHERE d.id IN (SELECT deployment_id FROM revisions WHERE number > $1)
  AND EXISTS (SELECT 1 FROM secret_sets s WHERE ${PRUNABLE})
ORDER BY d.id LIMIT $3 FOR NO KEY UPDATE OF d SKIP LOCKED`;

/** In a statement of its own: it sees what was committed before the lock, such as a rollback to an old revision. */
const PRUNE = `
DELETE FROM secret_sets WHERE id IN (
  SELECT s.id FROM secret_sets s, deployments d WHERE d.id = ANY($3::uuid[]) AND ${PRUNABLE} LIMIT $4)`;

const DEPLOYMENTS_AT_ONCE = 200;
/** Of secrets of these. */
const SETS_AT_ONCE = 1_000;

/**
 * Removes the secrets of revisions that are over or will never start, older than the newest `kept` of their deployment, and
 * neither the latest nor the active one; a part of them. Platform scope.
 * @returns how many deployments had such; 0: none is left
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

/** What one statement removes: far from the ten seconds that it has, and from a lock that anybody notices. */
const REMOVED_AT_ONCE = 500;

/** Whoever holds a row is left alone: the next portion, or another hour, finds it. */
const removal = (what: string, table: string, expired: string): Chore => {
  const text = `
DELETE FROM ${table} WHERE ctid = ANY(ARRAY(
  SELECT t.ctid FROM ${table} t WHERE ${expired} LIMIT ${REMOVED_AT_ONCE} FOR UPDATE OF t SKIP LOCKED))
RETURNING 1`;
  return { what, portion: async (transaction) => (await transaction.query(text)).length };
};

/** Git hosts repeat deliveries for days. */
const OLD_ID = `t.received_at < now() - interval '7 days' AND t.delivery_id NOT LIKE 'sha256:%'`;
/** A body whose signature carries no time could be sent again by whoever got hold of it: its hash stays for longer. */
const OLD_HASH = `t.received_at < now() - interval '90 days' AND t.delivery_id LIKE 'sha256:%'`;

/**
 * What is to be purged is kept for twice as long, unless its listener is gone: it may never come. What left with its workloads
 * is kept until it is given up: it pulls images.
 */
const OLD_TOMBSTONE = `t.purged_at < now() - interval '30 days' AND NOT t.kept_workloads
  AND NOT (t.due AND t.purged_at > now() - interval '60 days'
    AND EXISTS (SELECT 1 FROM listeners l WHERE l.id = t.listener_id AND l.lease_expires_at > now()))`;

/** What has outlived its use. */
export const EXPIRED: readonly Chore[] = [
  removal('answers to repeated requests', 'idempotency_keys', 't.expires_at <= now()'),
  removal('deliveries of webhooks', 'webhook_deliveries', OLD_ID),
  removal('hashes of deliveries', 'webhook_deliveries', OLD_HASH),
  removal('tombstones', 'tombstones', OLD_TOMBSTONE),
  removal('requests for logs whose readers have gone', 'log_requests', 't.expires_at < now()'),
];

/** All parts. `keptSecrets`: of so many newest revisions of a deployment. */
export const choresOf = (keptSecrets: number): readonly Chore[] => [
  // First: a build that waits needs them, nobody needs what is removed.
  { what: 'credentials of builds that wait', portion: renewBuildCredentials },
  ...EXPIRED,
  {
    what: 'secrets of old revisions',
    portion: (transaction) => pruneSecrets(transaction, keptSecrets),
  },
  { what: 'logs of old builds', portion: pruneBuildLogs },
];

/**
 * Does all of each part, in portions that are transactions of their own: no deployment waits for all of them. A part that
 * fails is told, and keeps no other one from its turn.
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
      logger.warn({ what, err: String(error) }, `failed to keep house (${what}); tried again in an hour`);
    }
  }
}
