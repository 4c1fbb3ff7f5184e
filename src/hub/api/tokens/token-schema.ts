import { z } from 'zod';
import { TOKEN_KINDS } from '../../../domain/access/access-token.ts';
import { ROLES } from '../../../domain/access/roles.ts';
import { uuidSchema } from '../../../domain/deployment/deployment-bodies.ts';
import type { AccessToken } from '../../store/tokens/access-tokens.ts';
import { pageSchema } from '../core/query.ts';
import { timeSchema } from '../deployments/deployment-schema.ts';
import { scopeSchema } from '../tenancy/api-key-routes.ts';

/** Access tokens in responses. */

export const roleSchema = z.enum(ROLES).meta({
  id: 'Role',
  description: 'A role in a tenant, or platform_admin, which acts in every tenant.',
});

const kindSchema = z.enum(TOKEN_KINDS).meta({
  id: 'AccessTokenKind',
  description: 'person: from `berth login`. workload: exchanged for the token of a pipeline.',
});

export const tokenShape = {
  id: uuidSchema.describe('Id, a UUID.'),
  tenant_id: uuidSchema.nullable().describe('The tenant that the token acts for. null: the platform.'),
  kind: kindSchema,
  person_id: uuidSchema.nullable().describe('Id of the person of the token. null: a workload.'),
  name: z.string().describe('The machine of a login, or the subject of a workload.'),
  rule: z
    .string()
    .nullable()
    .describe('Issuer and rule of the policy that gave the token to a workload. null: a person.'),
  roles: z
    .array(roleSchema)
    .describe('Roles of the token. A role that the person has lost since then has no effect.'),
  prefix: z.string().describe('First characters of the token, which identify it.'),
  created_at: timeSchema.describe('Time of creation.'),
  expires_at: timeSchema.describe('Expiry time.'),
  revoked_at: timeSchema.nullable().describe('Time of revocation. null: not revoked.'),
  last_used_at: timeSchema.nullable().describe('Time of the last use, to the hour. null: never.'),
};

export const tokenSchema = z
  .object(tokenShape)
  .meta({ id: 'AccessToken', description: 'An access token of a person or workload, without its value.' });

export const ownTokenSchema = z
  .object({
    ...tokenShape,
    actor_name: z.string().describe('Who acts with the token, as in events.'),
    tenant_name: z.string().nullable().describe('Name of the tenant. null: the platform.'),
    scopes: z.array(scopeSchema).describe('What the token may do now.'),
  })
  .meta({ id: 'CurrentAccessToken', description: 'The access token of the request.' });

export const tokenListSchema = pageSchema('AccessTokenPage', tokenSchema, 'A page of access tokens.');

/** A token in a response. */
export function presentToken(token: AccessToken): z.infer<typeof tokenSchema> {
  return {
    id: token.id,
    tenant_id: token.tenantId,
    kind: token.kind,
    person_id: token.personId,
    name: token.name,
    rule: token.rule,
    roles: token.roles,
    prefix: token.prefix,
    created_at: token.createdAt.toISOString(),
    expires_at: token.expiresAt.toISOString(),
    revoked_at: token.revokedAt?.toISOString() ?? null,
    last_used_at: token.lastUsedAt?.toISOString() ?? null,
  };
}
