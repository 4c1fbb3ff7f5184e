import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import {
  type GitAccess,
  isPublicUrl,
  LISTING_PROVIDERS,
  type ListingProvider,
} from '../../../domain/builds/git-host.ts';
import { uuidSchema } from '../../../domain/deployment/deployment-bodies.ts';
import {
  createIntegration,
  deleteIntegration,
  findIntegration,
  listIntegrations,
  openIntegration,
  updateIntegration,
} from '../../store/builds/integrations.ts';
import { UniqueViolation } from '../../store/core/errors.ts';
import { actorOf, tenantOf } from '../core/auth.ts';
import type { ApiDeps } from '../core/deps.ts';
import { ApiError, brokenRules, notFound } from '../core/errors.ts';
import { nextOffset, noQuery, pageOnly } from '../core/query.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import { checkCount } from '../tenancy/tenant-counts.ts';
import { gitHostAnswer } from './git-host-errors.ts';
import {
  createIntegrationSchema,
  integrationListSchema,
  integrationSchema,
  patchIntegrationSchema,
  presentIntegration,
  repositoryListSchema,
} from './integration-schema.ts';

const READ = { scopes: ['deployments:read'] } as const;
const WRITE = { scopes: ['deployments:write'] } as const;

const params = z.strictObject({ integration_id: uuidSchema.describe('Id of the integration.') });

/** Converts the error of a name that is taken to a 409. */
function taken(error: unknown): unknown {
  return error instanceof UniqueViolation
    ? new ApiError(409, 'Another integration has this name (name).')
    : error;
}

/**
 * The stored form of the URL: lower-case host, no trailing slash.
 * @throws ApiError 400 for a private host when this installation does not call them
 */
function hostUrlOf(deps: ApiDeps, text: string): string {
  if (!deps.gitHost.allowsPrivate && !isPublicUrl(text)) {
    const msg = 'must not have a private address as its host (BERTH_GIT_ALLOW_PRIVATE allows it)';
    throw brokenRules([{ loc: ['host_url'], msg, type: 'private_address' }]);
  }
  const { origin, pathname } = new URL(text);
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}

function creation(app: FastifyInstance, deps: ApiDeps): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/v2/integrations',
    {
      config: { access: WRITE, answerHeaders: ['Location'] },
      schema: {
        tags: ['integrations'],
        summary: 'Create an integration',
        description:
          'Stores a token for a git host, encrypted. Deployments from repositories of this host can then use the integration. This operation does not verify the token.',
        querystring: noQuery,
        body: createIntegrationSchema,
        response: { 201: integrationSchema, ...errorAnswers(400, 409, 413, 415) },
      },
    },
    async (request, reply) => {
      const tenantId = tenantOf(request);
      const { name, provider, host_url: asked, token } = request.body;
      const added = { name, provider, hostUrl: hostUrlOf(deps, asked), token };
      const created = await deps.database
        .forTenant(tenantId)
        .transaction(async (transaction) => {
          await checkCount(deps, transaction, tenantId, 'integrations');
          return createIntegration(transaction, deps.secretBox, tenantId, added, actorOf(request));
        })
        .catch((error: unknown) => {
          throw taken(error);
        });
      return reply
        .code(201)
        .header('location', `/v2/integrations/${created.id}`)
        .send(presentIntegration(created));
    },
  );
}

function reads(app: FastifyInstance, deps: ApiDeps): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();

  routes.get(
    '/v2/integrations',
    {
      config: { access: READ },
      schema: {
        tags: ['integrations'],
        summary: 'List integrations',
        description: "Returns the tenant's integrations, newest first, without their tokens.",
        querystring: pageOnly,
        response: { 200: integrationListSchema, ...errorAnswers() },
      },
    },
    async (request) => {
      const tenantId = tenantOf(request);
      const page = request.query;
      const found = await deps.database
        .forTenant(tenantId)
        .read((reader) => listIntegrations(reader, tenantId, page));
      return { resources: found.map(presentIntegration), offset: nextOffset(page, found) };
    },
  );

  routes.get(
    '/v2/integrations/:integration_id',
    {
      config: { access: READ },
      schema: {
        tags: ['integrations'],
        summary: 'Get an integration',
        description: 'Returns one integration, without its token.',
        params,
        querystring: noQuery,
        response: { 200: integrationSchema, ...errorAnswers(404) },
      },
    },
    async (request) => {
      const tenantId = tenantOf(request);
      const found = await deps.database
        .forTenant(tenantId)
        .read((reader) => findIntegration(reader, tenantId, request.params.integration_id));
      if (found === null) throw notFound('integration');
      return presentIntegration(found);
    },
  );
}

const isListing = (provider: string): provider is ListingProvider =>
  LISTING_PROVIDERS.some((each) => each === provider);

/** @throws ApiError 404, 400 for a provider without an API */
async function accessOf(deps: ApiDeps, tenantId: string, id: string): Promise<GitAccess> {
  const found = await deps.database
    .forTenant(tenantId)
    .read((reader) => openIntegration(reader, deps.secretBox, tenantId, id));
  if (found === null) throw notFound('integration');
  const { provider, hostUrl, token } = found;
  if (isListing(provider)) return { provider, hostUrl, token };
  const msg =
    'must not be an integration of the provider git, because a plain git server has no API that lists repositories';
  throw new ApiError(400, [{ loc: ['path', 'integration_id'], msg, type: 'provider_without_list' }]);
}

function repositories(app: FastifyInstance, deps: ApiDeps): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/v2/integrations/:integration_id/repos',
    {
      // The route uses the token, so it requires the scope to change deployments.
      config: { access: WRITE },
      schema: {
        tags: ['integrations'],
        summary: 'List repositories',
        description: 'Lists the repositories that the token can read. The git host provides each page.',
        params,
        querystring: pageOnly,
        response: { 200: repositoryListSchema, ...errorAnswers(400, 404, 502, 504) },
      },
    },
    async (request) => {
      const access = await accessOf(deps, tenantOf(request), request.params.integration_id);
      const page = request.query;
      const found = await deps.gitHost.listRepositories(access, page).catch((error: unknown) => {
        throw gitHostAnswer(error);
      });
      const resources = found.map(({ fullName, url, defaultBranch, isPrivate }) => ({
        full_name: fullName,
        repo_url: url,
        default_branch: defaultBranch,
        private: isPrivate,
      }));
      return { resources, offset: nextOffset(page, resources) };
    },
  );
}

function changes(app: FastifyInstance, deps: ApiDeps): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();

  routes.patch(
    '/v2/integrations/:integration_id',
    {
      config: { access: WRITE },
      schema: {
        tags: ['integrations'],
        summary: 'Update an integration',
        description:
          'Changes the name or the token. Provider and host_url cannot be changed, because a token belongs to one host.',
        params,
        querystring: noQuery,
        body: patchIntegrationSchema,
        response: { 200: integrationSchema, ...errorAnswers(404, 409, 413, 415) },
      },
    },
    async (request) => {
      const tenantId = tenantOf(request);
      const asked = { change: request.body, actor: actorOf(request) };
      const changed = await deps.database
        .forTenant(tenantId)
        .transaction((transaction) =>
          updateIntegration(transaction, deps.secretBox, tenantId, request.params.integration_id, asked),
        )
        .catch((error: unknown) => {
          throw taken(error);
        });
      if (changed === null) throw notFound('integration');
      return presentIntegration(changed);
    },
  );

  routes.delete(
    '/v2/integrations/:integration_id',
    {
      config: { access: WRITE },
      schema: {
        tags: ['integrations'],
        summary: 'Delete an integration',
        description:
          'Deletes the integration with its token. The request is rejected while a deployment uses the integration, unless that deployment is being deleted and cannot be restored.',
        params,
        querystring: noQuery,
        response: { 204: z.null().describe('Deleted.'), ...errorAnswers(404, 409) },
      },
    },
    async (request, reply) => {
      const tenantId = tenantOf(request);
      const users = await deps.database
        .forTenant(tenantId)
        .transaction((transaction) =>
          deleteIntegration(transaction, tenantId, request.params.integration_id, actorOf(request)),
        );
      if (users === null) throw notFound('integration');
      if (users > 0) {
        throw new ApiError(409, `The integration is named by ${users} deployment${users === 1 ? '' : 's'}.`);
      }
      return reply.code(204).send(null);
    },
  );
}

/** `/v2/integrations`. */
export function integrationRoutes(app: FastifyInstance, deps: ApiDeps): void {
  creation(app, deps);
  reads(app, deps);
  repositories(app, deps);
  changes(app, deps);
}
