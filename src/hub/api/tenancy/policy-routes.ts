import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { accessPolicySchema } from '../../../domain/access/access-policy.ts';
import { HOSTING_MODES } from '../../../domain/deployment/source.ts';
import { policySchema } from '../../../domain/policy/policy.ts';
import { callerOf } from '../core/auth.ts';
import type { ApiDeps } from '../core/deps.ts';
import { noQuery } from '../core/query.ts';
import { errorAnswers } from '../openapi/error-schema.ts';

const effectivePolicySchema = policySchema
  .omit({ access: true })
  .extend({
    hosting: z.enum(HOSTING_MODES).describe('Hosting mode, which has the default of each entry.'),
    access: accessPolicySchema
      .optional()
      .describe(
        'Roles of people and pipelines, as they are now. Absent for callers without the scope admin.',
      ),
  })
  .meta({ id: 'EffectivePolicy', description: 'The policy of this installation with all defaults.' });

/** `/v2/policy`. */
export function policyRoutes(app: FastifyInstance, deps: ApiDeps): void {
  const { access: ofFile, ...policy } = deps.policy;
  app.withTypeProvider<ZodTypeProvider>().get(
    '/v2/policy',
    {
      config: { access: { scopes: ['deployments:read'], tenant: 'any' } },
      schema: {
        tags: ['tenants'],
        summary: 'Get the policy',
        description:
          'Returns what clients may configure: the default of the hosting mode, with the changes of the policy file of this API process. GET /v2/usage returns the quotas of the tenant.',
        querystring: noQuery,
        response: { 200: effectivePolicySchema, ...errorAnswers() },
      },
    },
    async (request) => {
      const isAdmin = callerOf(request).scopes.includes('admin');
      const access = deps.access?.() ?? ofFile;
      return { ...policy, hosting: deps.hosting, ...(isAdmin ? { access } : {}) };
    },
  );
}
