import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { uuidSchema } from '../../domain/deployment-bodies.ts';
import { dnsLabelSchema } from '../../domain/kubernetes/names.ts';
import { line } from '../../domain/kubernetes/text.ts';
import { UniqueViolation } from '../../store/errors.ts';
import { createListener, findListener, listListeners } from '../../store/listeners.ts';
import type { ListenerRecord } from '../../store/records.ts';
import { tenantOf } from '../auth.ts';
import { timeSchema } from '../deployment-schema.ts';
import type { ApiDeps } from '../deps.ts';
import { errorAnswers } from '../error-schema.ts';
import { ApiError, notFound } from '../errors.ts';
import { nextOffset, noQuery, pageOnly } from '../query.ts';

const computeTypeSchema = z.enum(['k8s']).describe('What it deploys to.');

const computeConfigSchema = z
  .strictObject({
    k8s_namespaces: z
      .array(dnsLabelSchema)
      .max(1000)
      .refine((names) => new Set(names).size === names.length, 'must not name a namespace twice')
      .describe('Namespaces that deployments may use; the first is the default. Empty: any.'),
  })
  .describe('How it deploys.');

const listenerBodySchema = z
  .strictObject({
    compute_type: computeTypeSchema.default('k8s'),
    compute_id: line(128).min(1).describe("The owner's name of the cluster, unique in the tenant."),
    compute_config: computeConfigSchema.default({ k8s_namespaces: [] }),
  })
  .describe('A listener to be made.');

const LISTENER_STATUSES = ['NEVER_SEEN', 'CONNECTED', 'CLUSTER_UNREACHABLE', 'LOST'] as const;

const listenerSchema = z
  .object({
    id: z.string().describe('Id, a UUID.'),
    tenant_id: z.string().nullable().describe("Owner; null: the platform's, usable by every tenant."),
    compute_type: z.string().describe('What it deploys to.'),
    compute_id: z.string().describe("The owner's name of the cluster."),
    compute_config: computeConfigSchema,
    version: z.string().nullable().describe("Berth's version there."),
    cluster_version: z.string().nullable().describe('Version of the cluster.'),
    status: z.enum(LISTENER_STATUSES).describe('Whether it is there.'),
    last_seen_at: timeSchema.nullable().describe('When it was last heard of.'),
    created_at: timeSchema.describe('When it was made.'),
    updated_at: timeSchema.describe('When it was last changed.'),
  })
  .describe('A listener: it carries deployments into one cluster.');
type ShownListener = z.infer<typeof listenerSchema>;

const listenerListSchema = z
  .object({
    resources: z.array(listenerSchema).describe('Newest first.'),
    offset: z.int().describe('Pass it in the next request to get the next page.'),
  })
  .describe('A page of listeners.');

function statusOf(record: ListenerRecord): ShownListener['status'] {
  if (!record.everSeen) return 'NEVER_SEEN';
  if (record.alive) return 'CONNECTED';
  return record.clusterReachable ? 'LOST' : 'CLUSTER_UNREACHABLE';
}

function present(record: ListenerRecord): ShownListener {
  return {
    id: record.id,
    tenant_id: record.tenantId,
    compute_type: record.computeType,
    compute_id: record.computeId,
    compute_config: { k8s_namespaces: record.computeConfig.k8s_namespaces },
    version: record.version,
    cluster_version: record.clusterVersion,
    status: statusOf(record),
    last_seen_at: record.lastSeenAt?.toISOString() ?? null,
    created_at: record.createdAt.toISOString(),
    updated_at: record.updatedAt.toISOString(),
  };
}

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
          'Registers a cluster of the tenant. Its listener then runs with a key of the scope listeners:run.',
        querystring: noQuery,
        body: listenerBodySchema,
        response: { 201: listenerSchema, ...errorAnswers(409, 413, 415) },
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
        const record = await deps.database
          .forTenant(tenantId)
          .transaction((transaction) =>
            createListener(transaction, { tenantId, computeType, computeId, computeConfig }),
          );
        return await reply.code(201).header('location', `/v2/listeners/${record.id}`).send(present(record));
      } catch (error) {
        if (!(error instanceof UniqueViolation)) throw error;
        throw new ApiError(409, 'Another listener has this compute_id.');
      }
    },
  );
}

/** `/v2/listeners`, but for the protocol (listener-protocol.ts). */
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
        description: "The tenant's listeners and the platform's, newest first.",
        querystring: pageOnly,
        response: { 200: listenerListSchema, ...errorAnswers() },
      },
    },
    async (request) => {
      const tenantId = tenantOf(request);
      const page = request.query;
      const records = await deps.database
        .forTenant(tenantId)
        .read((reader) => listListeners(reader, tenantId, page));
      return { resources: records.map(present), offset: nextOffset(page, records) };
    },
  );

  routes.get(
    '/v2/listeners/:listener_id',
    {
      config: { access: READ },
      schema: {
        tags: ['listeners'],
        summary: 'Get a listener',
        description: "One of the tenant's listeners, or of the platform's.",
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
      return present(record);
    },
  );
}
