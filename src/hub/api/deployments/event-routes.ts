import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { uuidSchema } from '../../../domain/deployment/deployment-bodies.ts';
import type { Reader } from '../../store/core/database.ts';
import { type EventRecord, listEvents, listTenantEvents } from '../../store/core/events.ts';
import { findDeployment } from '../../store/deployments/deployments.ts';
import { callerOf, tenantMissing, tenantOf } from '../core/auth.ts';
import type { ApiDeps } from '../core/deps.ts';
import { notFound } from '../core/errors.ts';
import { deploymentParams, nextOffset, pageOnly, pageSchema } from '../core/query.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import { timeSchema } from './deployment-schema.ts';

const eventSchema = z
  .object({
    id: uuidSchema.describe('Id, a UUID.'),
    tenant_id: uuidSchema
      .nullable()
      .describe('The tenant of the event, even if the tenant was deleted. null: the platform.'),
    deployment_id: uuidSchema.nullable().describe('The deployment of the event, if any.'),
    revision_id: uuidSchema.nullable().describe('The revision of the event, if any.'),
    at: timeSchema.describe('Time of the event.'),
    actor: z
      .object({
        kind: z.enum(['api_key', 'listener', 'system']).describe('Kind of the actor.'),
        id: z.string().nullable().describe('Id of the API key or listener.'),
        name: z.string().nullable().describe('Its name.'),
      })
      .meta({ id: 'EventActor', description: 'The actor.' }),
    reason: z.string().describe('Type of the event, one of a fixed list.'),
    message: z.string().describe('Message of the event.'),
    details: z.record(z.string(), z.unknown()).describe('Details in a form for programs.'),
  })
  .meta({ id: 'Event', description: 'An event.' });

const eventListSchema = pageSchema('EventPage', eventSchema, 'A page of events.');

function present(event: EventRecord): z.infer<typeof eventSchema> {
  return {
    id: event.id,
    tenant_id: event.tenantId,
    deployment_id: event.deploymentId,
    revision_id: event.revisionId,
    at: event.at.toISOString(),
    actor: { kind: event.actorKind, id: event.actorId, name: event.actorName },
    reason: event.reason,
    message: event.message,
    details: event.details,
  };
}

/** The history of a deleted deployment still exists. */
async function isKnown(reader: Reader, tenantId: string, deploymentId: string): Promise<boolean> {
  if ((await findDeployment(reader, tenantId, deploymentId)) !== null) return true;
  return (await listEvents(reader, tenantId, deploymentId, { limit: 1, offset: 0 })).length > 0;
}

/** The tenant whose history is requested; null: the whole history, for admins that name no tenant. */
function auditedTenant(request: FastifyRequest): string | null {
  const { tenantId, scopes } = callerOf(request);
  if (tenantId === null && !scopes.includes('admin')) throw tenantMissing();
  return tenantId;
}

function tenantEvents(app: FastifyInstance, deps: ApiDeps): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/v2/events',
    {
      config: { access: { scopes: ['deployments:read'], tenant: 'any' } },
      schema: {
        tags: ['events'],
        summary: 'List events of the tenant',
        description:
          'The history of a tenant, newest first: deployments, keys, quotas and everything else. With an admin key of the platform that has no tenant, the response contains the history of all tenants and of the platform, including deleted tenants.',
        querystring: pageOnly,
        response: { 200: eventListSchema, ...errorAnswers() },
      },
    },
    async (request) => {
      const page = request.query;
      const tenantId = auditedTenant(request);
      const { database } = deps;
      const scope = tenantId === null ? database.platform : database.forTenant(tenantId);
      const events = await scope.read((reader) => listTenantEvents(reader, tenantId, page));
      return { resources: events.map(present), offset: nextOffset(page, events) };
    },
  );
}

/** `/v2/events` and `/v2/deployments/{id}/events`. */
export function eventRoutes(app: FastifyInstance, deps: ApiDeps): void {
  tenantEvents(app, deps);
  app.withTypeProvider<ZodTypeProvider>().get(
    '/v2/deployments/:deployment_id/events',
    {
      config: { access: { scopes: ['deployments:read'] } },
      schema: {
        tags: ['events'],
        summary: 'List events',
        description:
          'The history of a deployment, newest first: each change with its author, and each change of a status with its reason. The history remains after the deletion of the deployment.',
        params: deploymentParams,
        querystring: pageOnly,
        response: { 200: eventListSchema, ...errorAnswers(404) },
      },
    },
    async (request) => {
      const tenantId = tenantOf(request);
      const { deployment_id: deploymentId } = request.params;
      const page = request.query;
      const events = await deps.database.forTenant(tenantId).read(async (reader) => {
        const found = await listEvents(reader, tenantId, deploymentId, page);
        if (found.length === 0 && !(await isKnown(reader, tenantId, deploymentId))) {
          throw notFound('deployment');
        }
        return found;
      });
      return { resources: events.map(present), offset: nextOffset(page, events) };
    },
  );
}
