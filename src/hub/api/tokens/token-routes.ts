import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { SCOPES } from '../../../domain/core/scopes.ts';
import { uuidSchema } from '../../../domain/deployment/deployment-bodies.ts';
import {
  findTokenById,
  listAccessTokens,
  revokeAccessToken,
  type TokenOwner,
} from '../../store/tokens/access-tokens.ts';
import { actorOf, type Caller, callerOf, TOKEN_INVALID } from '../core/auth.ts';
import type { ApiDeps } from '../core/deps.ts';
import { ApiError, notFound } from '../core/errors.ts';
import { booleanQuery, nextOffset, noQuery, pageQuery } from '../core/query.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import { administeredTokens, ownTokens } from './token-owner.ts';
import { ownTokenSchema, presentToken, tokenListSchema } from './token-schema.ts';

/** `/v2/auth/tokens` and `/v2/auth/token`: lists and revokes access tokens. */

/** Every caller may see and revoke its own tokens. */
const ANY = { scopes: SCOPES, tenant: 'any' } as const;
/** A logout must be possible after the loss of the last role, because the person may get one again. */
const ANY_TOKEN = { ...ANY, withoutRoles: true } as const;

const params = z.strictObject({ token_id: uuidSchema.describe('Id of the access token.') });

/** @throws ApiError 403 */
function ownerOf(caller: Caller, all: boolean): TokenOwner | null {
  if (!all) return ownTokens(caller);
  const owner = administeredTokens(caller);
  if (owner === null) throw new ApiError(403, 'Only admins of the tenant can list all tokens (all=true).');
  return owner;
}

function list(app: FastifyInstance, deps: ApiDeps): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/v2/auth/tokens',
    {
      config: { access: ANY },
      schema: {
        tags: ['sign-in'],
        summary: 'List access tokens',
        description:
          'Lists the access tokens of the caller, newest first, without their values. A token of one tenant sees only tokens of this tenant. An admin of the tenant can list all tokens of the tenant.',
        querystring: z.strictObject({
          ...pageQuery,
          all: booleanQuery
            .default(false)
            .describe('true: list the tokens of all people and workloads of the tenant. Only for admins.'),
          ended: booleanQuery
            .default(false)
            .describe('true: include tokens that were revoked or have expired within the last days.'),
        }),
        response: { 200: tokenListSchema, ...errorAnswers() },
      },
    },
    async (request) => {
      const { limit, offset, all, ended } = request.query;
      const owner = ownerOf(callerOf(request), all);
      if (owner === null) return { resources: [], offset };
      const tokens = await deps.database.platform.read((reader) =>
        listAccessTokens(reader, owner, { limit, offset }, { ended }),
      );
      return { resources: tokens.map(presentToken), offset: nextOffset({ offset }, tokens) };
    },
  );
}

function revocation(app: FastifyInstance, deps: ApiDeps): void {
  app.withTypeProvider<ZodTypeProvider>().delete(
    '/v2/auth/tokens/:token_id',
    {
      config: { access: ANY },
      schema: {
        tags: ['sign-in'],
        summary: 'Revoke an access token',
        description:
          'Revokes a token of the caller, or for admins a token of the tenant. A revoked token is rejected at once. Streams that it opened end within 5 seconds. A repeated request gets the same response.',
        params,
        querystring: noQuery,
        response: { 204: z.null().describe('Revoked.'), ...errorAnswers(404) },
      },
    },
    async (request, reply) => {
      const { token_id: id } = request.params;
      const caller = callerOf(request);
      const owners = [ownTokens(caller), administeredTokens(caller)];
      const isRevoked = await deps.database.platform.transaction(async (transaction) => {
        for (const owner of owners) {
          if (owner !== null && (await revokeAccessToken(transaction, owner, id, actorOf(request))))
            return true;
        }
        return false;
      });
      if (!isRevoked) throw notFound('access token');
      return reply.code(204).send(null);
    },
  );
}

/** @throws ApiError 409 for a request with another credential */
function tokenIdOf(request: FastifyRequest): string {
  const { principal } = callerOf(request);
  if ('tokenId' in principal) return principal.tokenId;
  throw new ApiError(409, 'The request was not sent with an access token.');
}

function own(app: FastifyInstance, deps: ApiDeps): void {
  const { database } = deps;
  const routes = app.withTypeProvider<ZodTypeProvider>();

  routes.get(
    '/v2/auth/token',
    {
      config: { access: ANY },
      schema: {
        tags: ['sign-in'],
        summary: 'Get the access token of the request',
        description:
          'Returns the token that the request is sent with, who acts with it, and what it may do now.',
        querystring: noQuery,
        response: { 200: ownTokenSchema, ...errorAnswers(409) },
      },
    },
    async (request) => {
      const id = tokenIdOf(request);
      const { scopes } = callerOf(request);
      const found = await database.platform.read((reader) => findTokenById(reader, id));
      if (found === null) throw new ApiError(401, TOKEN_INVALID);
      return {
        ...presentToken(found),
        actor_name: actorOf(request).name ?? '',
        tenant_name: found.tenantName,
        scopes: [...scopes],
      };
    },
  );

  routes.delete(
    '/v2/auth/token',
    {
      config: { access: ANY_TOKEN },
      schema: {
        tags: ['sign-in'],
        summary: 'Revoke the access token of the request',
        description: 'Revokes the token that the request is sent with, as `berth logout` does.',
        querystring: noQuery,
        response: { 204: z.null().describe('Revoked.'), ...errorAnswers(409) },
      },
    },
    async (request, reply) => {
      const tokenId = tokenIdOf(request);
      await database.platform.transaction((transaction) =>
        revokeAccessToken(transaction, { of: 'token', tokenId }, tokenId, actorOf(request)),
      );
      return reply.code(204).send(null);
    },
  );
}

/** `/v2/auth/tokens`, and GET and DELETE of `/v2/auth/token`. */
export function tokenRoutes(app: FastifyInstance, deps: ApiDeps): void {
  list(app, deps);
  revocation(app, deps);
  own(app, deps);
}
