import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { deleteTagKey, deleteTagValue, renameTagKey, renameTagValue } from '../../store/tenancy/tags.ts';
import { actorOf, tenantOf } from '../core/auth.ts';
import type { ApiDeps } from '../core/deps.ts';
import { notFound } from '../core/errors.ts';
import { noQuery } from '../core/query.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import {
  keyBodySchema,
  keyParams,
  showKey,
  showValue,
  tagKeySchema,
  tagValueSchema,
  taken,
  valueBodySchema,
  valueParams,
} from './tag-schema.ts';

/**
 * Renames and deletes tags. A tag in use can be deleted, because tags only filter deployments. The tag is then removed
 * from its deployments.
 */

const WRITE = { scopes: ['deployments:write'] } as const;
const GONE = z.null().describe('Deleted.');

function keyChanges(app: FastifyInstance, deps: ApiDeps): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();

  routes.patch(
    '/v2/tag-keys/:tag_key_id',
    {
      config: { access: WRITE },
      schema: {
        tags: ['tags'],
        summary: 'Rename a tag key',
        description: 'Deployments keep the tag, because they refer to its id.',
        params: keyParams,
        querystring: noQuery,
        body: keyBodySchema,
        response: { 200: tagKeySchema, ...errorAnswers(404, 409, 413, 415) },
      },
    },
    async (request) => {
      const tenantId = tenantOf(request);
      const { tag_key_id: id } = request.params;
      const renamed = await deps.database
        .forTenant(tenantId)
        .transaction((transaction) =>
          renameTagKey(transaction, tenantId, id, request.body.key, actorOf(request)),
        )
        .catch((error: unknown) => {
          throw taken(error, 'This tag key already exists (key).');
        });
      if (renamed === null) throw notFound('tag key');
      return showKey(renamed);
    },
  );

  routes.delete(
    '/v2/tag-keys/:tag_key_id',
    {
      config: { access: WRITE },
      schema: {
        tags: ['tags'],
        summary: 'Delete a tag key',
        description: 'Deletes the key with all its values, and removes these values from deployments.',
        params: keyParams,
        querystring: noQuery,
        response: { 204: GONE, ...errorAnswers(404) },
      },
    },
    async (request, reply) => {
      const tenantId = tenantOf(request);
      const deleted = await deps.database
        .forTenant(tenantId)
        .transaction((transaction) =>
          deleteTagKey(transaction, tenantId, request.params.tag_key_id, actorOf(request)),
        );
      if (!deleted) throw notFound('tag key');
      return reply.code(204).send(null);
    },
  );
}

function valueChanges(app: FastifyInstance, deps: ApiDeps): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();

  routes.patch(
    '/v2/tag-keys/:tag_key_id/values/:tag_value_id',
    {
      config: { access: WRITE },
      schema: {
        tags: ['tags'],
        summary: 'Rename a tag value',
        description: 'Deployments keep the tag, because they refer to its id.',
        params: valueParams,
        querystring: noQuery,
        body: valueBodySchema,
        response: { 200: tagValueSchema, ...errorAnswers(404, 409, 413, 415) },
      },
    },
    async (request) => {
      const tenantId = tenantOf(request);
      const ids = { tagKeyId: request.params.tag_key_id, id: request.params.tag_value_id };
      const renamed = await deps.database
        .forTenant(tenantId)
        .transaction((transaction) =>
          renameTagValue(transaction, tenantId, ids, request.body.value, actorOf(request)),
        )
        .catch((error: unknown) => {
          throw taken(error, 'This value of the tag key already exists (value).');
        });
      if (renamed === null) throw notFound('tag value');
      return showValue(renamed);
    },
  );

  routes.delete(
    '/v2/tag-keys/:tag_key_id/values/:tag_value_id',
    {
      config: { access: WRITE },
      schema: {
        tags: ['tags'],
        summary: 'Delete a tag value',
        description: 'Deletes the value, and removes the value from deployments.',
        params: valueParams,
        querystring: noQuery,
        response: { 204: GONE, ...errorAnswers(404) },
      },
    },
    async (request, reply) => {
      const tenantId = tenantOf(request);
      const { tag_key_id: keyId, tag_value_id: id } = request.params;
      const deleted = await deps.database
        .forTenant(tenantId)
        .transaction((transaction) => deleteTagValue(transaction, tenantId, keyId, id, actorOf(request)));
      if (!deleted) throw notFound('tag value');
      return reply.code(204).send(null);
    },
  );
}

/** `PATCH` and `DELETE` of tag keys and values. */
export function tagChangeRoutes(app: FastifyInstance, deps: ApiDeps): void {
  keyChanges(app, deps);
  valueChanges(app, deps);
}
