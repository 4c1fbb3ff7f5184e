import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { newWebhookSecret } from '../../../domain/builds/webhook-signature.ts';
import { uuidSchema } from '../../../domain/deployment/deployment-bodies.ts';
import { removeWebhookSecret, setWebhookSecret } from '../../store/builds/webhooks.ts';
import { actorOf, tenantOf } from '../core/auth.ts';
import type { ApiDeps } from '../core/deps.ts';
import { notFound } from '../core/errors.ts';
import { emptyBody, noQuery } from '../core/query.ts';
import { timeSchema } from '../deployments/deployment-schema.ts';
import { errorAnswers } from '../openapi/error-schema.ts';

const WRITE = { scopes: ['deployments:write'] } as const;

/** Time for which the former secret remains valid, so that the new secret can be set at the git host. */
const FORMER_VALID_MS = 86_400_000;

const params = z.strictObject({ integration_id: uuidSchema.describe('Id of the integration.') });

const secretSchema = z
  .object({
    url: z
      .string()
      .describe(
        'Payload URL for the git host. If the API does not know its own URL, the value is only a path.',
      )
      .meta({ examples: ['https://berth.example.com/v2/webhooks/0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a77'] }),
    secret: z
      .string()
      .describe(
        'The secret. Use this value as the webhook secret of GitHub, or as the secret token or signing token of ' +
          'GitLab. The ' +
          'secret is shown only once.',
      )
      .meta({ examples: ['whsec_'] }),
    former_valid_until: timeSchema
      .nullable()
      .describe('End of the validity of the former secret. null: there was no former secret.'),
  })
  .meta({ id: 'WebhookSecret', description: 'Settings for the webhook of the git host.' });

/** `/v2/integrations/{id}/webhook-secret`. */
export function webhookSecretRoutes(app: FastifyInstance, deps: ApiDeps): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const clock = deps.clock ?? (() => new Date());

  routes.post(
    '/v2/integrations/:integration_id/webhook-secret',
    {
      config: { access: WRITE },
      schema: {
        tags: ['integrations'],
        summary: 'Create a webhook secret',
        description:
          'Creates the secret that webhooks of the git host use for signatures. Only this response shows the secret. A former secret stays valid for 24 hours. To invalidate the former secret at once, delete it first.',
        params,
        querystring: noQuery,
        body: emptyBody,
        response: { 201: secretSchema, ...errorAnswers(404, 413, 415) },
      },
    },
    async (request, reply) => {
      const tenantId = tenantOf(request);
      const { integration_id: id } = request.params;
      const secret = newWebhookSecret();
      const formerUntil = new Date(clock().getTime() + FORMER_VALID_MS);
      const until = await deps.database.forTenant(tenantId).transaction((transaction) =>
        setWebhookSecret(transaction, deps.secretBox, tenantId, id, {
          secret,
          formerUntil,
          actor: actorOf(request),
        }),
      );
      if (until === undefined) throw notFound('integration');
      const url = `${deps.publicUrl?.replace(/\/+$/, '') ?? ''}/v2/webhooks/${id}`;
      return reply.code(201).send({ url, secret, former_valid_until: until?.toISOString() ?? null });
    },
  );

  routes.delete(
    '/v2/integrations/:integration_id/webhook-secret',
    {
      config: { access: WRITE },
      schema: {
        tags: ['integrations'],
        summary: 'Delete the webhook secret',
        description:
          'The integration then accepts no webhooks. If the integration has no secret, nothing changes.',
        params,
        querystring: noQuery,
        response: { 204: z.null().describe('Deleted.'), ...errorAnswers(404) },
      },
    },
    async (request, reply) => {
      const tenantId = tenantOf(request);
      const { integration_id: id } = request.params;
      const found = await deps.database
        .forTenant(tenantId)
        .transaction((transaction) =>
          removeWebhookSecret(transaction, deps.secretBox, tenantId, id, actorOf(request)),
        );
      if (!found) throw notFound('integration');
      return reply.code(204).send(null);
    },
  );
}
