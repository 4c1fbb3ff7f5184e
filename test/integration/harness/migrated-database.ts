/** Databases with the current schema. A copy of a migrated template takes a third of the time of the migrations. */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { Logger } from '../../../src/domain/core/logger.ts';
import { migrate } from '../../../src/hub/store/core/migrate.ts';
import { type OrdinaryDatabase, ordinaryDatabase } from '../../cluster/ordinary-database.ts';
import { type LocalPostgres, withClient } from '../../cluster/postgres.ts';

/** The name of the template, and of the role that owns its objects. */
const TEMPLATE = 'berth_template';

export const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Creates the template on a server that only this run uses. Returns its name. */
export async function createTemplate(server: LocalPostgres): Promise<string> {
  const { url } = await ordinaryDatabase(server, TEMPLATE);
  await migrate(url, silent);
  await withClient(server.url, async (client) => {
    // "REASSIGN OWNED" in a copy also covers databases of the role, so the role must not own the template.
    await client.query(`ALTER DATABASE ${TEMPLATE} OWNER TO CURRENT_USER`);
    // A connection, for example of autovacuum, would block copies.
    await client.query(`ALTER DATABASE ${TEMPLATE} ALLOW_CONNECTIONS false`);
  });
  return TEMPLATE;
}

/**
 * Creates a database with the current schema, whose owner is an ordinary role.
 * @param options.template from `createTemplate`; empty: the migrations run
 */
export async function migratedDatabase(
  server: LocalPostgres,
  options: { name?: string; template: string; logger?: Logger },
): Promise<OrdinaryDatabase> {
  const { name = `store_${randomBytes(6).toString('hex')}`, template, logger = silent } = options;
  if (template === '') {
    const database = await ordinaryDatabase(server, name);
    await migrate(database.url, logger);
    return database;
  }
  return copyOf(server, template, name);
}

/** A copy of the template. As in an ordinary database, its owner is a role with its name, which owns every object. */
async function copyOf(server: LocalPostgres, template: string, name: string): Promise<OrdinaryDatabase> {
  const [role, source] = [name, template].map((each) => pg.escapeIdentifier(each));
  const password = randomBytes(12).toString('hex');
  await withClient(server.url, async (client) => {
    await client.query(`CREATE ROLE ${role} LOGIN PASSWORD '${password}'`);
    await client.query(`CREATE DATABASE ${role} OWNER ${role} TEMPLATE ${source}`);
  });
  const adminUrl = new URL(server.url);
  adminUrl.pathname = `/${encodeURI(name)}`;
  await withClient(adminUrl.toString(), (client) => client.query(`REASSIGN OWNED BY ${source} TO ${role}`));
  const url = new URL(adminUrl);
  url.username = encodeURIComponent(name);
  url.password = password;
  return {
    url: url.toString(),
    adminUrl: adminUrl.toString(),
    drop: async () => {
      await server.dropDatabase(name);
      await withClient(server.url, (client) => client.query(`DROP ROLE ${role}`));
    },
  };
}
