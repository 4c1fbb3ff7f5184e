import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { actorOf, tenantOf } from '../core/auth.ts';
import type { ApiDeps } from '../core/deps.ts';
import { etag, ifMatchHeader } from '../core/etag.ts';
import { idempotencyKeyHeader } from '../core/idempotency.ts';
import { deploymentParams, emptyBody } from '../core/query.ts';
import { dryRunQuery } from '../deployments/deployment-response.ts';
import { revisionDryRunSchema } from '../deployments/deployment-schema.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import { type RepeatKind, type RepeatRequest, repeatRevision } from './redeploy.ts';
import { previewRepeat } from './redeploy-dry-run.ts';
import { presentRevision, revisionParams, revisionSchema } from './revision-routes.ts';

const headers = z.looseObject({
  'idempotency-key': idempotencyKeyHeader.describe(
    'For 24 hours, a request with the same key returns the revision that the first request created.',
  ),
  'if-match': ifMatchHeader,
});
type Headers = z.infer<typeof headers>;

const querystring = z.strictObject(dryRunQuery);
const answers = {
  201: revisionSchema,
  200: revisionDryRunSchema.describe('Response to dry_run.'),
  ...errorAnswers(400, 404, 409, 412, 413, 415),
};
const config = {
  access: { scopes: ['deployments:write'] },
  answerHeaders: ['ETag', 'Location'],
} as const;

const rollbackBody = z
  .preprocess(
    (body) => body ?? undefined,
    z
      .strictObject({
        run_release: z
          .boolean()
          .optional()
          .describe('Whether the new revision runs its release command. Default: false.'),
      })
      .meta({ id: 'RollBackRevision', description: 'Options of a rollback.' })
      .optional(),
  )
  .optional();

interface Call {
  readonly request: FastifyRequest;
  readonly headers: Headers;
  readonly dryRun: boolean;
  readonly deploymentId: string;
  readonly revisionId: string | null;
  readonly repetition: RepeatKind;
  readonly body?: unknown;
}

/** The ETag belongs to the deployment, so that clients can use it in If-Match. */
async function answer(deps: ApiDeps, reply: FastifyReply, call: Call) {
  const { request, deploymentId, revisionId, repetition } = call;
  const path = `/v2/deployments/${deploymentId}/revisions`;
  const repeat: RepeatRequest = {
    tenantId: tenantOf(request),
    deploymentId,
    revisionId,
    repetition,
    runRelease: (call.body as z.output<typeof rollbackBody>)?.run_release === true,
    actor: actorOf(request),
    ifMatch: call.headers['if-match'],
    idempotencyKey: call.headers['idempotency-key'] ?? null,
    operation: `POST ${path}${revisionId === null ? '' : `/${revisionId}/${repetition}`}`,
  };
  if (call.dryRun) {
    const { outlook, generation } = await previewRepeat(deps, repeat);
    return reply
      .code(200)
      .header('etag', etag(generation))
      .send(outlook as never);
  }
  const { revision, generation } = await repeatRevision(deps, repeat);
  reply.code(201).header('etag', etag(generation)).header('location', `${path}/${revision.id}`);
  return presentRevision(revision);
}

/**
 * Operations that create a revision with the content of another revision: `POST /v2/deployments/{id}/revisions` and
 * below.
 */
export function redeployRoutes(app: FastifyInstance, deps: ApiDeps): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();

  routes.post(
    '/v2/deployments/:deployment_id/revisions',
    {
      config,
      schema: {
        tags: ['revisions'],
        summary: 'Create a revision',
        description:
          'Creates a new revision with the content of the latest one. A tag is resolved again, or the repository or the uploaded folder is built again. If the deployment has no image yet, the response is 400.',
        params: deploymentParams,
        headers,
        querystring,
        body: emptyBody,
        response: answers,
      },
    },
    (request, reply) =>
      answer(deps, reply, {
        request,
        headers: request.headers,
        dryRun: request.query.dry_run,
        deploymentId: request.params.deployment_id,
        revisionId: null,
        repetition: 'latest',
      }),
  );

  const ofOne = (repetition: 'redeploy' | 'rollback', words: { summary: string; description: string }) =>
    routes.post(
      `/v2/deployments/:deployment_id/revisions/:revision_id/${repetition}`,
      {
        config,
        schema: {
          tags: ['revisions'],
          ...words,
          params: revisionParams,
          headers,
          querystring,
          body: repetition === 'rollback' ? rollbackBody : emptyBody,
          response: answers,
        },
      },
      (request, reply) =>
        answer(deps, reply, {
          request,
          headers: request.headers,
          dryRun: request.query.dry_run,
          deploymentId: request.params.deployment_id,
          revisionId: request.params.revision_id,
          repetition,
          body: request.body,
        }),
    );

  ofOne('redeploy', {
    summary: 'Deploy a revision again',
    description:
      'Creates a new revision with the same content: source_revision_config, secrets, and the image by its resolved or built digest. Use this operation to retry a failed revision. If the revision has no build, a build starts. A release command runs again.',
  });
  ofOne('rollback', {
    summary: 'Roll back to a revision',
    description:
      'Creates a new revision with the content of this one: source_revision_config, secrets, and the image by its resolved or built digest. The new revision becomes the latest revision. source_config is not part of a revision and does not change. The release command runs only with run_release.',
  });
}
