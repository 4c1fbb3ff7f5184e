import { uuidv7 } from '../../../domain/core/id.ts';
import type { Reader, Transaction } from '../core/database.ts';
import type { OutboxKind } from '../schema/history.ts';

/**
 * Messages to the tracing backend.
 *
 * A project whose `backend_synced_at` is null is itself the news that the backend has to be told: it is there with the
 * commit that made it, and costs nothing where no backend is configured. A process that has a backend turns such
 * projects into messages (`enqueueProjects`), those of the time before included. Deletions are written in the
 * transaction that deletes the project (tracing-projects.ts), if the backend may know it.
 */

/** Channel of the hint that there is something for the tracing backend. */
export const OUTBOX_CHANNEL = 'berth_outbox';

/** A message that is to be sent now, by whoever holds this. */
export interface OutboxMessage {
  readonly id: string;
  readonly tenantId: string;
  /** null: the tenant is gone. */
  readonly tenantName: string | null;
  readonly kind: OutboxKind;
  readonly subjectId: string;
  readonly payload: {
    readonly name: string;
    readonly backend_id?: string | null;
    /** An attempt had no answer: the backend may still be about to do it. */
    readonly unanswered?: boolean;
  };
  /** Attempts with this one; tells whether the message is still ours. */
  readonly attempts: number;
}

/** What is waiting for the backend. */
export interface OutboxBacklog {
  readonly pending: number;
  /** Age of the oldest message, in seconds; 0: none waits. */
  readonly oldestSeconds: number;
}

/** Transaction-wide: of several processes one makes messages, so that each project gets one. */
const ENQUEUE_LOCK = "SELECT pg_try_advisory_xact_lock(hashtextextended('berth_outbox', 0)) AS mine";

/** The lock on the project makes its deletion wait, and then see the message. */
const ENQUEUE = `
WITH untold AS (
  SELECT p.id, p.tenant_id, p.name FROM tracing_projects p
  WHERE p.backend_synced_at IS NULL AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.subject_id = p.id)
  ORDER BY p.id LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED
)
INSERT INTO outbox (id, tenant_id, kind, subject_id, payload)
SELECT gen_random_uuid(), tenant_id, 'tracing_project.created', id, jsonb_build_object('name', name) FROM untold
RETURNING id`;

/**
 * Makes messages of up to `limit` projects that the backend was not told of. Platform scope.
 * @returns how many; 0 also while another process does it
 */
export async function enqueueProjects(transaction: Transaction, limit: number): Promise<number> {
  const [lock] = await transaction.query<{ mine: boolean }>(ENQUEUE_LOCK);
  if (lock?.mine !== true) return 0;
  return (await transaction.query(ENQUEUE, [limit])).length;
}

/**
 * Claims go one after the other. Each reads, in a statement after this one, what the one before it has committed:
 * otherwise two could take the two messages of one project at once. Held for the moment of the claim, not of the calls.
 */
const CLAIM_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('berth_outbox_claim', 0))";

/**
 * Of one project one message at a time is on its way, and a deletion takes the place of a creation that still waits:
 * it is sent alone. (An attempt clears last_error when it begins and sets it when it fails, so that one on its way can
 * be told from one that waits.) Ids and times say nothing of the order: they are of several clocks.
 */
const CLAIM = `
WITH due AS (
  SELECT o.id FROM outbox o
  WHERE o.next_attempt_at <= now() AND NOT EXISTS (
    SELECT 1 FROM outbox other WHERE other.subject_id = o.subject_id AND other.id <> o.id
      AND (other.kind > o.kind
        OR (other.attempts > 0 AND other.last_error IS NULL AND other.next_attempt_at > now())))
  ORDER BY o.next_attempt_at LIMIT $1 FOR UPDATE OF o SKIP LOCKED
)
UPDATE outbox o SET attempts = o.attempts + 1, last_error = NULL,
  next_attempt_at = now() + make_interval(secs => $2::double precision)
FROM due WHERE o.id = due.id
RETURNING o.id, o.tenant_id AS "tenantId", (SELECT name FROM tenants t WHERE t.id = o.tenant_id) AS "tenantName",
  o.kind, o.subject_id AS "subjectId", o.payload, o.attempts`;

/**
 * Takes up to `limit` messages that are due, for `leaseSeconds`: a process that dies meanwhile leaves them to the
 * others, which then send them again. Platform scope.
 */
export async function claimMessages(
  transaction: Transaction,
  { limit, leaseSeconds }: { limit: number; leaseSeconds: number },
): Promise<OutboxMessage[]> {
  await transaction.query(CLAIM_LOCK);
  return transaction.query<OutboxMessage>(CLAIM, [limit, leaseSeconds]);
}

/** Of an event about a project: the deployment that uses it, where there is one. */
const USER_OF_PROJECT = `(SELECT d.id FROM deployments d
  WHERE d.tracing_project_id = $1::uuid AND d.delete_requested_at IS NULL ORDER BY d.id DESC LIMIT 1)`;

const EVENT = `
INSERT INTO events (id, tenant_id, deployment_id, actor_kind, actor_name, reason, message, details)
VALUES ($2, $3, ${USER_OF_PROJECT}, 'system', 'tracing', $4, $5, jsonb_build_object('tracing_project_id', $1::uuid))`;

function event(
  transaction: Transaction,
  { subjectId, tenantId }: OutboxMessage,
  reason: 'TracingProjectCreated' | 'TracingProjectFailed',
  text: string,
): Promise<unknown> {
  return transaction.query(EVENT, [subjectId, uuidv7(), tenantId, reason, text]);
}

const SYNCED = `
UPDATE tracing_projects SET backend_synced_at = now(), backend_id = $2 WHERE id = $1 RETURNING id`;

const IS_KNOWN = 'SELECT 1 FROM tracing_projects WHERE id = $1';

/** One that waits is still to come; one on its way may have come before what it is to remove. */
const DELETE_LATE = `
INSERT INTO outbox (id, tenant_id, kind, subject_id, payload)
SELECT gen_random_uuid(), $2::uuid, 'tracing_project.deleted', $1::uuid, $3::jsonb
WHERE NOT EXISTS (SELECT 1 FROM outbox o WHERE o.subject_id = $1::uuid AND o.kind = 'tracing_project.deleted'
  AND NOT (o.attempts > 0 AND o.last_error IS NULL AND o.next_attempt_at > now()))`;

async function recordCreated(
  transaction: Transaction,
  message: OutboxMessage,
  backendId: string | null,
): Promise<void> {
  const { id, subjectId, tenantId, payload } = message;
  const removed = await transaction.query('DELETE FROM outbox WHERE id = $1 RETURNING id', [id]);
  const known = await transaction.query(
    removed.length > 0 ? SYNCED : IS_KNOWN,
    removed.length > 0 ? [subjectId, backendId] : [subjectId],
  );
  if (known.length === 0) {
    await transaction.query(DELETE_LATE, [
      subjectId,
      tenantId,
      { name: payload.name, backend_id: backendId },
    ]);
  } else if (removed.length > 0) {
    await event(
      transaction,
      message,
      'TracingProjectCreated',
      `The tracing backend has project ${payload.name}.`,
    );
  }
}

/** A backend has done what it had no answer for by then, or never will. Seconds. */
const LATE_SECONDS = 60;

const DELETED = `
WITH created AS (
  DELETE FROM outbox WHERE subject_id = $1 AND kind = 'tracing_project.created'
  RETURNING payload ? 'unanswered' OR (attempts > 0 AND last_error IS NULL) AS unanswered
), again AS (
  UPDATE outbox SET attempts = 0, next_attempt_at = now() + make_interval(secs => ${LATE_SECONDS})
  WHERE id = $2 AND EXISTS (SELECT 1 FROM created WHERE unanswered) RETURNING id
)
DELETE FROM outbox WHERE id = $2 AND NOT EXISTS (SELECT 1 FROM created WHERE unanswered)`;

/**
 * The backend has taken the message. True also of an attempt that was taken for lost: it is done all the same. A project
 * that was deleted meanwhile is deleted at the backend once more: the creation may have come after the deletion. So may
 * one that had no answer; then the deletion stays, and is sent again after LATE_SECONDS.
 * @param backendId the backend's own id of the project, where its answer named one
 */
export async function recordSent(
  transaction: Transaction,
  message: OutboxMessage,
  backendId: string | null,
): Promise<void> {
  if (message.kind === 'tracing_project.deleted') {
    await transaction.query(DELETED, [message.subjectId, message.id]);
  } else {
    await recordCreated(transaction, message, backendId);
  }
}

const UNANSWERED = { unanswered: true };

const FAILED = `
UPDATE outbox SET last_error = $3, next_attempt_at = now() + make_interval(secs => $4::double precision),
  payload = payload || $5::jsonb
WHERE id = $1 AND attempts = $2 RETURNING id`;

/**
 * The backend has not taken the message, which stays and is due again after `retrySeconds`. The first failure leaves
 * an event. Nothing happens if another process has taken the message over meanwhile.
 */
export async function recordFailed(
  transaction: Transaction,
  message: OutboxMessage,
  { error, retrySeconds, isUnanswered }: { error: string; retrySeconds: number; isUnanswered: boolean },
): Promise<void> {
  const kept = await transaction.query(FAILED, [
    message.id,
    message.attempts,
    error,
    retrySeconds,
    isUnanswered ? UNANSWERED : {},
  ]);
  if (kept.length === 0 || message.attempts > 1) return;
  const { name } = message.payload;
  await event(
    transaction,
    message,
    'TracingProjectFailed',
    `The tracing backend was not told of project ${name}: ${error}.`,
  );
}

const RELEASE = `
UPDATE outbox SET next_attempt_at = now(), attempts = attempts - 1, payload = payload || $3::jsonb
WHERE id = $1 AND attempts = $2`;

/** Given back without an answer, as if it had not been taken. */
export async function releaseMessage(transaction: Transaction, message: OutboxMessage): Promise<void> {
  await transaction.query(RELEASE, [message.id, message.attempts, UNANSWERED]);
}

const RESYNC = `
WITH known AS (
  UPDATE tracing_projects SET backend_synced_at = NULL WHERE backend_synced_at IS NOT NULL RETURNING id
), hint AS (SELECT pg_notify('${OUTBOX_CHANNEL}', ''))
SELECT (SELECT count(*)::int FROM known) AS count FROM hint`;

/**
 * Forgets what the backend was told: it is told of all projects again. Platform scope.
 * @returns how many it had been told of
 */
export async function resyncProjects(transaction: Transaction): Promise<number> {
  const [row] = await transaction.query<{ count: number }>(RESYNC);
  return row?.count ?? 0;
}

const BACKLOG = `
SELECT count(*)::int AS pending,
  coalesce(extract(epoch FROM now() - min(created_at)), 0)::float AS "oldestSeconds" FROM outbox`;

/** What waits for the backend, over all tenants. Platform scope. */
export async function readBacklog(reader: Reader): Promise<OutboxBacklog> {
  const [row] = await reader.query<OutboxBacklog>(BACKLOG);
  return row ?? { pending: 0, oldestSeconds: 0 };
}
