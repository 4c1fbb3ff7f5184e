import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { readEvent } from '../../../domain/builds/webhook-event.ts';
import { uuidSchema } from '../../../domain/deployment/deployment-bodies.ts';
import type { ApiDeps } from '../core/deps.ts';
import { wrongShape } from '../core/errors.ts';
import { noQuery } from '../core/query.ts';
import { createLimiter } from '../core/rate-limit.ts';
import { zodIssues } from '../core/validation.ts';
import { UNOBSERVED } from '../observe/observer.ts';
import { openErrorAnswers } from '../openapi/error-schema.ts';
import { deliveryOf, WEBHOOK_TYPES, webhookBody } from './webhook-body.ts';
import { takePush } from './webhook-delivery.ts';

/**
 * `POST /v2/webhooks/{integration_id}`: receives push events of git hosts. The route needs no API key, because the
 * signature authenticates a delivery.
 */

const params = z.strictObject({ integration_id: uuidSchema.describe('Id of the integration.') });

/** The headers of git hosts. Headers that other code reads are declared for the document. */
const headers = z.looseObject({
  'x-github-event': z.string().optional().describe('GitHub: type of the event, such as push or ping.'),
  'x-github-delivery': z
    .string()
    .optional()
    .describe('GitHub: id of the event. A repeated delivery has the same id.'),
  'x-hub-signature-256': z.string().optional().describe('GitHub: HMAC-SHA256 of the body with the secret.'),
  'x-gitlab-token': z.string().optional().describe('GitLab: the secret.'),
  'x-gitlab-event-uuid': z.string().optional().describe('GitLab: id of the event.'),
  'webhook-id': z.string().optional().describe('GitLab with a signing token: id of the delivery.'),
  'webhook-timestamp': z.string().optional().describe('GitLab with a signing token: time of the signature.'),
  'webhook-signature': z
    .string()
    .optional()
    .describe('GitLab with a signing token: HMAC-SHA256 of id, time and body.'),
  'idempotency-key': z
    .string()
    .optional()
    .describe('GitLab: id of the delivery. A repeated delivery has the same id.'),
});

const body = z
  .looseObject({})
  .meta({ id: 'DeliverWebhook', description: 'The payload of the git host. Unused fields are ignored.' });

const answerSchema = z
  .object({
    event: z.string().describe('Kind of the event.'),
    result: z
      .enum(['taken', 'repeated', 'ignored'])
      .describe('repeated: the delivery was accepted before. ignored: the event does not concern a branch.'),
    deployments: z
      .array(
        z
          .object({
            deployment_id: uuidSchema.describe('A deployment that tracks the branch.'),
            outcome: z
              .enum(['revision_made', 'nothing_to_build', 'failed'])
              .describe(
                'nothing_to_build: the deployment already has this commit or a newer commit, or the branch was ' +
                  'deleted. ' +
                  'failed: the events of the deployment contain the reason.',
              ),
            revision_id: uuidSchema
              .nullable()
              .describe('The created revision. null: no revision was created.'),
          })
          .meta({ id: 'PushOutcome', description: 'Result of the push for one deployment.' }),
      )
      .describe('The deployments of this integration that track the pushed branch.'),
  })
  .meta({ id: 'WebhookResult', description: 'Results.' });

const nothingDone = (event: string, result: 'repeated' | 'ignored') => ({ event, result, deployments: [] });

export function webhookRoutes(app: FastifyInstance, deps: ApiDeps): void {
  const { observer = UNOBSERVED } = deps;
  app.register(async (scoped) => {
    const parse = webhookBody(deps, createLimiter(deps.rateLimits ?? null));
    scoped.removeAllContentTypeParsers();
    scoped.addContentTypeParser(WEBHOOK_TYPES, parse);
    scoped.withTypeProvider<ZodTypeProvider>().post(
      '/v2/webhooks/:integration_id',
      {
        config: { access: 'public', anyText: true },
        schema: {
          tags: ['webhooks'],
          summary: 'Deliver a webhook',
          description:
            'Receives push events of GitHub, GitLab and compatible git hosts (docs/build-on-push.md). Each push to the tracked branch of a deployment with build_on_push creates a revision with the newest commit. A repeated delivery has no effect.\n\nScope: none. The delivery must know the secret of the integration (POST /v2/integrations/{integration_id}/webhook-secret); an unknown integration and a wrong secret get the same response.',
          params,
          headers,
          querystring: noQuery,
          body,
          response: {
            200: answerSchema,
            ...openErrorAnswers(404, 413, 415, 422, 429, 503),
          },
        },
      },
      async (request) => {
        const delivery = deliveryOf(request);
        if (delivery === null) throw new Error('failed to find a delivery: the body was not read');
        const { target, keys, payload } = delivery;
        const event = readEvent(request.headers, payload);
        if (event instanceof z.ZodError) throw wrongShape(zodIssues(event, payload, 'body'));
        if (event.kind === 'ignored') {
          observer.delivered('ignored');
          return nothingDone(event.name, 'ignored');
        }
        const outcomes = await takePush(deps, { target, keys, event });
        observer.delivered(outcomes === null ? 'repeated' : 'taken');
        if (outcomes === null) return nothingDone('push', 'repeated');
        for (const outcome of outcomes)
          deps.logger.info({ requestId: request.id, ...outcome }, 'accepted a push');
        const deployments = outcomes.map(({ deploymentId, outcome, revisionId }) => ({
          deployment_id: deploymentId,
          outcome,
          revision_id: revisionId,
        }));
        return { event: 'push', result: 'taken' as const, deployments };
      },
    );
  });
}
