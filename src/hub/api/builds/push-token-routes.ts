import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { RegistryAuthority } from '../../registry/authority.ts';
import type { Transaction } from '../../store/core/database.ts';
import { appendEvents } from '../../store/core/events.ts';
import type { DeploymentRecord } from '../../store/core/records.ts';
import { findDeployment } from '../../store/deployments/deployments.ts';
import { actorOf, callerOf, tenantOf } from '../core/auth.ts';
import type { ApiDeps } from '../core/deps.ts';
import { ApiError, brokenRules, deletionConflict, notFound } from '../core/errors.ts';
import { deploymentParams, emptyBody, noQuery } from '../core/query.ts';
import { timeSchema } from '../deployments/deployment-schema.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import { grantEndOf, type Principal } from '../tenancy/principal.ts';

const pushTokenSchema = z
  .object({
    registry_url: z
      .string()
      .describe('Host of the registry, with its port if any. Use this value in docker login.'),
    image_uri: z
      .string()
      .describe(
        'Repository to push to, without a tag. To deploy a pushed image, append its tag, and PATCH image_uri with the result.',
      ),
    username: z.string().describe('User name for the registry.'),
    token: z
      .string()
      .describe(
        'Password for the registry. The token allows push and pull in this repository only. Shown only once and not stored.',
      ),
    expires_at: timeSchema.describe('Expiry time. If the deployment is deleted, the token expires at once.'),
  })
  .meta({ id: 'PushToken', description: 'Short-lived credentials for the registry of the platform.' });

const HOUR_SECONDS = 3600;

/** Expiry of a push token, in whole seconds: it does not outlive the credential that it was created with. */
export function pushTokenEnd(principal: Principal, now: Date, seconds: number): Date {
  const end = now.getTime() + seconds * 1000;
  const credentialEnd = grantEndOf(principal)?.getTime() ?? end;
  return new Date(Math.floor(Math.min(end, credentialEnd) / 1000) * 1000);
}

/** @throws ApiError 400 for other sources */
function checkSource({ source }: DeploymentRecord): void {
  if (source === 'internal_image') return;
  const msg = `must be internal_image, because only its images are pushed to the platform's registry, but is ${source}`;
  throw brokenRules([{ loc: ['source'], msg, type: 'refused_for_source' }]);
}

/** @throws ApiError 409 when the installation issues no push tokens */
function authorityOf({ registryAuthority }: ApiDeps): RegistryAuthority {
  if (registryAuthority != null) return registryAuthority;
  throw new ApiError(
    409,
    'This installation issues no credentials for its registry, because BERTH_REGISTRY and BERTH_REGISTRY_SIGNING_KEY ' +
      'are not both set.',
  );
}

/** `POST /v2/deployments/{id}/push-token`. */
export function pushTokenRoutes(app: FastifyInstance, deps: ApiDeps): void {
  const { clock = () => new Date(), pushTokenSeconds = HOUR_SECONDS } = deps;
  app.withTypeProvider<ZodTypeProvider>().post(
    '/v2/deployments/:deployment_id/push-token',
    {
      config: { access: { scopes: ['deployments:write'] } },
      schema: {
        tags: ['registry'],
        summary: 'Create a push token',
        description:
          "Creates short-lived credentials for the deployment's repository in the platform's registry, for docker login, skopeo, crane and similar clients. The deployment must have the source internal_image. To deploy a pushed tag, PATCH image_uri. To deploy a moved tag, POST a revision. The credentials expire after an hour, or with the API key or the access token of the request.",
        params: deploymentParams,
        querystring: noQuery,
        body: emptyBody,
        response: { 200: pushTokenSchema, ...errorAnswers(400, 404, 409, 413, 415) },
      },
    },
    async (request) => {
      const tenantId = tenantOf(request);
      const expiresAt = pushTokenEnd(callerOf(request).principal, clock(), pushTokenSeconds);
      const give = async (transaction: Transaction) => {
        const record = await findDeployment(transaction, tenantId, request.params.deployment_id);
        if (record === null) throw notFound('deployment');
        checkSource(record);
        const authority = authorityOf(deps);
        if (record.deleteRequestedAt !== null) throw deletionConflict();
        const expires = expiresAt.toISOString();
        await appendEvents(transaction, [
          {
            tenantId,
            deploymentId: record.id,
            actor: actorOf(request),
            reason: 'PushTokenIssued',
            message: `Credentials to push images were issued. The credentials expire at ${expires}.`,
            details: { expires_at: expires },
          },
        ]);
        const { username, token } = authority.credential('push', record, expiresAt);
        return {
          registry_url: authority.host,
          image_uri: authority.repositoryOf(record),
          username,
          token,
          expires_at: expires,
        };
      };
      return deps.database.forTenant(tenantId).transaction(give);
    },
  );
}
