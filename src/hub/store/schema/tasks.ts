import type { Component } from '../../../domain/resource-spec/components.ts';
import type { TaskOrigin, TaskState } from '../../../domain/tasks/task.ts';
import {
  bigint,
  doublePrecision,
  index,
  integer,
  jsonb,
  pgTable,
  sql,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from '../core/drizzle.ts';
import { ofDeployment } from './deployments.ts';
import { ofTenant } from './tenancy.ts';

const time = (name: string) => timestamp(name, { withTimezone: true });

/** Tasks of deployments (hub/store/tasks/tasks.ts). A row without `ended_at` is a task that has not ended. */
export const tasks = pgTable(
  'tasks',
  {
    id: uuid().primaryKey(),
    tenantId: ofTenant(),
    deploymentId: ofDeployment(),
    /** The listener of the cluster that runs the task. */
    listenerId: uuid('listener_id').notNull(),
    /** Name and namespace of the custom resource. */
    name: text().notNull(),
    namespace: text().notNull(),
    /** Name of the custom resource of the deployment. */
    appName: text('app_name').notNull(),
    /** Uid of the custom resource; null: no listener has reported it. */
    resourceUid: text('resource_uid'),
    origin: text().$type<TaskOrigin>().notNull(),
    /** The schedule that the task is a run of; null: none. */
    schedule: text(),
    /** The revision; null: the hub does not know it. */
    revisionId: uuid('revision_id'),
    revisionNumber: integer('revision_number'),
    component: text().$type<Component>().notNull(),
    command: jsonb().$type<readonly string[]>().notNull(),
    timeoutSeconds: integer('timeout_seconds').notNull(),
    cpu: doublePrecision(),
    memoryMb: integer('memory_mb'),
    /** The last reported state. */
    state: text().$type<TaskState>().notNull().default('QUEUED'),
    reason: text(),
    message: text(),
    exitCode: integer('exit_code'),
    /** Epoch of the lease in which the state was reported last; null: never. */
    seenEpoch: bigint('seen_epoch', { mode: 'number' }),
    /** When the task was given to a listener; null: it was not, so nothing can have started. */
    handedOutAt: time('handed_out_at'),
    cancelRequestedAt: time('cancel_requested_at'),
    actorKind: text('actor_kind').notNull(),
    actorId: text('actor_id'),
    actorName: text('actor_name'),
    createdAt: time('created_at').notNull().defaultNow(),
    startedAt: time('started_at'),
    endedAt: time('ended_at'),
  },
  (table) => [
    index('tasks_by_deployment').on(table.deploymentId, table.id),
    index('tasks_running_by_listener').on(table.listenerId).where(sql`${table.endedAt} IS NULL`),
    index('tasks_running_by_tenant').on(table.tenantId).where(sql`${table.endedAt} IS NULL`),
    uniqueIndex('tasks_by_resource').on(table.deploymentId, table.resourceUid),
  ],
);
