import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { uuidSchema } from '../../../domain/deployment/deployment-bodies.ts';
import { LISTENER_STATUSES } from '../../../domain/revision/states.ts';
import { UniqueViolation } from '../../store/core/errors.ts';
import { createListener, findListener, listListeners } from '../../store/listeners/listeners.ts';
import { actorOf, tenantOf } from '../core/auth.ts';
import type { ApiDeps } from '../core/deps.ts';
import { ApiError, notFound } from '../core/errors.ts';
import { csvQuery, filterText, nextOffset, noQuery, pageQuery } from '../core/query.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import { checkCount } from '../tenancy/tenant-counts.ts';
import {
  computeTypeSchema,
  listenerBodySchema,
  listenerListSchema,
  listenerSchema,
  presentListener,
} from './listener-schema.ts';

const listQuery = z.strictObject({
  ...pageQuery,
  compute_id: filterText.optional().describe('Return only listeners with exactly this compute_id.'),
  compute_type: computeTypeSchema.optional(),
  status: csvQuery(z.enum(LISTENER_STATUSES))
    .optional()
    .describe('Statuses, separated by commas. A listener with any of them matches.'),
});

const READ = { scopes: ['deployments:read', 'listeners:run'] } as const;

function creation(app: FastifyInstance, deps: ApiDeps): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/v2/listeners',
    {
      config: { access: { scopes: ['deployments:write'] }, answerHeaders: ['Location'] },
      schema: {
        tags: ['listeners'],
        summary: 'Create a listener',
        description:
          'Registers a cluster of the tenant. The listener in this cluster needs a key with the scope listeners:run. Such a key can run and read listeners, but not create or change them.',
        querystring: noQuery,
        body: listenerBodySchema,
        response: { 201: listenerSchema, ...errorAnswers(400, 409, 413, 415) },
      },
    },
    async (request, reply) => {
      const tenantId = tenantOf(request);
      const {
        compute_type: computeType,
        compute_id: computeId,
        compute_config: computeConfig,
      } = request.body;
      try {
        const record = await deps.database.forTenant(tenantId).transaction(async (transaction) => {
          await checkCount(deps, transaction, tenantId, 'listeners');
          const added = { tenantId, computeType, computeId, computeConfig };
          return createListener(transaction, added, actorOf(request));
        });
        return await reply
          .code(201)
          .header('location', `/v2/listeners/${record.id}`)
          .send(presentListener(record));
      } catch (error) {
        if (!(error instanceof UniqueViolation)) throw error;
        throw new ApiError(409, 'Another listener has this compute_id.');
      }
    },
  );
}

/** `/v2/listeners`, without the listener protocol (listener-protocol-routes.ts). */
export function listenerRoutes(app: FastifyInstance, deps: ApiDeps): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  creation(app, deps);

  routes.get(
    '/v2/listeners',
    {
      config: { access: READ },
      schema: {
        tags: ['listeners'],
        summary: 'List listeners',
        description: 'Returns the listeners of the tenant and of the platform, newest first.',
        querystring: listQuery,
        response: { 200: listenerListSchema, ...errorAnswers() },
      },
    },
    async (request) => {
      const tenantId = tenantOf(request);
      const { limit, offset, compute_id: computeId, compute_type: computeType, status } = request.query;
      const filter = { computeId, computeType, statuses: status };
      const records = await deps.database
        .forTenant(tenantId)
        .read((reader) => listListeners(reader, tenantId, { limit, offset }, filter));
      return { resources: records.map(presentListener), offset: nextOffset({ offset }, records) };
    },
  );

  routes.get(
    '/v2/listeners/:listener_id',
    {
      config: { access: READ },
      schema: {
        tags: ['listeners'],
        summary: 'Get a listener',
        description: 'Returns a listener of the tenant or of the platform.',
        params: z.strictObject({ listener_id: uuidSchema.describe('Id of the listener.') }),
        querystring: noQuery,
        response: { 200: listenerSchema, ...errorAnswers(404) },
      },
    },
    async (request) => {
      const tenantId = tenantOf(request);
      const record = await deps.database
        .forTenant(tenantId)
        .read((reader) => findListener(reader, tenantId, request.params.listener_id));
      if (record === null) throw notFound('listener');
      return presentListener(record);
    },
  );
}
