import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { findDeployment } from '../../store/deployments/deployments.ts';
import { cancelTask, findTask, listTasks } from '../../store/tasks/tasks.ts';
import { actorOf, tenantOf } from '../core/auth.ts';
import type { ApiDeps } from '../core/deps.ts';
import { notFound } from '../core/errors.ts';
import { idempotencyKeyHeader } from '../core/idempotency.ts';
import { deploymentParams, emptyBody, nextOffset, noQuery, pageOnly } from '../core/query.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import { createTask, type TaskRequest } from './create-task.ts';
import {
  createTaskSchema,
  presentTask,
  scheduleParams,
  taskPageSchema,
  taskParams,
  taskSchema,
} from './task-schema.ts';

const READ = { access: { scopes: ['deployments:read'] } } as const;
const RUN = { access: { scopes: ['tasks:run'] } } as const;

const headers = z.looseObject({
  'idempotency-key': idempotencyKeyHeader.describe(
    'For 24 hours, a request with the same key returns the task that the first request created.',
  ),
});

/** `/v2/deployments/{id}/tasks`. */
export function taskRoutes(app: FastifyInstance, deps: ApiDeps): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const { database } = deps;

  /** Creates a task, and answers with it. */
  async function run(
    request: FastifyRequest,
    reply: FastifyReply,
    deploymentId: string,
    body: TaskRequest['body'],
  ) {
    const tenantId = tenantOf(request);
    const { 'idempotency-key': idempotencyKey = null } = request.headers as z.output<typeof headers>;
    const asked = { tenantId, deploymentId, body, actor: actorOf(request), idempotencyKey };
    const { task, isAlive } = await database
      .forTenant(tenantId)
      .transaction((transaction) => createTask(deps, transaction, asked));
    reply.code(201).header('location', `/v2/deployments/${deploymentId}/tasks/${task.id}`);
    return presentTask(task, isAlive);
  }

  routes.post(
    '/v2/deployments/:deployment_id/tasks',
    {
      config: { ...RUN, answerHeaders: ['Location'] },
      schema: {
        tags: ['tasks'],
        summary: 'Run a task',
        description:
          'Runs a command once, in a new pod with image, environment, secrets and volumes of a revision. The command can read the secrets of the deployment. The response is returned before the command starts: read the task until its state is final.',
        params: deploymentParams,
        headers,
        querystring: noQuery,
        body: createTaskSchema,
        response: { 201: taskSchema, ...errorAnswers(400, 404, 409, 413, 415) },
      },
    },
    (request, reply) => run(request, reply, request.params.deployment_id, request.body),
  );

  routes.post(
    '/v2/deployments/:deployment_id/schedules/:schedule/run',
    {
      config: { ...RUN, answerHeaders: ['Location'] },
      schema: {
        tags: ['tasks'],
        summary: 'Run a schedule now',
        description:
          'Runs the command of a schedule once, at once, as a task in the active revision, also if the schedule is suspended. 409: a run of the schedule has not ended, and its concurrency is not allow.',
        params: scheduleParams,
        headers,
        querystring: noQuery,
        body: emptyBody,
        response: { 201: taskSchema, ...errorAnswers(400, 404, 409, 413, 415) },
      },
    },
    (request, reply) => {
      const { deployment_id: deploymentId, schedule } = request.params;
      return run(request, reply, deploymentId, { schedule });
    },
  );

  routes.get(
    '/v2/deployments/:deployment_id/tasks',
    {
      config: READ,
      schema: {
        tags: ['tasks'],
        summary: 'List tasks',
        description:
          'Returns the tasks of a deployment, newest first, including those that were created in the cluster.',
        params: deploymentParams,
        querystring: pageOnly,
        response: { 200: taskPageSchema, ...errorAnswers(404) },
      },
    },
    async (request) => {
      const tenantId = tenantOf(request);
      const { deployment_id: deploymentId } = request.params;
      const { limit, offset } = request.query;
      return database.forTenant(tenantId).read(async (reader) => {
        const deployment = await findDeployment(reader, tenantId, deploymentId);
        if (deployment === null) throw notFound('deployment');
        const found = await listTasks(reader, tenantId, deploymentId, { limit, offset });
        const resources = found.map((task) => presentTask(task, deployment.listener.alive));
        return { resources, offset: nextOffset({ offset }, found) };
      });
    },
  );

  routes.get(
    '/v2/deployments/:deployment_id/tasks/:task_id',
    {
      config: READ,
      schema: {
        tags: ['tasks'],
        summary: 'Get a task',
        description: 'Returns one task of a deployment.',
        params: taskParams,
        querystring: noQuery,
        response: { 200: taskSchema, ...errorAnswers(404) },
      },
    },
    async (request) => {
      const tenantId = tenantOf(request);
      const { deployment_id: deploymentId, task_id: taskId } = request.params;
      return database.forTenant(tenantId).read(async (reader) => {
        const deployment = await findDeployment(reader, tenantId, deploymentId);
        const task = await findTask(reader, tenantId, deploymentId, taskId);
        if (deployment === null || task === null) throw notFound('task');
        return presentTask(task, deployment.listener.alive);
      });
    },
  );

  routes.post(
    '/v2/deployments/:deployment_id/tasks/:task_id/cancel',
    {
      config: RUN,
      schema: {
        tags: ['tasks'],
        summary: 'Cancel a task',
        description:
          'Requests the end of a task. Its state becomes CANCELLED when its pod has ended, or SUCCEEDED if the command completes before. A task that has ended does not change.',
        params: taskParams,
        querystring: noQuery,
        body: emptyBody,
        response: { 200: taskSchema, ...errorAnswers(404, 413, 415) },
      },
    },
    async (request) => {
      const tenantId = tenantOf(request);
      const { deployment_id: deploymentId, task_id: taskId } = request.params;
      return database.forTenant(tenantId).transaction(async (transaction) => {
        const deployment = await findDeployment(transaction, tenantId, deploymentId);
        const task = await findTask(transaction, tenantId, deploymentId, taskId);
        if (deployment === null || task === null) throw notFound('task');
        await cancelTask(transaction, task, actorOf(request));
        const after = await findTask(transaction, tenantId, deploymentId, taskId);
        if (after === null) throw notFound('task');
        return presentTask(after, deployment.listener.alive);
      });
    },
  );
}
