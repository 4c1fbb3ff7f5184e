import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { ApiDeps } from '../core/deps.ts';
import { noQuery } from '../core/query.ts';

const okSchema = z
  .object({ status: z.literal('ok').describe('Always ok.') })
  .meta({ id: 'Health', description: 'The state of the process.' });

/** `/healthz` and `/readyz`, which probes can call without a key. */
export function healthRoutes(app: FastifyInstance, deps: ApiDeps): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();

  routes.get(
    '/healthz',
    {
      config: { access: 'public' },
      schema: {
        tags: ['health'],
        summary: 'Liveness of the process',
        description: 'Succeeds as long as the process can respond.',
        querystring: noQuery,
        response: { 200: okSchema.describe('The process is alive.') },
      },
    },
    async () => ({ status: 'ok' as const }),
  );

  routes.get(
    '/readyz',
    {
      config: { access: 'public' },
      schema: {
        tags: ['health'],
        summary: 'Readiness of the process',
        description: 'Checks the database.',
        querystring: noQuery,
        response: {
          200: okSchema.describe('The process can serve requests.'),
          503: z.object({ detail: z.string().describe('The missing dependency.') }).describe('They cannot.'),
        },
      },
    },
    async () => {
      await deps.database.ping();
      return { status: 'ok' as const };
    },
  );
}
