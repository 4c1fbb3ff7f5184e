/** Scopes of an API key. */
export const SCOPES = [
  'deployments:read',
  'deployments:write',
  'secrets:read',
  'tasks:run',
  'listeners:run',
  'admin',
] as const;
export type Scope = (typeof SCOPES)[number];

/** Default scopes of a key of a tenant: everything within the tenant. */
export const TENANT_SCOPES: readonly Scope[] = SCOPES.filter((scope) => scope !== 'admin');
