import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { ReferenceViolation } from '../../store/core/errors.ts';
import { findDeployment } from '../../store/deployments/deployments.ts';
import {
  createTagKey,
  createTagValue,
  findTagKey,
  listDeploymentTagValues,
  listTagKeys,
  listTagValues,
  setDeploymentTagValues,
} from '../../store/tenancy/tags.ts';
import { actorOf, tenantOf } from '../core/auth.ts';
import type { ApiDeps } from '../core/deps.ts';
import { brokenRules, deletionConflict, notFound } from '../core/errors.ts';
import { checkIfMatch, ifMatchHeaders } from '../core/etag.ts';
import { deploymentParams, nextOffset, noQuery, pageOnly } from '../core/query.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import { checkCount } from '../tenancy/tenant-counts.ts';
import {
  deploymentTagsBodySchema,
  deploymentTagsSchema,
  keyBodySchema,
  keyListSchema,
  keyParams,
  showKey,
  showValue,
  tagKeySchema,
  tagValueSchema,
  taken,
  valueBodySchema,
  valueListSchema,
} from './tag-schema.ts';

const READ = { scopes: ['deployments:read'] } as const;
const WRITE = { scopes: ['deployments:write'] } as const;

function keyRoutes(app: FastifyInstance, deps: ApiDeps): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();

  routes.post(
    '/v2/tag-keys',
    {
      config: { access: WRITE },
      schema: {
        tags: ['tags'],
        summary: 'Create a tag key',
        description: 'Creates a tag key. Values of a tag key can be assigned to deployments.',
        querystring: noQuery,
        body: keyBodySchema,
        response: { 201: tagKeySchema, ...errorAnswers(400, 409, 413, 415) },
      },
    },
    async (request, reply) => {
      const tenantId = tenantOf(request);
      const created = await deps.database
        .forTenant(tenantId)
        .transaction(async (transaction) => {
          await checkCount(deps, transaction, tenantId, 'tag_keys');
          return createTagKey(transaction, tenantId, request.body.key, actorOf(request));
        })
        .catch((error: unknown) => {
          throw taken(error, 'This tag key already exists (key).');
        });
      return reply.code(201).send(showKey(created));
    },
  );

  routes.get(
    '/v2/tag-keys',
    {
      config: { access: READ },
      schema: {
        tags: ['tags'],
        summary: 'List tag keys',
        description: "Returns the tenant's tag keys, newest first.",
        querystring: pageOnly,
        response: { 200: keyListSchema, ...errorAnswers() },
      },
    },
    async (request) => {
      const tenantId = tenantOf(request);
      const page = request.query;
      const keys = await deps.database
        .forTenant(tenantId)
        .read((reader) => listTagKeys(reader, tenantId, page));
      return { resources: keys.map(showKey), offset: nextOffset(page, keys) };
    },
  );
}

function valueRoutes(app: FastifyInstance, deps: ApiDeps): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();

  routes.post(
    '/v2/tag-keys/:tag_key_id/values',
    {
      config: { access: WRITE },
      schema: {
        tags: ['tags'],
        summary: 'Create a tag value',
        description: 'Creates a value of a tag key.',
        params: keyParams,
        querystring: noQuery,
        body: valueBodySchema,
        response: { 201: tagValueSchema, ...errorAnswers(400, 404, 409, 413, 415) },
      },
    },
    async (request, reply) => {
      const tenantId = tenantOf(request);
      const created = await deps.database
        .forTenant(tenantId)
        .transaction(async (transaction) => {
          const { tag_key_id: keyId } = request.params;
          await checkCount(deps, transaction, tenantId, 'tag_values');
          return createTagValue(transaction, tenantId, keyId, request.body.value, actorOf(request));
        })
        .catch((error: unknown) => {
          throw taken(error, 'This value of the tag key already exists (value).');
        });
      if (created === null) throw notFound('tag key');
      return reply.code(201).send(showValue(created));
    },
  );

  routes.get(
    '/v2/tag-keys/:tag_key_id/values',
    {
      config: { access: READ },
      schema: {
        tags: ['tags'],
        summary: 'List tag values',
        description: 'Returns the values of a tag key, newest first.',
        params: keyParams,
        querystring: pageOnly,
        response: { 200: valueListSchema, ...errorAnswers(404) },
      },
    },
    async (request) => {
      const tenantId = tenantOf(request);
      const page = request.query;
      const { tag_key_id: keyId } = request.params;
      const values = await deps.database.forTenant(tenantId).read(async (reader) => {
        if ((await findTagKey(reader, tenantId, keyId)) === null) throw notFound('tag key');
        return listTagValues(reader, tenantId, keyId, page);
      });
      return { resources: values.map(showValue), offset: nextOffset(page, values) };
    },
  );
}

function assignment(app: FastifyInstance, deps: ApiDeps): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();

  routes.get(
    '/v2/deployments/:deployment_id/tag-values',
    {
      config: { access: READ },
      schema: {
        tags: ['tags'],
        summary: 'List the tag values of a deployment',
        description: 'Returns all tag values of a deployment.',
        params: deploymentParams,
        querystring: noQuery,
        response: { 200: deploymentTagsSchema, ...errorAnswers(404) },
      },
    },
    async (request) => {
      const tenantId = tenantOf(request);
      const { deployment_id: id } = request.params;
      const values = await deps.database.forTenant(tenantId).read(async (reader) => {
        if ((await findDeployment(reader, tenantId, id)) === null) throw notFound('deployment');
        return listDeploymentTagValues(reader, tenantId, id);
      });
      return { resources: values.map(showValue) };
    },
  );

  routes.put(
    '/v2/deployments/:deployment_id/tag-values',
    {
      config: { access: WRITE },
      schema: {
        tags: ['tags'],
        summary: 'Set the tag values of a deployment',
        description: 'Replaces the tag values of a deployment. No pod restarts.',
        params: deploymentParams,
        querystring: noQuery,
        headers: ifMatchHeaders,
        body: deploymentTagsBodySchema,
        response: {
          200: deploymentTagsSchema,
          ...errorAnswers(400, 404, 409, 412, 413, 415),
        },
      },
    },
    async (request) => {
      const tenantId = tenantOf(request);
      const { tag_value_ids: ids } = request.body;
      const ifMatch = request.headers['if-match'];
      const check = (generation: number) => checkIfMatch(ifMatch, generation);
      const asked = { actor: actorOf(request), check };
      const values = await deps.database
        .forTenant(tenantId)
        .transaction((transaction) =>
          setDeploymentTagValues(transaction, tenantId, request.params.deployment_id, ids, asked),
        )
        .catch((error: unknown) => {
          if (!(error instanceof ReferenceViolation)) throw error;
          throw brokenRules([
            {
              loc: ['tag_value_ids'],
              msg: 'must contain only ids of existing tag values',
              type: 'tag_value_unknown',
            },
          ]);
        });
      if (values === null) throw notFound('deployment');
      if (values === 'deleting') throw deletionConflict();
      return { resources: values.map(showValue) };
    },
  );
}

/** `/v2/tag-keys` and the tag values of deployments. tag-change-routes.ts renames and deletes them. */
export function tagRoutes(app: FastifyInstance, deps: ApiDeps): void {
  keyRoutes(app, deps);
  valueRoutes(app, deps);
  assignment(app, deps);
}
