import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { changeSecretsBodySchema } from '../../../domain/deployment/secret-changes.ts';
import { actorOf, tenantOf } from '../core/auth.ts';
import type { ApiDeps } from '../core/deps.ts';
import { etag, ifMatchHeaders } from '../core/etag.ts';
import { deploymentParams, noQuery } from '../core/query.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import { changedSecretsSchema } from './deployment-schema.ts';
import { changeSecrets } from './deployment-secret-changes.ts';

/** `/v2/deployments/{id}/secrets`. */
export function deploymentSecretsRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.withTypeProvider<ZodTypeProvider>().patch(
    '/v2/deployments/:deployment_id/secrets',
    {
      config: { access: { scopes: ['deployments:write'] }, answerHeaders: ['ETag'] },
      schema: {
        operationId: 'changeDeploymentSecrets',
        tags: ['deployments'],
        summary: 'Change secrets of a deployment',
        description:
          'Adds, replaces and removes single secrets. All other secrets stay as they are, so the caller need not be ' +
          'able to read secrets. A difference creates a new revision, as with a PATCH of the deployment. The response ' +
          'has the names of all secrets, without values.',
        params: deploymentParams,
        headers: ifMatchHeaders,
        querystring: noQuery,
        body: changeSecretsBodySchema,
        response: { 200: changedSecretsSchema, ...errorAnswers(400, 404, 409, 412, 413, 415) },
      },
    },
    async (request, reply) => {
      const { record, names, effects } = await changeSecrets(deps, {
        tenantId: tenantOf(request),
        deploymentId: request.params.deployment_id,
        actor: actorOf(request),
        body: request.body,
        ifMatch: request.headers['if-match'],
      });
      reply.header('etag', etag(record.generation));
      return {
        id: record.id,
        names: [...names],
        generation: record.generation,
        latest_revision_id: record.latestRevisionId,
        ...(effects.length === 0 ? {} : { effects: [...effects] }),
      };
    },
  );
}
