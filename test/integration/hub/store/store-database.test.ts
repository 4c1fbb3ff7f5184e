/** Transactions, retries, typed errors, the tenant's bounds, and a PostgreSQL that goes away. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Database, openDatabase, type Transaction } from '../../../../src/hub/store/core/database.ts';
import { StoreContention, StoreError, StoreUnavailable } from '../../../../src/hub/store/core/errors.ts';
import { insertDeployment } from '../../../../src/hub/store/deployments/deployments.ts';
import { createTenant } from '../../../../src/hub/store/tenancy/tenants.ts';
import {
  insert,
  newDeployment,
  newTenant,
  recordingLogger,
  type StoreFixture,
  startStore,
} from '../../harness/store.ts';

let store: StoreFixture;
beforeAll(async () => {
  store = await startStore();
  await store.sql('CREATE TABLE counters (id int PRIMARY KEY, n int NOT NULL)');
});
afterAll(() => store.stop());

/** A Database of its own on the same data. */
function open(
  options: { poolSize?: number; statementTimeoutMs?: number; connectTimeoutMs?: number; url?: string } = {},
): Database {
  const database = openDatabase({ url: store.url, poolSize: 2, logger: recordingLogger(), ...options });
  onTestFinished(() => database.close());
  return database;
}

async function counters(...ids: number[]): Promise<void> {
  await store.sql('DELETE FROM counters');
  for (const id of ids) await store.sql('INSERT INTO counters VALUES ($1, 0)', [id]);
}

const values = async () =>
  (await store.sql<{ n: number }>('SELECT n FROM counters ORDER BY id')).map(({ n }) => n);
const raise = (tx: Transaction, id: number) => tx.query('UPDATE counters SET n = n + 1 WHERE id = $1', [id]);

describe('a transaction', () => {
  test('runs again after a deadlock', async () => {
    await counters(1, 2);
    const bothLocked = Promise.withResolvers<void>();
    let locked = 0;
    let runs = 0;
    const work = (first: number, second: number) => async (tx: Transaction) => {
      runs += 1;
      await raise(tx, first);
      locked += 1;
      if (locked === 2) bothLocked.resolve();
      await bothLocked.promise;
      await raise(tx, second);
    };
    const { platform } = store.database;
    await Promise.all([platform.transaction(work(1, 2)), platform.transaction(work(2, 1))]);
    expect(await values()).toEqual([2, 2]);
    expect(runs).toBe(3);
  });

  test('fails after a bounded number of serialization failures', async () => {
    let runs = 0;
    const failing = store.database.platform.transaction(async (tx) => {
      runs += 1;
      await tx.query(`DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$`);
    });
    await expect(failing).rejects.toBeInstanceOf(StoreContention);
    await expect(failing).rejects.toMatchObject({ retryable: true });
    expect(runs).toBe(5);
  });

  test('passes an error of its work unchanged and undoes everything', async () => {
    await counters(1);
    const thrown = new RangeError('no');
    await expect(
      store.database.platform.transaction(async (tx) => {
        await raise(tx, 1);
        throw thrown;
      }),
    ).rejects.toBe(thrown);
    expect(await values()).toEqual([0]);
  });

  test('does not commit when the error of a failed statement was swallowed', async () => {
    await counters(1);
    await expect(
      store.database.platform.transaction(async (tx) => {
        await raise(tx, 1);
        await tx.query('SELECT 1/0').catch(() => undefined);
      }),
    ).rejects.toThrow('failed to commit');
    expect(await values()).toEqual([0]);
  });

  test('cancels a slow statement as unavailable, and keeps the connection', async () => {
    // Long enough for what is no sleep on a busy machine: the same limit holds for that.
    const database = open({ poolSize: 1, statementTimeoutMs: 1_000 });
    await expect(
      database.platform.read((reader) => reader.query('SELECT pg_sleep(10)')),
    ).rejects.toBeInstanceOf(StoreUnavailable);
    await database.ping();
  });

  test('fails as unavailable in a read-only session, and the next one uses another session', async () => {
    await counters(1);
    const database = open({ poolSize: 1 });
    await database.platform.read((reader) => reader.query('SET default_transaction_read_only = on'));
    const add = () => database.platform.transaction((tx) => raise(tx, 1));
    await expect(add()).rejects.toBeInstanceOf(StoreUnavailable);
    await add();
    expect(await values()).toEqual([1]);
  });

  test('fails as unavailable when the pool stays full', async () => {
    // Long enough to connect on a busy machine: the same limit holds for that.
    const database = open({ poolSize: 1, connectTimeoutMs: 2_000 });
    const release = Promise.withResolvers<void>();
    const holding = database.platform.read(() => release.promise);
    await expect(database.ping()).rejects.toBeInstanceOf(StoreUnavailable);
    release.resolve();
    await holding;
    await database.ping();
  });

  test('leaves connections to other tenants and to the platform when its tenant has many', async () => {
    const database = open({ poolSize: 5 });
    const [crowd, other] = [await newTenant(store), await newTenant(store)];
    const release = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    let underWay = 0;
    const all = Array.from({ length: 20 }, () =>
      database.forTenant(crowd.tenantId).transaction(async (tx) => {
        underWay += 1;
        if (underWay === 4) begun.resolve();
        await tx.query('SELECT 1');
        await release.promise;
      }),
    );
    await insert({ ...store, database }, other.tenantId, 'shop');
    await database.ping();
    // A connection may take longer to be made than those are used.
    await begun.promise;
    expect({ underWay, waiting: database.pool().waiting }).toEqual({ underWay: 4, waiting: 16 });
    release.resolve();
    await Promise.all(all);
    expect(database.pool()).toMatchObject({ waiting: 0 });
  });
});

test('the ping and each group of the platform do not wait for other work of the platform', async () => {
  const database = open({ poolSize: 5 });
  const release = Promise.withResolvers<void>();
  const busy = Array.from({ length: 20 }, () => database.platform.transaction(() => release.promise));
  await database.ping();
  await database.forPlatform('listener').read((reader) => reader.query('SELECT 1'));
  expect(database.pool()).toMatchObject({ waiting: 16 });
  release.resolve();
  await Promise.all(busy);
});

describe('an error of the database', () => {
  test('contains neither values of rows nor parameters', async () => {
    const { tenantId } = await newTenant(store);
    const secret = 'canary-93ac';
    await insert(store, tenantId, secret);
    const refused = await insert(store, tenantId, secret).catch((error: unknown) => error);
    const viaDrizzle = await store.database.platform
      .transaction(async (tx) => {
        await createTenant(tx, secret);
        await createTenant(tx, secret);
      })
      .catch((error: unknown) => error);
    for (const error of [refused, viaDrizzle]) {
      expect(error).toBeInstanceOf(StoreError);
      expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain(secret);
    }
    expect(viaDrizzle).toMatchObject({ constraint: 'tenants_name' });
  });

  test('is unavailable and hides the password when the password is wrong', async () => {
    const url = new URL(store.url);
    url.password = 'hunter2';
    const error = await open({ url: url.href })
      .ping()
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StoreUnavailable);
    expect(String(error)).toContain('password authentication failed');
    expect(String(error)).not.toContain('hunter2');
  });

  test('is unavailable with host and port, and hides the password, when PostgreSQL is unreachable', async () => {
    const database = open({ url: 'postgres://user:hunter2@127.0.0.1:1/berth' });
    const error = await database.ping().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StoreUnavailable);
    expect(String(error)).toContain('failed to reach PostgreSQL: 127.0.0.1:1/berth');
    expect(String(error)).toContain('ECONNREFUSED');
    expect(String(error)).not.toContain('hunter2');
  });
});

describe('a tenant scope', () => {
  const tables = ['deployments', 'revisions', 'secret_sets', 'tracing_projects', 'events'];

  test('sees no rows of other tenants, whatever the statement says', async () => {
    const [first, second] = [await newTenant(store), await newTenant(store)];
    await insert(store, first.tenantId, 'shop', { secrets: [{ name: 'A', value: '1' }] });
    for (const table of tables) {
      const text = `SELECT DISTINCT tenant_id FROM ${table}`;
      expect(await first.scope.read((reader) => reader.query(text))).toEqual([{ tenant_id: first.tenantId }]);
      expect(await first.scope.transaction((tx) => tx.query(text))).toEqual([{ tenant_id: first.tenantId }]);
      expect(await second.scope.read((reader) => reader.query(text))).toEqual([]);
    }
    expect(await second.scope.transaction((tx) => tx.query('DELETE FROM deployments RETURNING id'))).toEqual(
      [],
    );
    expect(await first.scope.read((reader) => reader.query('SELECT id FROM tenants'))).toEqual([
      { id: first.tenantId },
    ]);
  });

  test('cannot write for another tenant', async () => {
    const [first, second] = [await newTenant(store), await newTenant(store)];
    await expect(
      first.scope.transaction((tx) =>
        insertDeployment(tx, store.box, second.tenantId, newDeployment('theirs')),
      ),
    ).rejects.toMatchObject({ sqlState: '42501' });
    expect(await store.sql('SELECT 1 FROM deployments WHERE tenant_id = $1', [second.tenantId])).toEqual([]);
    expect(
      await first.scope.transaction((tx) =>
        tx.query('UPDATE listeners SET compute_id = $1 RETURNING id', ['mine']),
      ),
    ).toEqual([]);
  });

  test('is enforced for every table with a tenant_id, also for the owner of the table', async () => {
    const unprotected = await store.sql(
      `SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
       WHERE a.attname = 'tenant_id' AND c.relkind = 'r' AND NOT (c.relrowsecurity AND c.relforcerowsecurity)`,
    );
    expect(unprotected).toEqual([]);
  });

  test('shares a connection with other scopes without mixing their rows', async () => {
    const database = open({ poolSize: 1 });
    const tenants = [await newTenant(store), await newTenant(store)];
    for (const { tenantId } of tenants) await insert(store, tenantId, 'shop');
    const own = (tenantId: string) => [{ tenant_id: tenantId }];
    const text = 'SELECT tenant_id FROM deployments';
    for (let round = 0; round < 3; round += 1) {
      for (const { tenantId } of tenants) {
        const scope = database.forTenant(tenantId);
        expect(await scope.read((reader) => reader.query(text))).toEqual(own(tenantId));
        expect(await scope.transaction((tx) => tx.query(text))).toEqual(own(tenantId));
        await expect(scope.transaction((tx) => tx.query('SELECT 1/0'))).rejects.toThrow();
        await expect(scope.read((reader) => reader.query('SELECT 1/0'))).rejects.toThrow();
      }
      const all = await database.platform.read((reader) => reader.query(text));
      expect(all.length).toBeGreaterThanOrEqual(tenants.length);
    }
  });

  test('rejects an id that is not a UUID before it reaches a statement', () => {
    expect(() => store.database.forTenant(`*'; DROP TABLE tenants; --`)).toThrow(TypeError);
    expect(() => store.database.forTenant('*')).toThrow(TypeError);
  });
});

describe('an outage of PostgreSQL', () => {
  test('does not end with a standby, and ends when the primary is back', async () => {
    const own = await startStore({ own: true, poolSize: 2 });
    try {
      const signal = join(own.server.stateDir ?? '', 'data', 'standby.signal');
      await own.server.stopServer('fast');
      writeFileSync(signal, '');
      await own.server.startServer();
      await expect(own.database.ping()).rejects.toThrow('the server is a read-only standby');
      expect(own.database.pool()).toMatchObject({ total: 0 });
      await own.server.stopServer('fast');
      rmSync(signal);
      await own.server.startServer();
      await own.database.ping();
    } finally {
      await own.stop();
    }
  });

  test('makes open and committing transactions fail as unavailable, and ends with the restart', async () => {
    const own = await startStore({ own: true, poolSize: 3 });
    try {
      const { tenantId, scope } = await newTenant(own);
      await insert(own, tenantId, 'kept');
      const list = () => scope.read((reader) => reader.query('SELECT name FROM deployments'));
      await Promise.all([list(), list(), list()]);
      const crash = async (tx: Transaction) => {
        await insertDeployment(tx, own.box, tenantId, newDeployment('lost'));
        await own.server.stopServer('immediate');
      };
      await expect(
        scope.transaction(async (tx) => {
          await crash(tx);
          await tx.query('SELECT 1');
        }),
      ).rejects.toBeInstanceOf(StoreUnavailable);
      await expect(own.database.ping()).rejects.toBeInstanceOf(StoreUnavailable);
      await own.server.startServer();
      expect(await list()).toEqual([{ name: 'kept' }]);
      await expect(scope.transaction(crash)).rejects.toBeInstanceOf(StoreUnavailable);
      await own.server.startServer();
      expect(await list()).toEqual([{ name: 'kept' }]);
      await Promise.all([list(), list(), list()]);
      await own.server.stopServer('fast');
      await own.server.startServer();
      // Every pooled connection is dead, and the pool has not noticed yet.
      await insert(own, tenantId, 'after');
      expect(await list()).toHaveLength(2);
    } finally {
      await own.stop();
    }
  });
});
