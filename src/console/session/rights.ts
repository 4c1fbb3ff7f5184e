import type { Session } from '../api/types.ts';

/** What the session may do. The API decides; the console only hides what would be rejected. */

/** Scopes in a tenant. */
export function scopesIn(session: Session, tenantId: string): ReadonlySet<string> {
  const own = session.tenants.find(({ id }) => id === tenantId)?.scopes ?? [];
  return new Set([...session.platform_scopes, ...own]);
}

/** Whether the session administers the tenant: as an admin of the platform, or with the role admin. */
export function isAdminOf(session: Session, tenantId: string): boolean {
  const own = session.tenants.find(({ id }) => id === tenantId);
  return session.platform_scopes.includes('admin') || own?.roles.includes('admin') === true;
}
