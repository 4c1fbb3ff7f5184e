import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { tenantNameSchema } from '../../../domain/core/tenant-name.ts';
import { uuidSchema } from '../../../domain/deployment/deployment-bodies.ts';
import {
  quotasInForce,
  tenantQuotaChangesSchema,
  tenantQuotasSchema,
} from '../../../domain/policy/tenant-quotas.ts';
import { UniqueViolation } from '../../store/core/errors.ts';
import { deleteTenant, type TenantObstacles } from '../../store/tenancy/tenant-delete.ts';
import {
  createTenant,
  findTenant,
  listTenants,
  type Tenant,
  updateTenant,
} from '../../store/tenancy/tenants.ts';
import { actorOf, callerOf } from '../core/auth.ts';
import type { ApiDeps } from '../core/deps.ts';
import { ApiError, notFound } from '../core/errors.ts';
import { filterText, nextOffset, noQuery, pageQuery, pageSchema } from '../core/query.ts';
import { timeSchema } from '../deployments/deployment-schema.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import { keyOf } from './principal.ts';

const ADMIN = { scopes: ['admin'], tenant: 'any' } as const;

const ownQuotasSchema = tenantQuotaChangesSchema.describe(
  'Quotas of this tenant. For absent entries, the quotas of the policy apply. null means no limit.',
);

const createBodySchema = z
  .strictObject({ name: tenantNameSchema, quotas: ownQuotasSchema.nullish() })
  .meta({ id: 'CreateTenant', description: 'The tenant to create.' });
const patchBodySchema = z
  .strictObject({
    name: tenantNameSchema.optional(),
    quotas: ownQuotasSchema
      .nullish()
      .describe('The complete new quotas of the tenant. null: use the quotas of the policy.'),
  })
  .meta({ id: 'UpdateTenant', description: 'The changes. Absent fields keep their value.' });

const tenantSchema = z
  .object({
    id: uuidSchema.describe('Id, a UUID.'),
    name: z.string().describe('Name.'),
    quotas: ownQuotasSchema,
    quotas_in_force: tenantQuotasSchema.describe(
      'Quotas of the tenant, or the quotas of the policy if the tenant has no quotas. null: no limit.',
    ),
    created_at: timeSchema.describe('Time of creation.'),
  })
  .meta({ id: 'Tenant', description: 'A tenant, which owns deployments, keys and other objects.' });
const tenantListSchema = pageSchema('TenantPage', tenantSchema, 'A page of tenants.');

const params = z.strictObject({ tenant_id: uuidSchema.describe('Id of the tenant.') });

function presenter({ policy }: ApiDeps) {
  return ({ id, name, quotas, createdAt }: Tenant): z.infer<typeof tenantSchema> => ({
    id,
    name,
    quotas,
    quotas_in_force: quotasInForce(policy.tenant_quotas, quotas),
    created_at: createdAt.toISOString(),
  });
}

function nameTaken(error: unknown): unknown {
  return error instanceof UniqueViolation ? new ApiError(409, 'Another tenant has this name (name).') : error;
}

function counted(count: number, what: string): string[] {
  return count === 0 ? [] : [`${count} ${what}${count === 1 ? '' : 's'}`];
}

function tenantNotEmpty({ deployments, listeners, kept }: TenantObstacles): ApiError {
  const left = [
    ...counted(deployments, 'deployment'),
    ...counted(listeners, 'listener'),
    ...counted(kept, 'former deployment').map((text) => `${text} whose workloads were kept`),
  ];
  return new ApiError(
    409,
    `The tenant still has ${left.join(' and ')}: delete them first. A deployment that is being deleted counts until ` +
      `the cluster has none of its objects. A deployment whose workloads were kept counts until its id is deleted ` +
      `with force.`,
  );
}

function reads(app: FastifyInstance, deps: ApiDeps): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const present = presenter(deps);

  routes.get(
    '/v2/tenants',
    {
      config: { access: ADMIN },
      schema: {
        tags: ['tenants'],
        summary: 'List tenants',
        description: 'Returns all tenants, newest first. Filters are combined with AND.',
        querystring: z.strictObject({
          ...pageQuery,
          name: filterText.optional().describe('Exact name.'),
          name_contains: filterText.optional().describe('Part of the name, case-sensitive.'),
        }),
        response: { 200: tenantListSchema, ...errorAnswers() },
      },
    },
    async (request) => {
      const { limit, offset, name, name_contains: nameContains } = request.query;
      const tenants = await deps.database.platform.read((reader) =>
        listTenants(reader, { limit, offset }, { name, nameContains }),
      );
      return { resources: tenants.map(present), offset: nextOffset({ offset }, tenants) };
    },
  );

  routes.get(
    '/v2/tenants/:tenant_id',
    {
      config: { access: ADMIN },
      schema: {
        tags: ['tenants'],
        summary: 'Get a tenant',
        description:
          'Returns one tenant with its quotas. For the usage, send GET /v2/usage with the id of the tenant in X-Tenant-Id.',
        params,
        querystring: noQuery,
        response: { 200: tenantSchema, ...errorAnswers(404) },
      },
    },
    async (request) => {
      const tenant = await deps.database.platform.read((reader) =>
        findTenant(reader, request.params.tenant_id),
      );
      if (tenant === null) throw notFound('tenant');
      return present(tenant);
    },
  );
}

function creation(app: FastifyInstance, deps: ApiDeps): void {
  const present = presenter(deps);
  app.withTypeProvider<ZodTypeProvider>().post(
    '/v2/tenants',
    {
      config: { access: ADMIN, answerHeaders: ['Location'] },
      schema: {
        tags: ['tenants'],
        summary: 'Create a tenant',
        description:
          'Creates a tenant. To create the first key of the tenant, use POST /v2/api-keys with the id of the tenant in X-Tenant-Id.',
        querystring: noQuery,
        body: createBodySchema,
        response: { 201: tenantSchema, ...errorAnswers(409, 413, 415) },
      },
    },
    async (request, reply) => {
      const { name, quotas } = request.body;
      const tenant = await deps.database.platform
        .transaction((transaction) =>
          createTenant(transaction, name, { quotas: quotas ?? {}, actor: actorOf(request) }),
        )
        .catch((error: unknown) => {
          throw nameTaken(error);
        });
      return reply.code(201).header('location', `/v2/tenants/${tenant.id}`).send(present(tenant));
    },
  );
}

function changes(app: FastifyInstance, deps: ApiDeps): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const present = presenter(deps);

  routes.patch(
    '/v2/tenants/:tenant_id',
    {
      config: { access: ADMIN },
      schema: {
        tags: ['tenants'],
        summary: 'Update a tenant',
        description:
          'Renames a tenant or sets its quotas. A quota below the current usage stops no deployment. The API then rejects changes that increase the usage.',
        params,
        querystring: noQuery,
        body: patchBodySchema,
        response: { 200: tenantSchema, ...errorAnswers(404, 409, 413, 415) },
      },
    },
    async (request) => {
      const { name, quotas } = request.body;
      const change = { name, quotas: quotas === null ? {} : quotas };
      const tenant = await deps.database.platform
        .transaction((transaction) =>
          updateTenant(transaction, request.params.tenant_id, change, actorOf(request)),
        )
        .catch((error: unknown) => {
          throw nameTaken(error);
        });
      if (tenant === null) throw notFound('tenant');
      return present(tenant);
    },
  );

  routes.delete(
    '/v2/tenants/:tenant_id',
    {
      config: { access: ADMIN },
      schema: {
        tags: ['tenants'],
        summary: 'Delete a tenant',
        description:
          'Deletes a tenant with its API keys, tags, integrations and tracing projects. The request is rejected while the tenant has deployments or listeners, and if it uses a key of this tenant. The history of the tenant remains.',
        params,
        querystring: noQuery,
        response: { 204: z.null().describe('Deleted.'), ...errorAnswers(404, 409) },
      },
    },
    async (request, reply) => {
      const { tenant_id: tenantId } = request.params;
      if (keyOf(callerOf(request).principal)?.keyTenantId === tenantId) {
        throw new ApiError(409, 'The API key of this request belongs to the tenant. Use another key.');
      }
      const outcome = await deps.database.platform.transaction((transaction) =>
        deleteTenant(transaction, tenantId, actorOf(request)),
      );
      if (outcome === 'missing') throw notFound('tenant');
      if (outcome !== null) throw tenantNotEmpty(outcome);
      return reply.code(204).send(null);
    },
  );
}

/** `/v2/tenants`. */
export function tenantRoutes(app: FastifyInstance, deps: ApiDeps): void {
  reads(app, deps);
  creation(app, deps);
  changes(app, deps);
}
