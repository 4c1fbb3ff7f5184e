import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { createBodySchema, patchBodySchema } from '../../../domain/deployment/deployment-bodies.ts';
import { deploymentTypeSchema } from '../../../domain/deployment/source.ts';
import { findDeployment, listDeployments } from '../../store/deployments/deployments.ts';
import { actorOf, tenantOf } from '../core/auth.ts';
import type { ApiDeps } from '../core/deps.ts';
import { notFound } from '../core/errors.ts';
import { etag, ifMatchHeaders } from '../core/etag.ts';
import { idempotencyKeyHeader } from '../core/idempotency.ts';
import {
  booleanQuery,
  csvOfIds,
  deploymentParams,
  filterText,
  nextOffset,
  pageQuery,
} from '../core/query.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import { createDeployment } from './deployment-create.ts';
import { patchDeployment } from './deployment-patch.ts';
import { presentDeployment } from './deployment-present.ts';
import { maskQuery, presenting, writeQuery } from './deployment-response.ts';
import {
  deploymentListSchema,
  deploymentSchema,
  deploymentStatusSchema,
  dryRunSchema,
  updatedDeploymentSchema,
} from './deployment-schema.ts';

const READ = { scopes: ['deployments:read'] } as const;
const WRITE = { scopes: ['deployments:write'] } as const;

const listQuery = z.strictObject({
  ...pageQuery,
  name: filterText.optional().describe('Exact name.'),
  name_contains: filterText.optional().describe('Part of the name, case-sensitive.'),
  status: deploymentStatusSchema.optional().describe('Status.'),
  remote_reconciled: booleanQuery
    .optional()
    .describe('Whether the current generation was observed in the cluster.'),
  tag_value_ids: csvOfIds
    .optional()
    .describe(
      'Ids of tag values, separated by commas. Values of the same key are combined with OR, different keys with AND.',
    ),
  image_version: filterText.optional().describe("Tag of the latest revision's image."),
  deployment_type: deploymentTypeSchema.optional().describe('Sizing class.'),
  deployment_ids: csvOfIds.optional().describe('Ids of deployments, separated by commas.'),
  ...maskQuery,
});

const createHeaders = z.looseObject({
  'idempotency-key': idempotencyKeyHeader.describe(
    'For 24 hours, a request with the same key and body returns the deployment that the first request created, in its current state, even while it is being deleted. After the deletion of that deployment, the response is 409.',
  ),
});

function reads(app: FastifyInstance, deps: ApiDeps): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();

  routes.get(
    '/v2/deployments',
    {
      config: { access: READ },
      schema: {
        tags: ['deployments'],
        summary: 'List deployments',
        description: 'The deployments of the tenant, newest first. Filters are combined with AND.',
        querystring: listQuery,
        response: { 200: deploymentListSchema, ...errorAnswers() },
      },
    },
    async (request) => {
      const { limit, offset, mask_secrets: mask, ...filter } = request.query;
      const tenantId = tenantOf(request);
      const records = await deps.database.forTenant(tenantId).read((reader) =>
        listDeployments(
          reader,
          tenantId,
          {
            name: filter.name,
            nameContains: filter.name_contains,
            status: filter.status,
            remoteReconciled: filter.remote_reconciled,
            tagValueIds: filter.tag_value_ids,
            imageVersion: filter.image_version,
            deploymentType: filter.deployment_type,
            deploymentIds: filter.deployment_ids,
          },
          { limit, offset },
        ),
      );
      const options = presenting(deps, request, mask);
      return {
        resources: records.map((record) => presentDeployment(record, options)),
        offset: nextOffset({ offset }, records),
      };
    },
  );

  routes.get(
    '/v2/deployments/:deployment_id',
    {
      config: { access: READ, answerHeaders: ['ETag'] },
      schema: {
        tags: ['deployments'],
        summary: 'Get a deployment',
        description:
          'Returns one deployment, with an ETag. The ETag changes with the generation, not with the status.',
        params: deploymentParams,
        querystring: z.strictObject(maskQuery),
        response: { 200: deploymentSchema, ...errorAnswers(404) },
      },
    },
    async (request, reply) => {
      const tenantId = tenantOf(request);
      const record = await deps.database
        .forTenant(tenantId)
        .read((reader) => findDeployment(reader, tenantId, request.params.deployment_id));
      if (record === null) throw notFound('deployment');
      reply.header('etag', etag(record.generation));
      return presentDeployment(record, presenting(deps, request, request.query.mask_secrets));
    },
  );
}

function creation(app: FastifyInstance, deps: ApiDeps): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/v2/deployments',
    {
      config: { access: WRITE, answerHeaders: ['ETag', 'Location'] },
      schema: {
        tags: ['deployments'],
        summary: 'Create a deployment',
        description:
          'Creates the deployment, its tracing project with the same name, and its first revision, in one transaction. For internal_image, the request creates a revision only if it names an image.',
        headers: createHeaders,
        querystring: writeQuery,
        body: createBodySchema,
        response: {
          201: deploymentSchema,
          200: dryRunSchema.describe('Response to dry_run.'),
          ...errorAnswers(400, 409, 413, 415),
        },
      },
    },
    async (request, reply) => {
      const { dry_run: dryRun, mask_secrets: mask } = request.query;
      const { record, secrets, outlook } = await createDeployment(deps, {
        tenantId: tenantOf(request),
        actor: actorOf(request),
        body: request.body,
        dryRun,
        idempotencyKey: request.headers['idempotency-key'] ?? null,
      });
      const known = secrets === undefined ? {} : { secrets };
      const shown = presentDeployment(record, { ...presenting(deps, request, mask), ...known });
      if (outlook !== null) return reply.code(200).send({ ...shown, ...outlook });
      reply.header('etag', etag(record.generation)).header('location', `/v2/deployments/${record.id}`);
      return reply.code(201).send(shown);
    },
  );
}

function changes(app: FastifyInstance, deps: ApiDeps): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();

  routes.patch(
    '/v2/deployments/:deployment_id',
    {
      config: { access: WRITE, answerHeaders: ['ETag'] },
      schema: {
        tags: ['deployments'],
        summary: 'Update a deployment',
        description:
          'Absent fields keep their value, null clears a field, and lists and maps are replaced completely. secrets ' +
          'is the complete new list. A change of source_revision_config or of secrets creates a new revision. A ' +
          'change of source_config updates the running revision. A PATCH without a difference has no effect.',
        params: deploymentParams,
        headers: ifMatchHeaders,
        querystring: writeQuery,
        body: patchBodySchema,
        response: {
          200: updatedDeploymentSchema,
          ...errorAnswers(400, 404, 409, 412, 413, 415),
        },
      },
    },
    async (request, reply) => {
      const { dry_run: dryRun, mask_secrets: mask } = request.query;
      const { record, generation, effects, outlook } = await patchDeployment(deps, {
        tenantId: tenantOf(request),
        deploymentId: request.params.deployment_id,
        actor: actorOf(request),
        body: request.body,
        ifMatch: request.headers['if-match'],
        dryRun,
      });
      reply.header('etag', etag(generation));
      return {
        ...presentDeployment(record, presenting(deps, request, mask)),
        ...(effects.length === 0 ? {} : { effects: [...effects] }),
        ...outlook,
      };
    },
  );
}

/** `/v2/deployments`. */
export function deploymentRoutes(app: FastifyInstance, deps: ApiDeps): void {
  reads(app, deps);
  creation(app, deps);
  changes(app, deps);
}
