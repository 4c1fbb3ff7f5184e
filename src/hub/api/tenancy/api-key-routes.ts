import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import {
  apiKeyNameSchema,
  expiresAtSchema,
  isExpired,
  SCOPES,
  type Scope,
} from '../../../domain/core/api-key.ts';
import type { BodyIssue } from '../../../domain/core/body-issue.ts';
import { uuidSchema } from '../../../domain/deployment/deployment-bodies.ts';
import {
  type ApiKey,
  createApiKey,
  findApiKey,
  listApiKeys,
  revokeApiKey,
} from '../../store/tenancy/api-keys.ts';
import { actorOf, type Caller, callerOf, tenantMissing } from '../core/auth.ts';
import type { ApiDeps } from '../core/deps.ts';
import { ApiError, brokenRules, notFound } from '../core/errors.ts';
import { booleanQuery, nextOffset, noQuery, pageQuery, pageSchema } from '../core/query.ts';
import { timeSchema } from '../deployments/deployment-schema.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import { grantEndOf, keyOf } from './principal.ts';

const ADMIN = { scopes: ['admin'], tenant: 'any' } as const;

export const scopeSchema = z
  .enum(SCOPES)
  .meta({ id: 'ApiKeyScope', description: 'What the holder of a key may do.' });

const scopesSchema = z
  .array(scopeSchema)
  .min(1)
  .refine((scopes) => new Set(scopes).size === scopes.length, 'must not contain a scope twice');

const bodySchema = z
  .strictObject({
    name: apiKeyNameSchema,
    scopes: scopesSchema.describe(
      'Scopes of the key, at most the scopes of the calling key. admin gives access to every tenant.',
    ),
    expires_at: expiresAtSchema.nullish(),
    platform: z
      .boolean()
      .default(false)
      .describe('true: create a key of the platform, without a tenant. X-Tenant-Id is ignored.'),
  })
  .meta({ id: 'CreateApiKey', description: 'The API key to create.' });

const keyShape = {
  id: uuidSchema.describe('Id, a UUID.'),
  tenant_id: uuidSchema.nullable().describe('The tenant of the key. null: the platform.'),
  name: z.string().describe('Purpose of the key.'),
  prefix: z.string().describe('First characters of the key, which identify the key.'),
  scopes: z.array(scopeSchema).describe('Scopes of the key.'),
  created_at: timeSchema.describe('Time of creation.'),
  expires_at: timeSchema.nullable().describe('Expiry time. null: never.'),
  revoked_at: timeSchema.nullable().describe('Time of revocation. null: not revoked.'),
  last_used_at: timeSchema.nullable().describe('Time of the last use, to the hour. null: never.'),
};
const keySchema = z.object(keyShape).meta({ id: 'ApiKey', description: 'An API key, without its value.' });
const madeKeySchema = z
  .object({
    ...keyShape,
    key: z
      .string()
      .describe('The key, for X-Api-Key. The key is shown only once, because Berth stores only its hash.'),
  })
  .meta({ id: 'CreatedApiKey', description: 'The created API key.' });
const keyListSchema = pageSchema(
  'ApiKeyPage',
  keySchema,
  'A page of API keys.',
  'Newest first, including expired and revoked keys.',
);

const params = z.strictObject({ api_key_id: uuidSchema.describe('Id of the API key.') });

function present(apiKey: ApiKey): z.infer<typeof keySchema> {
  return {
    id: apiKey.id,
    tenant_id: apiKey.tenantId,
    name: apiKey.name,
    prefix: apiKey.prefix,
    scopes: apiKey.scopes,
    created_at: apiKey.createdAt.toISOString(),
    expires_at: apiKey.expiresAt?.toISOString() ?? null,
    revoked_at: apiKey.revokedAt?.toISOString() ?? null,
    last_used_at: apiKey.lastUsedAt?.toISOString() ?? null,
  };
}

/** A key that expires cannot create a key that expires later. */
function outlives(end: Date | null, callersEnd: Date | null): boolean {
  return callersEnd !== null && (end === null || end > callersEnd);
}

/** A caller can grant only its own scopes, at most until its own expiry. The expiry must be in the future. */
function ruleIssues(
  { scopes, expiresAt }: { scopes: readonly Scope[]; expiresAt: Date | null },
  { scopes: held, principal }: Caller,
  now: Date,
): BodyIssue[] {
  const callersEnd = grantEndOf(principal);
  const beyond = scopes.flatMap((scope, index) =>
    held.includes(scope)
      ? []
      : [
          {
            loc: ['scopes', index],
            msg: `must not contain ${scope}, because the caller does not have this scope`,
            type: 'scope_beyond_own',
          },
        ],
  );
  const past = { loc: ['expires_at'], msg: 'must be in the future', type: 'expires_in_past' };
  const late = {
    loc: ['expires_at'],
    msg: `must not be after ${callersEnd?.toISOString()}, when the credential of the caller expires`,
    type: 'expires_beyond_own',
  };
  return [
    ...beyond,
    ...(isExpired(expiresAt, now) ? [past] : []),
    ...(outlives(expiresAt, callersEnd) ? [late] : []),
  ];
}

function creation(app: FastifyInstance, deps: ApiDeps): void {
  const clock = deps.clock ?? (() => new Date());
  app.withTypeProvider<ZodTypeProvider>().post(
    '/v2/api-keys',
    {
      config: { access: ADMIN, answerHeaders: ['Location'] },
      schema: {
        tags: ['API keys'],
        summary: 'Create an API key',
        description:
          'Creates a key for the tenant in X-Tenant-Id, otherwise for the tenant of the calling key. A key that ' +
          'expires cannot create a key that expires later. The key is shown only in this response.',
        querystring: noQuery,
        body: bodySchema,
        response: { 201: madeKeySchema, ...errorAnswers(400, 413, 415) },
      },
    },
    async (request, reply) => {
      const { name, scopes, platform, expires_at: end } = request.body;
      const caller = callerOf(request);
      const expiresAt = end == null ? null : new Date(end);
      const issues = ruleIssues({ scopes, expiresAt }, caller, clock());
      if (issues.length > 0) throw brokenRules(issues);
      if (!platform && caller.tenantId === null) throw tenantMissing();
      const tenantId = platform ? null : caller.tenantId;
      const actor = actorOf(request);
      const { key, apiKey } = await deps.database.platform.transaction((transaction) =>
        createApiKey(transaction, { tenantId, name, scopes, expiresAt, actor }),
      );
      reply.code(201).header('location', `/v2/api-keys/${apiKey.id}`);
      return reply.send({ ...present(apiKey), key });
    },
  );
}

function reads(app: FastifyInstance, deps: ApiDeps): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();

  routes.get(
    '/v2/api-keys',
    {
      config: { access: ADMIN },
      schema: {
        tags: ['API keys'],
        summary: 'List API keys',
        description:
          'Lists the keys of the tenant, newest first, without the key values. A key of the platform without a tenant lists all keys.',
        querystring: z.strictObject({
          ...pageQuery,
          platform: booleanQuery
            .default(false)
            .describe('true: list the keys of the platform, which have no tenant.'),
        }),
        response: { 200: keyListSchema, ...errorAnswers() },
      },
    },
    async (request) => {
      const { limit, offset, platform } = request.query;
      const owner = platform ? 'platform' : callerOf(request).tenantId;
      const keys = await deps.database.platform.read((reader) =>
        listApiKeys(reader, owner, { limit, offset }),
      );
      return { resources: keys.map(present), offset: nextOffset({ offset }, keys) };
    },
  );

  routes.get(
    '/v2/api-keys/:api_key_id',
    {
      config: { access: ADMIN },
      schema: {
        tags: ['API keys'],
        summary: 'Get an API key',
        description: 'Returns one key of the tenant or of the platform, without its value.',
        params,
        querystring: noQuery,
        response: { 200: keySchema, ...errorAnswers(404) },
      },
    },
    async (request) => {
      const { tenantId } = callerOf(request);
      const apiKey = await deps.database.platform.read((reader) =>
        findApiKey(reader, tenantId, request.params.api_key_id),
      );
      if (apiKey === null) throw notFound('API key');
      return present(apiKey);
    },
  );
}

function revocation(app: FastifyInstance, deps: ApiDeps): void {
  app.withTypeProvider<ZodTypeProvider>().delete(
    '/v2/api-keys/:api_key_id',
    {
      config: { access: ADMIN },
      schema: {
        tags: ['API keys'],
        summary: 'Revoke an API key',
        description:
          'Revokes a key of the tenant or of the platform. A revoked key works for up to 5 more seconds. A repeated request gets the same response. A key cannot revoke itself, to avoid a lockout.',
        params,
        querystring: noQuery,
        response: { 204: z.null().describe('Revoked.'), ...errorAnswers(404, 409) },
      },
    },
    async (request, reply) => {
      const { tenantId, principal } = callerOf(request);
      const { api_key_id: id } = request.params;
      if (id === keyOf(principal)?.keyId)
        throw new ApiError(409, 'An API key cannot revoke itself. Use another API key.');
      await deps.database.platform.transaction(async (transaction) => {
        if ((await findApiKey(transaction, tenantId, id)) === null) throw notFound('API key');
        await revokeApiKey(transaction, null, id, actorOf(request));
      });
      return reply.code(204).send(null);
    },
  );
}

/** `/v2/api-keys`. */
export function apiKeyRoutes(app: FastifyInstance, deps: ApiDeps): void {
  creation(app, deps);
  reads(app, deps);
  revocation(app, deps);
}
