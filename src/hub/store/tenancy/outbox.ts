import { uuidv7 } from '../../../domain/core/id.ts';
import type { Reader, Transaction } from '../core/database.ts';
import { and, count, eq, sql } from '../core/drizzle.ts';
import { events, outbox, tracingProjects } from '../core/schema.ts';
import type { ResultRow } from '../core/statement.ts';
import { claimMessagesStatement } from '../sql/tenancy/claim-messages.ts';
import { deleteLateProjectStatement } from '../sql/tenancy/delete-late-project.ts';
import { enqueueProjectsStatement } from '../sql/tenancy/enqueue-projects.ts';
import { recordProjectDeletedStatement } from '../sql/tenancy/record-project-deleted.ts';
import { resyncProjectsStatement } from '../sql/tenancy/resync-projects.ts';

/**
 * Messages to the tracing backend. A project whose `backend_synced_at` is null is pending. This state is committed with
 * the project and costs nothing when no backend is configured. A process with a backend converts pending projects to
 * messages (`enqueueProjects`), including those from before the backend was configured. Deletions are written in the
 * transaction that deletes the project (tracing-projects.ts), if the backend may know it.
 */

/** A claimed message that must be sent now. */
export type OutboxMessage = Omit<ResultRow<typeof claimMessagesStatement>, 'payload'> & {
  readonly payload: {
    readonly name: string;
    readonly backend_id?: string | null;
    /** Whether an attempt got no response, so that the backend may still process it. */
    readonly unanswered?: boolean;
  };
};

/** Pending messages. */
export interface OutboxBacklog {
  readonly pending: number;
  /** Unix time in seconds at which the oldest message was created; null: no message waits. */
  readonly oldestAt: number | null;
}

/**
 * A lock for the duration of the transaction, so that only one process creates messages, and each project gets one
 * message.
 */
const ENQUEUE_LOCK = sql`SELECT pg_try_advisory_xact_lock(hashtextextended('berth_outbox', 0)) AS mine`;

/**
 * Creates messages for up to `limit` projects that the backend does not know. Platform scope.
 * @returns the number of messages; 0 also while another process creates them
 */
export async function enqueueProjects(transaction: Transaction, limit: number): Promise<number> {
  const { rows } = await transaction.drizzle.execute<{ mine: boolean }>(ENQUEUE_LOCK);
  if (rows[0]?.mine !== true) return 0;
  return (await transaction.run(enqueueProjectsStatement, { limit })).length;
}

/**
 * A lock that serializes claims. Each claim reads the changes of the previous claim, in a separate statement. In one
 * statement, two claims could take the two messages of one project at the same time. The lock is held for the claim,
 * not for the calls.
 */
const CLAIM_LOCK = sql`SELECT pg_advisory_xact_lock(hashtextextended('berth_outbox_claim', 0))`;

/**
 * Claims up to `limit` due messages for `leaseSeconds`. If the process dies, other processes send the messages again.
 * Platform scope.
 */
export async function claimMessages(
  transaction: Transaction,
  { limit, leaseSeconds }: { limit: number; leaseSeconds: number },
): Promise<OutboxMessage[]> {
  await transaction.drizzle.execute(CLAIM_LOCK);
  const claimed = await transaction.run(claimMessagesStatement, { limit, leaseSeconds });
  return claimed as OutboxMessage[];
}

/** The deployment that uses a project, if any, for an event about the project. */
const userOf = (projectId: string) => sql`(SELECT d.id FROM deployments d
  WHERE d.tracing_project_id = ${projectId} AND d.delete_requested_at IS NULL ORDER BY d.id DESC LIMIT 1)`;

function event(
  transaction: Transaction,
  { subjectId, tenantId }: OutboxMessage,
  reason: 'TracingProjectCreated' | 'TracingProjectFailed',
  text: string,
): Promise<unknown> {
  return transaction.drizzle.insert(events).values({
    id: uuidv7(),
    tenantId,
    deploymentId: userOf(subjectId),
    actorKind: 'system',
    actorName: 'tracing',
    reason,
    message: text,
    details: { tracing_project_id: subjectId },
  });
}

async function recordCreated(
  transaction: Transaction,
  message: OutboxMessage,
  backendId: string | null,
): Promise<void> {
  const { id, subjectId, tenantId, payload } = message;
  const isProject = eq(tracingProjects.id, subjectId);
  const { drizzle } = transaction;
  const removed = await drizzle.delete(outbox).where(eq(outbox.id, id)).returning({ id: outbox.id });
  const known =
    removed.length > 0
      ? await drizzle
          .update(tracingProjects)
          .set({ backendSyncedAt: sql`now()`, backendId })
          .where(isProject)
          .returning({ id: tracingProjects.id })
      : await drizzle.select({ id: tracingProjects.id }).from(tracingProjects).where(isProject);
  if (known.length === 0) {
    await transaction.run(deleteLateProjectStatement, {
      projectId: subjectId,
      tenantId,
      payload: JSON.stringify({ name: payload.name, backend_id: backendId }),
    });
  } else if (removed.length > 0) {
    await event(
      transaction,
      message,
      'TracingProjectCreated',
      `The tracing backend has project ${payload.name}.`,
    );
  }
}

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
    await transaction.run(recordProjectDeletedStatement, {
      projectId: message.subjectId,
      messageId: message.id,
    });
  } else {
    await recordCreated(transaction, message, backendId);
  }
}

const UNANSWERED = { unanswered: true };

/** The message, while the claim is valid. */
const claimed = ({ id, attempts }: OutboxMessage) => and(eq(outbox.id, id), eq(outbox.attempts, attempts));

const withPayload = (more: object) => sql`${outbox.payload} || ${JSON.stringify(more)}::jsonb`;

/**
 * Records a failure. The message is kept and is due again after `retrySeconds`. The first failure creates an event. Has
 * no effect if another process has claimed the message in the meantime.
 */
export async function recordFailed(
  transaction: Transaction,
  message: OutboxMessage,
  { error, retrySeconds, isUnanswered }: { error: string; retrySeconds: number; isUnanswered: boolean },
): Promise<void> {
  const kept = await transaction.drizzle
    .update(outbox)
    .set({
      lastError: error,
      nextAttemptAt: sql`now() + make_interval(secs => ${retrySeconds}::double precision)`,
      payload: withPayload(isUnanswered ? UNANSWERED : {}),
    })
    .where(claimed(message))
    .returning({ id: outbox.id });
  if (kept.length === 0 || message.attempts > 1) return;
  const { name } = message.payload;
  await event(
    transaction,
    message,
    'TracingProjectFailed',
    `The tracing backend did not accept project ${name}: ${error}.`,
  );
}

/** Releases a claim without a result, so that the attempt does not count. */
export async function releaseMessage(transaction: Transaction, message: OutboxMessage): Promise<void> {
  await transaction.drizzle
    .update(outbox)
    .set({
      nextAttemptAt: sql`now()`,
      attempts: sql`${outbox.attempts} - 1`,
      payload: withPayload(UNANSWERED),
    })
    .where(claimed(message));
}

/**
 * Marks all projects as unknown to the backend, so that they are sent again. Platform scope.
 * @returns the number of projects that the backend knew
 */
export async function resyncProjects(transaction: Transaction): Promise<number> {
  const [row] = await transaction.run(resyncProjectsStatement, {});
  return row?.count ?? 0;
}

/** The pending messages of all tenants. Platform scope. */
export async function readBacklog(reader: Reader): Promise<OutboxBacklog> {
  const [row] = await reader.drizzle
    .select({
      pending: count(),
      oldestAt: sql<number | null>`extract(epoch FROM min(${outbox.createdAt}))::float8`,
    })
    .from(outbox);
  return row ?? { pending: 0, oldestAt: null };
}
