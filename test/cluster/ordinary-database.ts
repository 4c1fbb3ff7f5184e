import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { LocalPostgres } from './postgres.ts';

/** A database with an ordinary owner, as Berth requires it. */
export interface OrdinaryDatabase {
  /** URL of the role that owns the database. Row-level security applies to this role. */
  readonly url: string;
  /** URL of the administrator. */
  readonly adminUrl: string;
  drop(): Promise<void>;
}

async function asAdmin<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

const UNBOUND = 'SELECT rolsuper OR rolbypassrls AS unbound FROM pg_roles WHERE rolname = current_user';

/** Creates an empty database. Its owner is an ordinary role with its name, or the given user if it is not a superuser. */
export async function ordinaryDatabase(
  server: Pick<LocalPostgres, 'url' | 'createDatabase' | 'dropDatabase'>,
  name = `store_${randomBytes(6).toString('hex')}`,
): Promise<OrdinaryDatabase> {
  const adminUrl = await server.createDatabase(name);
  const { rows } = await asAdmin(server.url, (client) => client.query<{ unbound: boolean }>(UNBOUND));
  if (rows[0]?.unbound !== true) return { url: adminUrl, adminUrl, drop: () => server.dropDatabase(name) };
  const role = pg.escapeIdentifier(name);
  const password = randomBytes(12).toString('hex');
  await asAdmin(server.url, async (client) => {
    await client.query(`CREATE ROLE ${role} LOGIN PASSWORD '${password}'`);
    await client.query(`ALTER DATABASE ${role} OWNER TO ${role}`);
  });
  const url = new URL(adminUrl);
  url.username = encodeURIComponent(name);
  url.password = password;
  return {
    url: url.toString(),
    adminUrl,
    drop: async () => {
      await server.dropDatabase(name);
      await asAdmin(server.url, (client) => client.query(`DROP ROLE ${role}`));
    },
  };
}
