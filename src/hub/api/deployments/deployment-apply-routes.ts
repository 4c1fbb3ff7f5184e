import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { applyBodySchema } from '../../../domain/deployment/apply.ts';
import { deploymentNameSchema } from '../../../domain/deployment/deployment-bodies.ts';
import { actorOf, tenantOf } from '../core/auth.ts';
import type { ApiDeps } from '../core/deps.ts';
import { etag, ifMatchHeader, ifNoneMatchHeader } from '../core/etag.ts';
import { idempotencyKeyHeader } from '../core/idempotency.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import { applyDeployment } from './deployment-apply.ts';
import { presentDeployment } from './deployment-present.ts';
import { presenting, writeQuery } from './deployment-response.ts';
import { deploymentSchema, updatedDeploymentSchema } from './deployment-schema.ts';

const params = z.strictObject({
  name: deploymentNameSchema.describe('Name of the deployment, percent-encoded.'),
});

const headers = z.looseObject({
  'idempotency-key': idempotencyKeyHeader.describe(
    'For 24 hours, a request with the same key, name and body returns the deployment in its current state, and changes nothing. A PUT can be repeated without this header, unless it has If-Match or If-None-Match.',
  ),
  'if-match': ifMatchHeader,
  'if-none-match': ifNoneMatchHeader,
});

/** `/v2/deployments/by-name/{name}`. */
export function deploymentApplyRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.withTypeProvider<ZodTypeProvider>().put(
    '/v2/deployments/by-name/:name',
    {
      config: { access: { scopes: ['deployments:write'] }, answerHeaders: ['ETag', 'Location'] },
      schema: {
        tags: ['deployments'],
        summary: 'Create or change a deployment by name',
        description:
          'Creates the deployment of this name, or changes it so that it equals the body. Absent fields and null clear ' +
          'a field. Fields that cannot be changed, db_storage_gi and the image of an internal_image keep their value ' +
          'if they are absent. Absent secrets keep the stored secrets. A request without a difference writes nothing. ' +
          'Another source than that of the deployment is a conflict. A deployment that is being deleted does not count.',
        params,
        headers,
        querystring: writeQuery,
        body: applyBodySchema,
        response: {
          201: deploymentSchema,
          200: updatedDeploymentSchema,
          ...errorAnswers(400, 409, 412, 413, 415),
        },
      },
    },
    async (request, reply) => {
      const { dry_run: dryRun, mask_secrets: mask } = request.query;
      const { record, created, generation, effects, secrets, outlook } = await applyDeployment(deps, {
        tenantId: tenantOf(request),
        actor: actorOf(request),
        name: request.params.name,
        body: request.body,
        ifMatch: request.headers['if-match'],
        ifNoneMatch: request.headers['if-none-match'],
        dryRun,
        idempotencyKey: request.headers['idempotency-key'] ?? null,
      });
      const known = secrets === undefined ? {} : { secrets };
      const shown = presentDeployment(record, { ...presenting(deps, request, mask), ...known });
      if (generation !== null) reply.header('etag', etag(generation));
      if (created && outlook === null)
        return reply.code(201).header('location', `/v2/deployments/${record.id}`).send(shown);
      return reply
        .code(200)
        .send({ ...shown, ...(effects.length === 0 ? {} : { effects: [...effects] }), ...outlook });
    },
  );
}
