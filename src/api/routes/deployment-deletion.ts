import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { uuidSchema } from '../../domain/deployment-bodies.ts';
import { type DeletionOutcome, forgetDeployment, requestDeletions } from '../../store/deployments.ts';
import { actorOf, callerOf, tenantOf } from '../auth.ts';
import { maskQuery, presenting } from '../deployment-answer.ts';
import { presentDeployment } from '../deployment-present.ts';
import { restore } from '../deployment-restore.ts';
import { deploymentSchema } from '../deployment-schema.ts';
import type { ApiDeps } from '../deps.ts';
import { errorAnswers } from '../error-schema.ts';
import { ApiError, notFound } from '../errors.ts';
import { checkIfMatch, etag, ifMatchHeaders } from '../etag.ts';
import { booleanQuery, csvOfIds, deploymentParams } from '../query.ts';

const WRITE = { scopes: ['deployments:write'] } as const;
const MAX_IDS = 100;

const tracingQuery = {
  delete_tracing_project: booleanQuery
    .default(false)
    .describe(
      'true: delete the tracing project too, with the last deployment that uses it. Of several deletions that use one project, the last word counts.',
    ),
};
const deleteQuery = z.strictObject({
  ...tracingQuery,
  force: booleanQuery
    .default(false)
    .describe(
      'true: forget the deployment at once, for a cluster that does not exist any more. Nothing is waited for, a running grace is skipped. Needs the scope admin, too.',
    ),
});

const distinct = (ids: readonly string[]) => [...new Set(ids.map((id) => id.toLowerCase()))];
const bulkQuery = z.strictObject({
  deployment_ids: csvOfIds
    .transform(distinct)
    .pipe(z.array(z.string()).max(MAX_IDS, `must be at most ${MAX_IDS} different ids`))
    .describe(`Ids of deployments, separated by commas: at most ${MAX_IDS} different ones.`),
  ...tracingQuery,
});

const bulkSchema = z
  .object({
    resources: z
      .array(
        z.object({
          deployment_id: uuidSchema.describe('Id that was given.'),
          status: z
            .int()
            .describe(
              'What the deletion of it alone would have answered: 204 it is under way, 404 there is none.',
            ),
          detail: z.string().nullable().describe('What is wrong, as a sentence; null: nothing.'),
        }),
      )
      .describe('One for each different id, in the order given.'),
  })
  .describe('What happened to each deployment.');

function bulkEntry(deploymentId: string, outcome: DeletionOutcome) {
  return outcome === 'missing'
    ? { deployment_id: deploymentId, status: 404, detail: 'There is no such deployment.' }
    : { deployment_id: deploymentId, status: 204, detail: null };
}

function deletions(app: FastifyInstance, deps: ApiDeps): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const graceSeconds = deps.deletionGraceSeconds ?? 0;

  routes.delete(
    '/v2/deployments/:deployment_id',
    {
      config: { access: WRITE },
      schema: {
        tags: ['deployments'],
        summary: 'Delete a deployment',
        description:
          'Asks for the deletion: the status is AWAITING_DELETE until the cluster is clean, then the deployment is gone. Within the grace, if one is configured, nothing runs, all data is kept, and restore takes it back. Asked again, it is the same answer, and the grace ends when it would have. The name is free at once.',
        params: deploymentParams,
        querystring: deleteQuery,
        headers: ifMatchHeaders,
        response: { 204: z.null().describe('Deletion is under way.'), ...errorAnswers(404, 412) },
      },
    },
    async (request, reply) => {
      const tenantId = tenantOf(request);
      const { deployment_id: id } = request.params;
      const { delete_tracing_project: deleteTracingProject, force } = request.query;
      if (force && !callerOf(request).scopes.includes('admin')) {
        throw new ApiError(403, 'The API key lacks the scope admin, which force needs.');
      }
      const ifMatch = request.headers['if-match'];
      const check = (generation: number) => checkIfMatch(ifMatch, generation);
      const asked = { deleteTracingProject, actor: actorOf(request), check };
      const found = await deps.database.forTenant(tenantId).transaction(async (transaction) => {
        if (force) return forgetDeployment(transaction, tenantId, id, asked);
        const outcomes = await requestDeletions(transaction, tenantId, [id], { ...asked, graceSeconds });
        return outcomes.get(id) !== 'missing';
      });
      if (!found) throw notFound('deployment');
      return reply.code(204).send(null);
    },
  );

  routes.delete(
    '/v2/deployments',
    {
      config: { access: WRITE },
      schema: {
        tags: ['deployments'],
        summary: 'Delete several deployments',
        description:
          'As the deletion of each of them, in one transaction: one that does not exist is told and keeps nothing else from going; after any other error nothing was deleted.',
        querystring: bulkQuery,
        response: {
          200: bulkSchema.describe('Deletion of all of them is under way.'),
          207: bulkSchema.describe('Some of them do not exist.'),
          ...errorAnswers(),
        },
      },
    },
    async (request, reply) => {
      const tenantId = tenantOf(request);
      const { deployment_ids: ids, delete_tracing_project: deleteTracingProject } = request.query;
      const asked = { deleteTracingProject, graceSeconds, actor: actorOf(request) };
      const outcomes = await deps.database
        .forTenant(tenantId)
        .transaction((transaction) => requestDeletions(transaction, tenantId, ids, asked));
      const resources = [...outcomes].map(([id, outcome]) => bulkEntry(id, outcome));
      return reply.code(resources.every(({ status }) => status === 204) ? 200 : 207).send({ resources });
    },
  );
}

function restoration(app: FastifyInstance, deps: ApiDeps): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/v2/deployments/:deployment_id/restore',
    {
      config: { access: WRITE, answerHeaders: ['ETag'] },
      schema: {
        tags: ['deployments'],
        summary: 'Restore a deployment',
        description:
          'Takes its deletion back, within the grace: it comes up again with its data and its active revision. 409 when it is not being deleted, when the grace is over, or when another deployment has its name or the host of its custom_url by now; 400 when it does not fit into the quotas any more.',
        params: deploymentParams,
        querystring: z.strictObject(maskQuery),
        headers: ifMatchHeaders,
        body: z.strictObject({}).nullish().describe('None, or an empty object.'),
        response: { 200: deploymentSchema, ...errorAnswers(400, 404, 409, 412, 413, 415) },
      },
    },
    async (request, reply) => {
      const record = await restore(deps, {
        tenantId: tenantOf(request),
        deploymentId: request.params.deployment_id,
        actor: actorOf(request),
        ifMatch: request.headers['if-match'],
      });
      reply.header('etag', etag(record.generation));
      return presentDeployment(record, presenting(deps, request, request.query.mask_secrets));
    },
  );
}

/** The end of deployments, and its undoing: `DELETE /v2/deployments`, `…/{id}`, `POST …/{id}/restore`. */
export function deploymentDeletionRoutes(app: FastifyInstance, deps: ApiDeps): void {
  deletions(app, deps);
  restoration(app, deps);
}
