import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { AccessPolicy } from '../../../domain/access/access-policy.ts';
import { ROLES } from '../../../domain/access/roles.ts';
import { HOSTING_MODES } from '../../../domain/deployment/source.ts';
import { policySchema } from '../../../domain/policy/policy.ts';
import { callerOf } from '../core/auth.ts';
import type { ApiDeps } from '../core/deps.ts';
import { noQuery } from '../core/query.ts';
import { errorAnswers } from '../openapi/error-schema.ts';

const rolesSchema = z.array(z.enum(ROLES)).describe('Roles.');
const issuerSchema = z.string().describe('Issuer of the tokens.');

/** The schema of the file accepts claims in several spellings. A response has one. */
const accessSchema = z.object({
  groups: z
    .array(
      z.object({
        issuer: issuerSchema,
        group: z.string().describe('Group in the token.'),
        tenant: z.string().optional().describe('Name or id of the tenant. Absent: the platform.'),
        roles: rolesSchema,
      }),
    )
    .describe('Roles of groups of people who sign in.'),
  workload_issuers: z
    .array(
      z.object({
        name: z.string().describe('Name of the issuer in events.'),
        issuer: issuerSchema,
        rules: z
          .array(
            z.object({
              name: z.string().describe('Name of the rule in events.'),
              claims: z.record(z.string(), z.string()).describe('Claims that a token must have.'),
              tenant: z.string().describe('Name or id of the tenant of the tokens.'),
              roles: rolesSchema,
              lifetime_seconds: z.int().describe('Lifetime of the tokens in seconds.'),
            }),
          )
          .describe('Which tokens act for which tenant.'),
      }),
    )
    .describe('Issuers whose tokens pipelines exchange, without their keys.'),
});

const effectivePolicySchema = policySchema
  .omit({ access: true })
  .extend({
    hosting: z.enum(HOSTING_MODES).describe('Hosting mode, which has the default of each entry.'),
    access: accessSchema
      .optional()
      .describe(
        'Roles of people and pipelines, as they are now. Absent for callers without the scope admin.',
      ),
  })
  .meta({ id: 'EffectivePolicy', description: 'The policy of this installation with all defaults.' });

const presentAccess = ({
  groups,
  workload_issuers: issuers,
}: AccessPolicy): z.infer<typeof accessSchema> => ({
  groups,
  workload_issuers: issuers.map(({ name, issuer, rules }) => ({ name, issuer, rules })),
});

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
      const access = presentAccess(deps.access?.() ?? ofFile);
      return { ...policy, hosting: deps.hosting, ...(isAdmin ? { access } : {}) };
    },
  );
}
