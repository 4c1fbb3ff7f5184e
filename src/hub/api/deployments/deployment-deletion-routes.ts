import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { uuidSchema } from '../../../domain/deployment/deployment-bodies.ts';
import {
  type DeletionOutcome,
  forgetDeployment,
  requestDeletions,
} from '../../store/deployments/deployments.ts';
import { actorOf, callerOf, tenantOf } from '../core/auth.ts';
import type { ApiDeps } from '../core/deps.ts';
import { ApiError, notFound } from '../core/errors.ts';
import { checkIfMatch, etag, ifMatchHeaders } from '../core/etag.ts';
import { booleanQuery, csvQuery, deploymentParams, emptyBody } from '../core/query.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import { presentDeployment } from './deployment-present.ts';
import { maskQuery, presenting } from './deployment-response.ts';
import { restore } from './deployment-restore.ts';
import { deploymentSchema } from './deployment-schema.ts';

const WRITE = { scopes: ['deployments:write'] } as const;
const MAX_IDS = 100;

const tracingQuery = {
  delete_tracing_project: booleanQuery
    .default(false)
    .describe(
      'true: also delete the tracing project, together with the last deployment that uses it. If several deletions concern the same project, the value of the last deletion applies.',
    ),
};
const deleteQuery = z.strictObject({
  ...tracingQuery,
  force: booleanQuery
    .default(false)
    .describe(
      'true: remove the deployment at once, for a cluster that no longer exists. Berth does not wait for the cluster, and ends a grace period at once. For a deployment that was deleted with keep_workloads, other tenants can then use its hosts, and its images are removed from the registry of the platform. The workloads stay. This parameter also requires the scope admin.',
    ),
  keep_workloads: booleanQuery
    .default(false)
    .describe(
      'true: remove the deployment from Berth and leave its workloads and data in the cluster. In the cluster, only the ManagedDeployment is deleted. There is no grace period. A deletion that has already started can be changed in this way during its grace period. After that, the response is 409. `berth export` prints the objects that stay. The host of custom_url stays reserved, because the route stays. When the route is gone, a deletion with force frees the host. This parameter also requires the scope admin.',
    ),
});

const distinct = (ids: readonly string[]) => [...new Set(ids.map((id) => id.toLowerCase()))];
const bulkQuery = z.strictObject({
  deployment_ids: csvQuery(uuidSchema, (list) =>
    list
      .transform(distinct)
      .pipe(z.array(z.string()).max(MAX_IDS, `must be at most ${MAX_IDS} different ids`)),
  ).describe(`Ids of deployments, separated by commas: at most ${MAX_IDS} different ids.`),
  ...tracingQuery,
});

const bulkSchema = z
  .object({
    resources: z
      .array(
        z
          .object({
            deployment_id: uuidSchema.describe('The requested id.'),
            status: z
              .int()
              .describe(
                'Status of the single deletion: 204 for a started deletion, 404 for a missing deployment.',
              ),
            detail: z.string().nullable().describe('Error message. null: no error.'),
          })
          .meta({ id: 'DeletionResult', description: 'Result of the deletion of one deployment.' }),
      )
      .describe('One result for each distinct id, in the order of the request.'),
  })
  .meta({ id: 'DeletionResults', description: 'Result of the deletion of each deployment.' });

function bulkEntry(deploymentId: string, outcome: DeletionOutcome) {
  return outcome === 'missing'
    ? { deployment_id: deploymentId, status: 404, detail: 'The deployment does not exist.' }
    : { deployment_id: deploymentId, status: 204, detail: null };
}

/** Checks the options that only admins may use. @throws ApiError 403; 400 when both are set */
function checkAdminsOptions(request: FastifyRequest<{ Querystring: z.infer<typeof deleteQuery> }>): void {
  const { force, keep_workloads: keepWorkloads } = request.query;
  const asked = force ? 'force' : keepWorkloads ? 'keep_workloads' : null;
  if (asked !== null && !callerOf(request).scopes.includes('admin')) {
    throw new ApiError(403, `The API key lacks the scope admin, which ${asked} needs.`);
  }
  if (force && keepWorkloads) {
    const msg =
      'cannot be combined with force: after force, the workloads are removed if the cluster returns';
    throw new ApiError(400, [{ loc: ['query', 'keep_workloads'], msg, type: 'contradiction' }]);
  }
}

const tooLate = () =>
  new ApiError(
    409,
    'The deployment is being deleted without keep_workloads: its workloads are being removed and can no longer be kept.',
  );

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
          'Starts the deletion. The status is AWAITING_DELETE until the cluster is clean. Then the deployment is gone. If a grace period is configured, no pods run during this time, all data is kept, and restore cancels the deletion. A repeated request gets the same response and does not extend the grace period. Other deployments can use the name at once.',
        params: deploymentParams,
        querystring: deleteQuery,
        headers: ifMatchHeaders,
        response: {
          204: z.null().describe('The deletion has started.'),
          ...errorAnswers(400, 404, 409, 412),
        },
      },
    },
    async (request, reply) => {
      const tenantId = tenantOf(request);
      const { deployment_id: id } = request.params;
      const {
        delete_tracing_project: deleteTracingProject,
        force,
        keep_workloads: keepWorkloads,
      } = request.query;
      checkAdminsOptions(request);
      const ifMatch = request.headers['if-match'];
      const check = (generation: number) => checkIfMatch(ifMatch, generation);
      const asked = { deleteTracingProject, keepWorkloads, actor: actorOf(request), check };
      const found = await deps.database.forTenant(tenantId).transaction(async (transaction) => {
        if (force) return forgetDeployment(transaction, tenantId, id, asked);
        const outcomes = await requestDeletions(transaction, tenantId, [id], { ...asked, graceSeconds });
        if (outcomes.get(id) === 'too_late') throw tooLate();
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
          'Deletes each of the deployments, in one transaction. A missing deployment is reported and does not affect ' +
          'the other deployments. After any other error, nothing is deleted.',
        querystring: bulkQuery,
        response: {
          200: bulkSchema.describe('The deletion of all deployments has started.'),
          207: bulkSchema.describe('Some of the deployments do not exist.'),
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
          'Cancels the deletion within the grace period. The deployment starts again with its data and its active revision. If another deployment has taken the host of custom_url, custom_url becomes null, and the event Restored contains the URL. 409: the deployment is not being deleted, the grace period has ended, or another deployment of the tenant has taken the name and must be deleted first. 400: the restored deployment would exceed the quotas.',
        params: deploymentParams,
        querystring: z.strictObject(maskQuery),
        headers: ifMatchHeaders,
        body: emptyBody,
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

/** Deletion of deployments and its reversal: `DELETE /v2/deployments`, `…/{id}`, `POST …/{id}/restore`. */
export function deploymentDeletionRoutes(app: FastifyInstance, deps: ApiDeps): void {
  deletions(app, deps);
  restoration(app, deps);
}
