import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import {
  MAX_TASK_ORDERS,
  type TaskOrder,
  type TaskReport,
  taskOrdersQuerySchema,
  taskOrdersResponseSchema,
  taskReportsRequestSchema,
  taskReportsResponseSchema,
} from '../../../contract/protocol/task-protocol.ts';
import { literalArgument, sentArgument } from '../../../contract/render/literal-argument.ts';
import { UUID_PATTERN } from '../../../domain/core/id.ts';
import type { Scope } from '../../store/core/database.ts';
import { checkEpochOnly } from '../../store/listeners/listener-lease.ts';
import { type ReportedTask, takeTaskReport } from '../../store/tasks/task-reports.ts';
import {
  handOutTasks,
  isFromCluster,
  type Orders,
  readOrders,
  type TaskRow,
} from '../../store/tasks/tasks.ts';
import { disconnectSignal } from '../core/client-disconnect.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import type { ProtocolRoutes } from './listener-log-routes.ts';
import { clean } from './listener-reports.ts';
import { createWorkHints } from './work-hints.ts';

/** The listener calls for tasks (contract/protocol/task-protocol.ts). */

const params = z.object({ listener_id: z.uuid() });
/** Time after which a waiting listener queries again, because notifications can be lost. */
const REQUERY_MS = 5000;

function toOrder(row: TaskRow): TaskOrder {
  return {
    task_id: row.id,
    deployment_id: row.deploymentId,
    name: row.name,
    namespace: row.namespace,
    deployment: row.appName,
    observed: row.resourceUid !== null,
    cancel: row.cancelRequestedAt !== null,
    origin: isFromCluster(row) ? 'custom-resource' : row.origin,
    ...(row.schedule === null ? {} : { schedule: row.schedule }),
    ...(row.revisionNumber === null ? {} : { revision: row.revisionNumber }),
    component: row.component,
    command: row.command.map(literalArgument),
    timeout_seconds: row.timeoutSeconds,
    ...(row.cpu === null ? {} : { cpu: String(row.cpu) }),
    ...(row.memoryMb === null ? {} : { memory: `${row.memoryMb}Mi` }),
  };
}

const dateOf = (time: string | undefined) => (time === undefined ? null : new Date(time));

function toReported(report: TaskReport): ReportedTask {
  const { revision, uid, reason, message, exit_code: exitCode, task_id: taskId } = report;
  return {
    taskId: taskId ?? null,
    deploymentId: report.deployment_id,
    name: clean(report.name),
    namespace: clean(report.namespace),
    appName: clean(report.deployment),
    uid: uid === null ? null : clean(uid),
    origin: report.origin ?? 'custom-resource',
    schedule: report.schedule === undefined ? null : clean(report.schedule),
    component: report.component,
    // The commands of schedules are those that the hub wrote.
    command: (report.origin === 'schedule' ? report.command.map(sentArgument) : report.command).map(clean),
    timeoutSeconds: report.timeout_seconds,
    revision:
      revision === undefined
        ? null
        : { number: revision.number, id: UUID_PATTERN.test(revision.id) ? revision.id : null },
    state: report.state,
    reason: reason === undefined ? null : clean(reason),
    message: message === undefined ? null : clean(message),
    exitCode: exitCode ?? null,
    createdAt: dateOf(report.created_at),
    startedAt: dateOf(report.started_at),
    endedAt: dateOf(report.ended_at),
  };
}

interface Waiting {
  readonly scope: Scope;
  readonly listenerId: string;
  readonly epoch: number;
  readonly known: string;
  /** Milliseconds. */
  readonly wait: number;
  readonly signal: AbortSignal;
}

export function addTaskRoutes({ app, deps, config, scopeOf, closing }: ProtocolRoutes): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const hints = deps.logHints ?? createWorkHints();

  /** The orders, as soon as they differ from those that the listener knows. @throws StaleEpoch */
  async function waitForOrders({ scope, listenerId, epoch, known, wait, signal }: Waiting): Promise<Orders> {
    const end = performance.now() + wait;
    for (;;) {
      const ticket = hints.ticket(listenerId);
      const found = await scope.read(async (reader) => {
        await checkEpochOnly(reader, listenerId, epoch);
        return readOrders(reader, listenerId, MAX_TASK_ORDERS);
      });
      const left = end - performance.now();
      if (found.version !== known && !signal.aborted) {
        // Recorded before the response, because a task may start as soon as a listener has it.
        return scope.transaction(async (transaction) => {
          await checkEpochOnly(transaction, listenerId, epoch);
          await handOutTasks(transaction, listenerId);
          return readOrders(transaction, listenerId, MAX_TASK_ORDERS);
        });
      }
      if (left <= 0 || signal.aborted) return found;
      await hints.wait(listenerId, ticket, Math.min(left, REQUERY_MS), signal);
    }
  }

  routes.get(
    '/v2/listeners/:listener_id/tasks',
    {
      config: { ...config, waits: true },
      schema: {
        tags: ['listener protocol'],
        summary: 'Get the tasks that have not ended. The response waits until they change.',
        params,
        querystring: taskOrdersQuerySchema,
        response: { 200: taskOrdersResponseSchema, ...errorAnswers(404, 409) },
      },
    },
    async (request, reply) => {
      const { listener_id: listenerId } = request.params;
      const { epoch, known, wait_seconds: seconds } = request.query;
      const scope = await scopeOf(request, listenerId);
      const signal = disconnectSignal(reply, closing);
      const { version, rows } = await waitForOrders({
        scope,
        listenerId,
        epoch,
        known,
        wait: seconds * 1000,
        signal,
      });
      return { version, orders: rows.map(toOrder) };
    },
  );

  routes.post(
    '/v2/listeners/:listener_id/task-reports',
    {
      config,
      schema: {
        tags: ['listener protocol'],
        summary: 'Report the states of tasks.',
        params,
        body: taskReportsRequestSchema,
        response: { 200: taskReportsResponseSchema, ...errorAnswers(404, 409, 413, 415) },
      },
    },
    async (request) => {
      const { listener_id: listenerId } = request.params;
      const { epoch, reports } = request.body;
      const scope = await scopeOf(request, listenerId);
      await scope.transaction(async (transaction) => {
        await checkEpochOnly(transaction, listenerId, epoch);
        for (const report of reports)
          await takeTaskReport(transaction, listenerId, epoch, toReported(report));
      });
      return { taken: reports.length };
    },
  );
}
