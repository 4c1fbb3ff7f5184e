import { uuidv7 } from '../../../domain/core/id.ts';
import type { Component } from '../../../domain/resource-spec/components.ts';
import { isFinalTaskState, type TaskOrigin, type TaskState } from '../../../domain/tasks/task.ts';
import type { Transaction } from '../core/database.ts';
import { and, eq, sql } from '../core/drizzle.ts';
import { actorColumns, appendEvents } from '../core/events.ts';
import { deployments, tasks } from '../core/schema.ts';
import { removeOldTasks, type TaskRow } from './tasks.ts';

/** The states of tasks that listeners report, also of tasks that were created outside the API. */

/** The status of a task as a listener reports it. */
export interface ReportedTask {
  readonly taskId: string | null;
  readonly deploymentId: string;
  readonly name: string;
  readonly namespace: string;
  readonly appName: string;
  readonly uid: string | null;
  /** Of a task without an id. */
  readonly origin: TaskOrigin;
  readonly schedule: string | null;
  readonly component: Component;
  readonly command: readonly string[];
  readonly timeoutSeconds: number;
  readonly revision: { readonly id: string | null; readonly number: number } | null;
  readonly state: TaskState;
  readonly reason: string | null;
  readonly message: string | null;
  readonly exitCode: number | null;
  readonly createdAt: Date | null;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
}

/** Stores a report. A final state stays. A task that was created outside the API gets a row. */
export async function takeTaskReport(
  transaction: Transaction,
  listenerId: string,
  epoch: number,
  report: ReportedTask,
): Promise<void> {
  const found = await findReported(transaction, listenerId, report);
  const row = found ?? (await addForeign(transaction, listenerId, report));
  if (row === null || row.endedAt !== null) return;
  const { state, reason, message, exitCode, startedAt, uid } = report;
  const isFinal = isFinalTaskState(state);
  await transaction.drizzle
    .update(tasks)
    .set({
      state,
      reason,
      message,
      exitCode,
      seenEpoch: epoch,
      handedOutAt: row.handedOutAt ?? sql`now()`,
      startedAt: startedAt ?? row.startedAt,
      ...(uid === null ? {} : { resourceUid: uid }),
      ...(report.revision === null ? {} : { revisionNumber: report.revision.number }),
      ...(isFinal ? { endedAt: report.endedAt ?? sql`now()` } : {}),
    })
    .where(eq(tasks.id, row.id));
  if (isFinal) await recordEnd(transaction, listenerId, row, report);
}

async function findReported(
  { drizzle }: Transaction,
  listenerId: string,
  { taskId, deploymentId, name, uid }: ReportedTask,
): Promise<TaskRow | undefined> {
  // A task of the API is found by its id and its name, so that a user of the cluster cannot report another one.
  const isIt =
    taskId !== null
      ? and(eq(tasks.id, taskId), eq(tasks.name, name))
      : and(eq(tasks.name, name), uid === null ? undefined : eq(tasks.resourceUid, uid));
  const [row] = await drizzle
    .select()
    .from(tasks)
    .where(and(eq(tasks.listenerId, listenerId), eq(tasks.deploymentId, deploymentId), isIt))
    .for('update');
  return row;
}

/** What has created a task in the cluster. Absent: a user. */
const CREATORS: Readonly<Partial<Record<TaskOrigin, string>>> = {
  schedule: 'schedule',
  release: 'release command',
};

/** The row of a task that was created outside the API. null: it is not stored. */
async function addForeign(
  transaction: Transaction,
  listenerId: string,
  report: ReportedTask,
): Promise<TaskRow | null> {
  const {
    taskId,
    uid,
    deploymentId,
    createdAt,
    revision,
    state,
    reason,
    message,
    exitCode,
    startedAt,
    endedAt,
    ...rest
  } = report;
  if (taskId !== null || uid === null) return null;
  const { drizzle } = transaction;
  const [owner] = await drizzle
    .select({ tenantId: deployments.tenantId })
    .from(deployments)
    .where(and(eq(deployments.id, deploymentId), eq(deployments.listenerId, listenerId)));
  if (owner === undefined) return null;
  const [row] = await drizzle
    .insert(tasks)
    .values({
      ...rest,
      id: uuidv7(),
      tenantId: owner.tenantId,
      deploymentId,
      listenerId,
      resourceUid: uid,
      revisionId: revision?.id ?? null,
      revisionNumber: revision?.number ?? null,
      handedOutAt: sql`now()`,
      ...actorColumns({ kind: 'system', name: CREATORS[report.origin] ?? 'custom resource' }),
      ...(createdAt === null ? {} : { createdAt }),
    })
    .onConflictDoNothing()
    .returning();
  await removeOldTasks(transaction, deploymentId);
  return row ?? null;
}

const ENDS: Readonly<Record<string, string>> = {
  SUCCEEDED: 'succeeded',
  FAILED: 'failed',
  TIMED_OUT: 'timed out',
  CANCELLED: 'was cancelled',
};

async function recordEnd(
  transaction: Transaction,
  listenerId: string,
  { id, tenantId, deploymentId, revisionId, name }: TaskRow,
  { state, exitCode, message }: ReportedTask,
): Promise<void> {
  const why = message === null ? '' : `: ${message}`;
  await appendEvents(transaction, [
    {
      tenantId,
      deploymentId,
      revisionId,
      listenerId,
      actor: { kind: 'listener', id: listenerId },
      reason: 'TaskEnded',
      message: `The task ${name} ${ENDS[state] ?? state}${why}.`,
      details: { task_id: id, state, ...(exitCode === null ? {} : { exit_code: exitCode }) },
    },
  ]);
}
