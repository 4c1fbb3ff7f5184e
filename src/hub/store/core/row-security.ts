import type { Reader } from './database.ts';

/**
 * Checks whether row-level security applies to a role. In Berth's tables, row-level security applies to the owner
 * (FORCE), but not to superusers or roles with BYPASSRLS.
 */

export interface DatabaseRole {
  readonly name: string;
  /** Why row-level security does not apply to the role; null: it applies. */
  readonly unboundAs: 'a superuser' | 'a role with BYPASSRLS' | null;
}

const ROLE = `
SELECT rolname AS name, CASE WHEN rolsuper THEN 'a superuser' WHEN rolbypassrls THEN 'a role with BYPASSRLS' END
  AS "unboundAs"
FROM pg_roles WHERE rolname = current_user`;

/** The role of a connection. */
export async function readDatabaseRole(reader: Pick<Reader, 'query'>): Promise<DatabaseRole> {
  const [role] = await reader.query<DatabaseRole>(ROLE);
  if (role === undefined) throw new Error('failed to read pg_roles: it does not list the current user');
  return role;
}

/** The error and the next step for a role that bypasses row-level security. */
export function unboundRole({ name, unboundAs }: DatabaseRole): string {
  return (
    `the user ${name} of DATABASE_URL is ${unboundAs}, so row-level security, which separates tenants, does not ` +
    `apply to it; next: use an ordinary role that owns the database (docs/install.md)`
  );
}
