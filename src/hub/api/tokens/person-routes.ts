import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { uuidSchema } from '../../../domain/deployment/deployment-bodies.ts';
import { endAccessOf } from '../../store/tokens/end-access.ts';
import { actorOf } from '../core/auth.ts';
import type { ApiDeps } from '../core/deps.ts';
import { notFound } from '../core/errors.ts';
import { emptyBody, noQuery } from '../core/query.ts';
import { errorAnswers } from '../openapi/error-schema.ts';

/** `/v2/auth/people`: locks people out. */

const params = z.strictObject({
  person_id: uuidSchema.describe('Id of the person, as in events (actor) and access tokens (person_id).'),
});

export function personRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/v2/auth/people/:person_id/sign-out',
    {
      config: { access: { scopes: ['admin'], tenant: 'any' } },
      schema: {
        tags: ['sign-in'],
        summary: 'Sign a person out',
        description:
          'Ends all sessions and access tokens of a person, in all tenants. Streams that they opened end within 5 seconds. The person can sign in again while a group of the person has a role. API keys that the person created remain.',
        params,
        querystring: noQuery,
        body: emptyBody,
        response: { 204: z.null().describe('Signed out.'), ...errorAnswers(404, 413, 415) },
      },
    },
    async (request, reply) => {
      const { person_id: personId } = request.params;
      const isKnown = await deps.database.platform.transaction((transaction) =>
        endAccessOf(transaction, personId, actorOf(request)),
      );
      if (!isKnown) throw notFound('person');
      return reply.code(204).send(null);
    },
  );
}
