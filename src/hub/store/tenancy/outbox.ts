import { uuidv7 } from '../../../domain/core/id.ts';
import type { Reader, Transaction } from '../core/database.ts';
import type { OutboxKind } from '../schema/history.ts';

/**
 * Messages to the tracing backend. A project whose `backend_synced_at` is null is pending. This state is committed with
 * the project and costs nothing when no backend is configured. A process with a backend converts pending projects to
 * messages (`enqueueProjects`), including those from before the backend was configured. Deletions are written in the
 * transaction that deletes the project (tracing-projects.ts), if the backend may know it.
 */

/** Notification channel for new messages. */
export const OUTBOX_CHANNEL = 'berth_outbox';

/** A claimed message that must be sent now. */
export interface OutboxMessage {
  readonly id: string;
  readonly tenantId: string;
  /** null: the tenant is deleted. */
  readonly tenantName: string | null;
  readonly kind: OutboxKind;
  readonly subjectId: string;
  readonly payload: {
    readonly name: string;
    readonly backend_id?: string | null;
    /** Whether an attempt got no response, so that the backend may still process it. */
    readonly unanswered?: boolean;
  };
  /** Number of attempts, including the current attempt. The number shows whether the claim is still valid. */
  readonly attempts: number;
}

/** Pending messages. */
export interface OutboxBacklog {
  readonly pending: number;
  /** Age of the oldest message, in seconds; 0: no message waits. */
  readonly oldestSeconds: number;
}

/**
 * A lock for the duration of the transaction, so that only one process creates messages, and each project gets one
 * message.
 */
const ENQUEUE_LOCK = "SELECT pg_try_advisory_xact_lock(hashtextextended('berth_outbox', 0)) AS mine";

/** The lock on the project delays its deletion, which then sees the message. */
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
 * Creates messages for up to `limit` projects that the backend does not know. Platform scope.
 * @returns the number of messages; 0 also while another process creates them
 */
export async function enqueueProjects(transaction: Transaction, limit: number): Promise<number> {
  const [lock] = await transaction.query<{ mine: boolean }>(ENQUEUE_LOCK);
  if (lock?.mine !== true) return 0;
  return (await transaction.query(ENQUEUE, [limit])).length;
}

/**
 * A lock that serializes claims. Each claim reads the changes of the previous claim, in a separate statement. In one
 * statement, two claims could take the two messages of one project at the same time. The lock is held for the claim,
 * not for the calls.
 */
const CLAIM_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('berth_outbox_claim', 0))";

/**
 * One message of a project is in flight at a time. A deletion replaces a creation that still waits, and is sent alone.
 * (An attempt clears last_error when it begins and sets it when it fails, which distinguishes messages in flight from
 * waiting messages.) Ids and times do not define the order, because they come from several clocks.
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
 * Claims up to `limit` due messages for `leaseSeconds`. If the process dies, other processes send the messages again.
 * Platform scope.
 */
export async function claimMessages(
  transaction: Transaction,
  { limit, leaseSeconds }: { limit: number; leaseSeconds: number },
): Promise<OutboxMessage[]> {
  await transaction.query(CLAIM_LOCK);
  return transaction.query<OutboxMessage>(CLAIM, [limit, leaseSeconds]);
}

/** The deployment that uses a project, if any, for an event about the project. */
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

/**
 * A waiting deletion must still be sent. A deletion in flight may arrive before the creation that it removes, so it is
 * sent again.
 */
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

/** Seconds after which a backend has either processed a message without a response, or will never process it. */
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
 * Records that the backend accepted the message, also for an attempt that was considered lost. A project that was
 * deleted in the meantime is deleted at the backend again, because the creation may have arrived after the deletion. If
 * the creation had no response, the deletion is kept and sent again after LATE_SECONDS.
 * @param backendId the backend's own id of the project, if its response contained an id
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
 * Records a failure. The message is kept and is due again after `retrySeconds`. The first failure creates an event. Has
 * no effect if another process has claimed the message in the meantime.
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
    `The tracing backend did not accept project ${name}: ${error}.`,
  );
}

const RELEASE = `
UPDATE outbox SET next_attempt_at = now(), attempts = attempts - 1, payload = payload || $3::jsonb
WHERE id = $1 AND attempts = $2`;

/** Releases a claim without a result, so that the attempt does not count. */
export async function releaseMessage(transaction: Transaction, message: OutboxMessage): Promise<void> {
  await transaction.query(RELEASE, [message.id, message.attempts, UNANSWERED]);
}

const RESYNC = `
WITH known AS (
  UPDATE tracing_projects SET backend_synced_at = NULL WHERE backend_synced_at IS NOT NULL RETURNING id
), hint AS (SELECT pg_notify('${OUTBOX_CHANNEL}', ''))
SELECT (SELECT count(*)::int FROM known) AS count FROM hint`;

/**
 * Marks all projects as unknown to the backend, so that they are sent again. Platform scope.
 * @returns the number of projects that the backend knew
 */
export async function resyncProjects(transaction: Transaction): Promise<number> {
  const [row] = await transaction.query<{ count: number }>(RESYNC);
  return row?.count ?? 0;
}

const BACKLOG = `
SELECT count(*)::int AS pending,
  coalesce(extract(epoch FROM now() - min(created_at)), 0)::float AS "oldestSeconds" FROM outbox`;

/** The pending messages of all tenants. Platform scope. */
export async function readBacklog(reader: Reader): Promise<OutboxBacklog> {
  const [row] = await reader.query<OutboxBacklog>(BACKLOG);
  return row ?? { pending: 0, oldestSeconds: 0 };
}
