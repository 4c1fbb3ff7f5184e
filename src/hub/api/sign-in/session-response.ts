import { z } from 'zod';
import { scopesIn } from '../../../domain/access/access-policy.ts';
import { TENANT_ROLES } from '../../../domain/access/roles.ts';
import { SCOPES } from '../../../domain/core/scopes.ts';
import { uuidSchema } from '../../../domain/deployment/deployment-bodies.ts';
import { findTenant } from '../../store/tenancy/tenants.ts';
import type { ApiDeps } from '../core/deps.ts';
import { timeSchema } from '../deployments/deployment-schema.ts';
import type { KeyPrincipal } from '../tenancy/principal.ts';
import type { Session } from './session-finder.ts';

/** The own session in responses. */

const scopesSchema = z.array(z.string().describe('One of the scopes of API keys.'));

const tenantSchema = z
  .object({
    id: uuidSchema.describe('Id, for X-Tenant-Id.'),
    name: z.string().describe('Name.'),
    roles: z.array(z.enum(TENANT_ROLES)).describe('Roles of the person. Empty for an API key.'),
    scopes: scopesSchema.describe('What the caller may do in this tenant.'),
  })
  .meta({ id: 'SessionTenant', description: 'A tenant of the signed-in person or API key.' });

export const sessionSchema = z
  .object({
    id: uuidSchema.describe('Id of the session. It is not the value of the cookie.'),
    kind: z.enum(['person', 'api_key']).describe('Who is signed in.'),
    actor_id: uuidSchema.describe('Id of the person or of the API key, as in events.'),
    name: z.string().describe('Name of the person or of the API key.'),
    tenants: z.array(tenantSchema).describe('Tenants, by name. Admins of the platform can name others, too.'),
    platform_scopes: scopesSchema.describe(
      'What the caller may do in every tenant and on the platform. Empty: nothing.',
    ),
    expires_at: timeSchema.describe('Time at which the session ends, even if it is in use.'),
  })
  .meta({ id: 'Session', description: 'A session of a browser.' });

type Shown = z.infer<typeof sessionSchema>;

/** The tenants and scopes of a key, in the form of those of a person. */
async function rightsOfKey({ database }: ApiDeps, { keyTenantId, scopes }: KeyPrincipal) {
  const tenant =
    keyTenantId === null ? null : await database.platform.read((reader) => findTenant(reader, keyTenantId));
  const actsEverywhere = keyTenantId === null || scopes.includes('admin');
  return {
    tenants: tenant === null ? [] : [{ id: tenant.id, name: tenant.name, roles: [], scopes: [...scopes] }],
    platform_scopes: actsEverywhere ? [...scopes] : [],
  };
}

export async function presentSession(deps: ApiDeps, session: Session): Promise<Shown> {
  const common = { id: session.sessionId, expires_at: session.expiresAt.toISOString() };
  if (session.kind === 'key_session') {
    const { keyId, keyName } = session.key;
    const rights = await rightsOfKey(deps, session.key);
    return { ...common, kind: 'api_key', actor_id: keyId ?? '', name: keyName, ...rights };
  }
  const { person, grants } = session;
  return {
    ...common,
    kind: 'person',
    actor_id: person.id,
    name: person.name,
    tenants: grants.tenants.map(({ tenantId, tenantName, roles }) => ({
      id: tenantId,
      name: tenantName,
      roles: [...roles],
      scopes: [...scopesIn(grants, tenantId)],
    })),
    platform_scopes: grants.isPlatformAdmin ? [...SCOPES] : [],
  };
}
