/**
 * Row-level security beneath the query layer, for every table that there is: made from the database's own catalogue, so
 * that a new table cannot be forgotten. Statements here name no tenant; the tests run as an ordinary role, as the program does.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { uuidv7 } from '../../../../src/domain/core/id.ts';
import type { Scope } from '../../../../src/hub/store/core/database.ts';
import { insert, newTenant, type StoreFixture, startStore } from '../../harness/store.ts';

let store: StoreFixture;
let owner: string;
let stranger: string;
/** Tables with rows of tenants, with the column that says whose. */
let tables: { name: string; column: string; nullable: boolean }[];

/** Tables that hold nothing of a tenant. Only the platform's own work sees their rows. */
const NO_TENANTS: readonly string[] = ['change_watchers', 'people', 'sessions'];

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

beforeAll(async () => {
  store = await startStore();
  owner = (await newTenant(store)).tenantId;
  stranger = (await newTenant(store)).tenantId;
  const columns = await store.sql<{ name: string; column: string; nullable: boolean }>(
    `SELECT table_name AS name, column_name AS "column", is_nullable = 'YES' AS nullable
     FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'tenant_id' ORDER BY 1`,
  );
  tables = [...columns, { name: 'tenants', column: 'id', nullable: false }];
  await seed();
});
afterAll(() => store.stop());

interface Column {
  name: string;
  type: string;
}

const SAMPLES: Readonly<Record<string, unknown>> = {
  uuid: null,
  text: 'x',
  integer: 1,
  bigint: 1,
  boolean: true,
  jsonb: '{}',
  bytea: Buffer.from('x'),
  ARRAY: [],
  'timestamp with time zone': new Date(),
};

/** Inserts into any table a row with every required column, of its type; the tenant is as given. */
async function insertRow(
  scope: Scope,
  table: string,
  [column, tenantId]: [string, string | null],
): Promise<void> {
  const required = await store.sql<Column>(
    `SELECT column_name AS name, data_type AS type FROM information_schema.columns
     WHERE table_schema = 'public' AND table_name = $1 AND is_generated = 'NEVER'
       AND (column_name = $2 OR (is_nullable = 'NO' AND column_default IS NULL))`,
    [table, column],
  );
  const values = required.map(({ name, type }) => {
    if (name === column) return tenantId;
    if (!(type in SAMPLES)) throw new Error(`failed to fill ${table}.${name}: no sample of ${type}`);
    return type === 'uuid' ? uuidv7() : SAMPLES[type];
  });
  const names = required.map(({ name }) => quoted(name)).join(', ');
  const places = required.map((_column, index) => `$${index + 1}`).join(', ');
  await scope.transaction(async (transaction) => {
    await transaction.query(`INSERT INTO ${quoted(table)} (${names}) VALUES (${places})`, values);
  });
}

async function seed(): Promise<void> {
  await insert(store, owner, 'shop', { secrets: [{ name: 'A', value: 'x' }] });
  const ids = await store.sql<{ deployment: string; listener: string; revision: string }>(
    'SELECT id AS deployment, listener_id AS listener, latest_revision_id AS revision FROM deployments',
  );
  const key = uuidv7();
  const value = uuidv7();
  await store.sql('INSERT INTO tag_keys (id, tenant_id, key) VALUES ($1, $2, $3)', [key, owner, 'k']);
  await store.sql('INSERT INTO tag_values (id, tenant_id, tag_key_id, value) VALUES ($1, $2, $3, $4)', [
    value,
    owner,
    key,
    'v',
  ]);
  await store.sql(
    'INSERT INTO deployment_tag_values (tenant_id, deployment_id, tag_key_id, tag_value_id) VALUES ($1, $2, $3, $4)',
    [owner, ids[0]?.deployment, key, value],
  );
  await store.sql(
    `INSERT INTO uploads (deployment_id, tenant_id, digest, bytes) VALUES ($1, $2, 'sha256:a', 1)`,
    [ids[0]?.deployment, owner],
  );
  await store.sql(
    `INSERT INTO tasks (id, tenant_id, deployment_id, listener_id, name, namespace, app_name, origin, component, command,
       timeout_seconds, actor_kind)
     VALUES ($1, $2, $3, $1, 't', 'n', 'a', 'api', 'api', '[]', 1, 'api_key')`,
    [uuidv7(), owner, ids[0]?.deployment],
  );
  // What refers to more than its tenant.
  const [integration, request] = [uuidv7(), uuidv7()];
  await store.sql(
    `INSERT INTO integrations (id, tenant_id, name, provider, host_url, key_id, sealed)
     VALUES ($1, $2, 'git', 'git', 'https://git.example.com', 'k', '')`,
    [integration, owner],
  );
  await store.sql(
    `INSERT INTO webhook_deliveries (tenant_id, integration_id, delivery_id) VALUES ($1, $2, 'd')`,
    [owner, integration],
  );
  await store.sql(
    `INSERT INTO leaving_hosts (host, tenant_id, deployment_id, generation) VALUES ('left.example.com', $1, $2, 1)`,
    [owner, ids[0]?.deployment],
  );
  await store.sql(
    `INSERT INTO deployment_hosts (host, tenant_id, deployment_id, extra) VALUES ('own.example.com', $1, $2, true)`,
    [owner, ids[0]?.deployment],
  );
  await store.sql(
    `INSERT INTO build_logs (tenant_id, revision_id, first_line, lines) VALUES ($1, $2, 0, '[]')`,
    [owner, ids[0]?.revision],
  );
  await store.sql(
    `INSERT INTO log_requests (id, tenant_id, deployment_id, listener_id, query, expires_at)
     VALUES ($1, $2, $3, $4, '{}', now())`,
    [request, owner, ids[0]?.deployment, ids[0]?.listener],
  );
  await store.sql(`INSERT INTO log_chunks (tenant_id, request_id, seq, body) VALUES ($1, $2, 1, '')`, [
    owner,
    request,
  ]);
  const watcher = uuidv7();
  await store.sql('INSERT INTO change_watchers (id, expires_at) VALUES ($1, now())', [watcher]);
  await store.sql('INSERT INTO watched_tenants (tenant_id, watcher_id) VALUES ($1, $2)', [owner, watcher]);
  for (const { name, column } of tables) {
    const [row] = await store.sql<{ n: number }>(
      `SELECT count(*)::int AS n FROM ${quoted(name)} WHERE ${column} = $1`,
      [owner],
    );
    if (row?.n === 0) await insertRow(store.database.platform, name, [column, owner]);
  }
}

const as = (tenantId: string) => store.database.forTenant(tenantId);
const count = (tenantId: string, table: string, where = 'true') =>
  as(tenantId).read(async (reader) => {
    const [row] = await reader.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM ${quoted(table)} WHERE ${where}`,
    );
    return row?.n;
  });

test('every table belongs to tenants, or is listed here as a table without their data', async () => {
  const all = await store.sql<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`,
  );
  const known = [...tables.map(({ name }) => name), ...NO_TENANTS];
  expect(all.map(({ name }) => name).filter((name) => !known.includes(name))).toEqual([]);
  expect(tables.length).toBeGreaterThanOrEqual(14);
});

test('every table of tenants has forced row-level security with a policy, and the role does not bypass it', async () => {
  const rows = await store.sql<{ name: string; enabled: boolean; forced: boolean; policies: number }>(
    `SELECT c.relname AS name, c.relrowsecurity AS enabled, c.relforcerowsecurity AS forced,
       (SELECT count(*)::int FROM pg_policy p WHERE p.polrelid = c.oid) AS policies
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p')`,
  );
  for (const { name } of tables) {
    const found = rows.find((row) => row.name === name);
    expect(found, name).toMatchObject({ enabled: true, forced: true });
    expect(found?.policies, name).toBeGreaterThan(0);
  }
  const [role] = await store.sql<{ bypasses: boolean }>(
    'SELECT rolsuper OR rolbypassrls AS bypasses FROM pg_roles WHERE rolname = current_user',
  );
  expect(role?.bypasses).toBe(false);
});

describe('a statement without WHERE', () => {
  test('reads the rows of its own tenant and none of another tenant', async () => {
    for (const { name, column } of tables) {
      const own = `${column} = '${owner}'`;
      expect(await count(owner, name, own), name).toBeGreaterThan(0);
      expect(await count(stranger, name, own), name).toBe(0);
      // What a tenant sees beside its own is the platform's, and only listeners.
      const foreign = `${column} IS DISTINCT FROM '${stranger}'`;
      const shared = name === 'listeners' ? 1 : 0;
      expect(await count(stranger, name, foreign), name).toBe(shared);
    }
  });

  test('reads nothing when no tenant is set', async () => {
    const { url } = store;
    const { default: pg } = await import('pg');
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      for (const { name } of tables) {
        const { rows } = await client.query(`SELECT * FROM ${quoted(name)}`);
        // The platform's listener is everybody's to see.
        expect(rows.length, name).toBe(name === 'listeners' ? 1 : 0);
      }
    } finally {
      await client.end();
    }
  });

  test('changes and deletes nothing of another tenant', async () => {
    for (const { name, column } of tables) {
      const before = await store.sql(`SELECT to_jsonb(t) FROM ${quoted(name)} t ORDER BY t::text`);
      await expect(
        as(stranger).transaction(async (transaction) => {
          const changed = await transaction.query(
            `UPDATE ${quoted(name)} SET ${column} = ${column} RETURNING ${column} AS id`,
          );
          const deleted = await transaction.query(
            `DELETE FROM ${quoted(name)} WHERE ${column} IS DISTINCT FROM '${stranger}' RETURNING ${column} AS id`,
          );
          const foreign = (changed as { id: string | null }[]).filter(({ id }) => id !== stranger);
          expect([foreign, deleted], name).toEqual([[], []]);
          throw new Error('undone');
        }),
        // Its own row of tenants may be locked, and no more: the UPDATE itself is refused.
      ).rejects.toThrow(name === 'tenants' ? 'row-level security' : 'undone');
      expect(await store.sql(`SELECT to_jsonb(t) FROM ${quoted(name)} t ORDER BY t::text`)).toEqual(before);
    }
  });

  test('cannot insert a row for another tenant or for the platform', async () => {
    for (const { name, column, nullable } of tables) {
      for (const to of [owner, ...(nullable ? [null] : [])]) {
        // It is refused before any reference is looked at.
        await expect(insertRow(as(stranger), name, [column, to]), name).rejects.toThrow('row-level security');
      }
    }
  });
});

describe('a statement of a tenant', () => {
  const changed = (text: string) =>
    store.database.forTenant(owner).transaction((transaction) => transaction.query(text));

  test.each([
    "UPDATE events SET message = 'nothing happened' RETURNING id",
    'DELETE FROM events RETURNING id',
  ])('changes no row of the history: %s', async (text) => {
    const count = 'SELECT count(*)::int AS n FROM events WHERE tenant_id = $1';
    const before = await store.sql<{ n: number }>(count, [owner]);
    expect(before[0]?.n).toBeGreaterThan(0);
    expect(await changed(text)).toEqual([]);
    expect(await store.sql(count, [owner])).toEqual(before);
  });

  test('can read and lock the tenant, but cannot change, create or delete it', async () => {
    expect(await changed('SELECT id FROM tenants FOR NO KEY UPDATE')).toEqual([{ id: owner }]);
    await expect(changed(`UPDATE tenants SET quotas = '{}'`)).rejects.toThrow();
    await expect(changed(`INSERT INTO tenants (id, name) VALUES ('${owner}', 'x')`)).rejects.toThrow();
    expect(await changed('DELETE FROM tenants RETURNING id')).toEqual([]);
    expect(await store.sql('SELECT 1 FROM tenants WHERE id = $1', [owner])).toHaveLength(1);
  });
});
