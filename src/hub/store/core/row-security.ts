import type { Reader } from './database.ts';

/** Row-level security binds a table's owner here (FORCE), but neither superusers nor roles with BYPASSRLS. */

export interface DatabaseRole {
  readonly name: string;
  /** Why row-level security does not bind it; null: it does. */
  readonly unboundAs: 'a superuser' | 'a role with BYPASSRLS' | null;
}

const ROLE = `
SELECT rolname AS name, CASE WHEN rolsuper THEN 'a superuser' WHEN rolbypassrls THEN 'a role with BYPASSRLS' END
  AS "unboundAs"
FROM pg_roles WHERE rolname = current_user`;

/** Who a connection is. */
export async function readDatabaseRole(reader: Pick<Reader, 'query'>): Promise<DatabaseRole> {
  const [role] = await reader.query<DatabaseRole>(ROLE);
  if (role === undefined) throw new Error('failed to read pg_roles: it does not list the current user');
  return role;
}

/** What is wrong with a role that row-level security does not bind, with the next step. */
export function unboundRole({ name, unboundAs }: DatabaseRole): string {
  return `the user ${name} of DATABASE_URL is ${unboundAs}: row-level security, the second bound between tenants, does not hold for it; next: give Berth an ordinary role that owns its database (README, Install)`;
}
