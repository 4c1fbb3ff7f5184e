import { contentHash } from '../../../domain/core/hash.ts';
import type { Component } from '../../../domain/resource-spec/components.ts';
import type { TaskState } from '../../../domain/tasks/task.ts';
import { LOG_CHANNEL } from '../builds/build-logs.ts';
import type { Reader, Transaction } from '../core/database.ts';
import { and, asc, count, desc, eq, isNull, sql } from '../core/drizzle.ts';
import { type Actor, actorColumns, appendEvents } from '../core/events.ts';
import type { Page } from '../core/records.ts';
import { listeners, tasks, tenants } from '../core/schema.ts';

/**
 * Tasks of deployments: requests of clients, and orders for listeners. A row without `ended_at` is an order, until its
 * listener has reported a final state (task-reports.ts).
 */

export type TaskRow = typeof tasks.$inferSelect;

/** A task with what its shown state depends on. */
export interface TaskRecord extends TaskRow {
  /** Epoch of the current lease of the listener. */
  readonly leaseEpoch: number;
}

/** Whether a task was created in the cluster, by a user, or by the operator for a schedule. */
export const isFromCluster = ({ actorKind }: Pick<TaskRow, 'actorKind'>): boolean => actorKind === 'system';

/** Number of ended tasks of a deployment that are kept. */
const MAX_ENDED = 500;

/** A state, or UNKNOWN while no listener observes a task that may have started. */
export type ShownTaskState = TaskState | 'UNKNOWN';

/**
 * The state of a task. A state of a former lease is not shown as current.
 * @param isAlive whether the listener observes the cluster now
 */
export function shownState(
  { state, endedAt, handedOutAt, seenEpoch, leaseEpoch }: TaskRecord,
  isAlive: boolean,
): ShownTaskState {
  if (endedAt !== null || handedOutAt === null) return state;
  if (!isAlive) return 'UNKNOWN';
  return seenEpoch !== null && seenEpoch !== leaseEpoch ? 'UNKNOWN' : state;
}

export interface NewTask {
  readonly id: string;
  readonly tenantId: string;
  readonly deploymentId: string;
  readonly listenerId: string;
  readonly name: string;
  readonly namespace: string;
  readonly appName: string;
  readonly revisionId: string;
  readonly revisionNumber: number;
  readonly component: Component;
  readonly command: readonly string[];
  readonly timeoutSeconds: number;
  readonly cpu: number | null;
  readonly memoryMb: number | null;
  /** The schedule that the task is a run of. null: none. */
  readonly schedule: string | null;
  readonly actor: Actor;
}

/** SQL that wakes the listener, or the readers of its tasks. */
const wake = (listenerId: string) => sql`SELECT pg_notify(${LOG_CHANNEL}, ${listenerId})`;

/**
 * The number of tasks of a tenant that have not ended. The tenant is locked until the transaction ends, so that of two
 * concurrent requests, the second sees the first.
 */
export async function lockRunningTasks({ drizzle }: Transaction, tenantId: string): Promise<number> {
  // Foreign keys to the tenant do not wait for this lock.
  await drizzle.select({ id: tenants.id }).from(tenants).where(eq(tenants.id, tenantId)).for('no key update');
  const [row] = await drizzle
    .select({ found: count() })
    .from(tasks)
    .where(and(eq(tasks.tenantId, tenantId), isNull(tasks.endedAt)));
  return row?.found ?? 0;
}

/** The name of a run of a schedule that has not ended. null: every run has ended. */
export async function findActiveRun(
  { drizzle }: Reader,
  deploymentId: string,
  schedule: string,
): Promise<string | null> {
  const [row] = await drizzle
    .select({ name: tasks.name })
    .from(tasks)
    .where(and(eq(tasks.deploymentId, deploymentId), eq(tasks.schedule, schedule), isNull(tasks.endedAt)))
    .limit(1);
  return row?.name ?? null;
}

/** Adds a task, records who requested it, and removes the oldest ended tasks of the deployment. */
export async function insertTask(
  transaction: Transaction,
  { actor, ...task }: NewTask,
  message: string,
): Promise<void> {
  const { drizzle } = transaction;
  const origin = task.schedule === null ? 'api' : 'schedule';
  await drizzle.insert(tasks).values({ ...task, ...actorColumns(actor), origin });
  await removeOldTasks(transaction, task.deploymentId);
  await appendEvents(transaction, [
    {
      tenantId: task.tenantId,
      deploymentId: task.deploymentId,
      revisionId: task.revisionId,
      actor,
      reason: 'TaskRequested',
      message,
      details: { task_id: task.id },
    },
  ]);
  await drizzle.execute(wake(task.listenerId));
}

/** Removes the oldest ended tasks of a deployment. */
export async function removeOldTasks({ drizzle }: Transaction, deploymentId: string): Promise<void> {
  await drizzle.execute(sql`DELETE FROM ${tasks} WHERE ${tasks.id} IN (
    SELECT t.id FROM ${tasks} t WHERE t.deployment_id = ${deploymentId} AND t.ended_at IS NOT NULL
    ORDER BY t.id DESC OFFSET ${MAX_ENDED})`);
}

const columns = { task: tasks, leaseEpoch: listeners.leaseEpoch };
const toRecord = ({ task, leaseEpoch }: { task: TaskRow; leaseEpoch: number | null }): TaskRecord => ({
  ...task,
  leaseEpoch: leaseEpoch ?? 0,
});

/** The tasks of a deployment, newest first. */
export async function listTasks(
  { drizzle }: Reader,
  tenantId: string,
  deploymentId: string,
  { limit, offset }: Page,
): Promise<TaskRecord[]> {
  const rows = await drizzle
    .select(columns)
    .from(tasks)
    .leftJoin(listeners, eq(listeners.id, tasks.listenerId))
    .where(and(eq(tasks.tenantId, tenantId), eq(tasks.deploymentId, deploymentId)))
    .orderBy(desc(tasks.id))
    .limit(limit)
    .offset(offset);
  return rows.map(toRecord);
}

/** null: the deployment has no such task. */
export async function findTask(
  { drizzle }: Reader,
  tenantId: string,
  deploymentId: string,
  taskId: string,
): Promise<TaskRecord | null> {
  const [row] = await drizzle
    .select(columns)
    .from(tasks)
    .leftJoin(listeners, eq(listeners.id, tasks.listenerId))
    .where(and(eq(tasks.tenantId, tenantId), eq(tasks.deploymentId, deploymentId), eq(tasks.id, taskId)));
  return row === undefined ? null : toRecord(row);
}

/**
 * Requests the cancellation of a task, and records who did. A task that no listener has got is cancelled at once. Has no effect
 * if the task has ended, or its cancellation was requested before.
 */
export async function cancelTask(
  transaction: Transaction,
  { id, tenantId, deploymentId, listenerId, revisionId, name }: TaskRecord,
  actor: Actor,
): Promise<void> {
  const { drizzle } = transaction;
  const unsent = sql`${tasks.handedOutAt} IS NULL`;
  const { rowCount } = await drizzle
    .update(tasks)
    .set({
      cancelRequestedAt: sql`now()`,
      state: sql`CASE WHEN ${unsent} THEN 'CANCELLED' ELSE ${tasks.state} END`,
      endedAt: sql`CASE WHEN ${unsent} THEN now() END`,
    })
    .where(and(eq(tasks.id, id), isNull(tasks.endedAt), isNull(tasks.cancelRequestedAt)));
  if (rowCount === 0) return;
  await appendEvents(transaction, [
    {
      tenantId,
      deploymentId,
      revisionId,
      actor,
      reason: 'TaskCancelRequested',
      message: `The cancellation of the task ${name} was requested.`,
      details: { task_id: id },
    },
  ]);
  await drizzle.execute(wake(listenerId));
}

/** Tasks of a listener that have not ended, and the version of this set. */
export interface Orders {
  readonly version: string;
  readonly rows: readonly TaskRow[];
}

/** The tasks of a listener that have not ended, the oldest first. */
export async function readOrders({ drizzle }: Reader, listenerId: string, limit: number): Promise<Orders> {
  const rows = await drizzle
    .select()
    .from(tasks)
    .where(and(eq(tasks.listenerId, listenerId), isNull(tasks.endedAt)))
    .orderBy(asc(tasks.id))
    .limit(limit);
  const version = contentHash(
    rows.map(({ id, cancelRequestedAt, resourceUid }) => [
      id,
      cancelRequestedAt !== null,
      resourceUid !== null,
    ]),
  );
  return { version, rows };
}

/** Records that the orders are given to the listener. From now on, its tasks may start. */
export async function handOutTasks({ drizzle }: Transaction, listenerId: string): Promise<void> {
  await drizzle
    .update(tasks)
    .set({ handedOutAt: sql`now()` })
    .where(and(eq(tasks.listenerId, listenerId), isNull(tasks.endedAt), isNull(tasks.handedOutAt)));
}
