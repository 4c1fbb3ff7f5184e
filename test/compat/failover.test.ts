/** A standby takes over from PostgreSQL while the store writes. With synchronous replication, no answered write is lost. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase } from '../../src/hub/store/core/database.ts';
import { StoreUnavailable } from '../../src/hub/store/core/errors.ts';
import { createTenant } from '../../src/hub/store/tenancy/tenants.ts';
import { freePorts } from '../cluster/ports.ts';
import { withClient } from '../cluster/postgres.ts';
import { chownTo, postgresBinaries, unprivilegedUser } from '../cluster/postgres-binaries.ts';
import { startProcess, startWatchdog, stopProcess, type Watchdog } from '../cluster/processes.ts';
import { waitFor } from '../cluster/wait.ts';
import { recordingLogger, type StoreFixture, startStore } from '../integration/harness/store.ts';

const WRITERS = 4;
const runAs = unprivilegedUser();
let store: StoreFixture;
let folder: string;
let watchdog: Watchdog;

/** The URL of a database through another port. */
function through(base: string, port: number): string {
  const url = new URL(base);
  url.port = String(port);
  return url.href;
}

/** An address that leads to one server at a time, as that of a service in front of a primary. */
async function movableAddress(port: number) {
  let target = port;
  const server = net.createServer((client) => {
    const upstream = net.connect(target, '127.0.0.1');
    client.pipe(upstream).pipe(client);
    client.on('error', () => upstream.destroy());
    upstream.on('error', () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    moveTo: (next: number) => {
      target = next;
    },
    close: () => server.close(),
  };
}

/** Starts a standby from a copy of the stopped server. */
async function startStandby(): Promise<URL> {
  const source = store.server.stateDir ?? '';
  const data = join(folder, 'data');
  await store.server.stopServer('fast');
  // Keeps owner and mode, which PostgreSQL checks.
  execFileSync('cp', ['-a', join(source, 'data'), data]);
  rmSync(join(data, 'postmaster.pid'), { force: true });
  writeFileSync(join(data, 'standby.signal'), '');
  await store.server.startServer();
  const [port] = await freePorts(1);
  const admin = new URL(store.server.url);
  const { postgres } = await postgresBinaries(folder, runAs, () => undefined);
  const settings = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '300',
    primary_conninfo: `host=127.0.0.1 port=${admin.port} user=postgres password=${admin.password} application_name=standby`,
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  chownTo(runAs, join(data, 'standby.signal'));
  await startProcess(folder, {
    name: 'standby',
    command: postgres,
    args: [`-D${data}`, ...args],
    env: { LC_ALL: 'C' },
    ...runAs,
  });
  admin.port = String(port);
  return admin;
}

beforeAll(async () => {
  folder = mkdtempSync(join(realpathSync(tmpdir()), 'berth-failover-'));
  chownTo(runAs, folder);
  watchdog = startWatchdog(folder, { removeState: true });
  store = await startStore({ own: true });
});
afterAll(async () => {
  await stopProcess(folder, 'standby', { signal: 'SIGQUIT' });
  watchdog?.release();
  // The old primary would wait for a standby, so its databases are removed with its folder.
  await store?.database.close();
  await store?.server.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('a write that no synchronous standby confirmed in time is not answered as written', async () => {
  const { server, url } = store;
  const configure = (names: string) =>
    withClient(server.url, async (client) => {
      await client.query(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
      await client.query('SELECT pg_reload_conf()');
      await waitFor(
        'the setting',
        async () => {
          const { rows } = await client.query<{ value: string }>(
            `SELECT setting AS value FROM pg_settings WHERE name = 'synchronous_standby_names'`,
          );
          return rows[0]?.value === names;
        },
        { timeoutMs: 30_000 },
      );
    });
  await configure('absent');
  const database = openDatabase({ url, poolSize: 1, logger: recordingLogger(), statementTimeoutMs: 1_000 });
  try {
    const write = database.platform.transaction((transaction) => createTenant(transaction, 'not-confirmed'));
    await expect(write).rejects.toBeInstanceOf(StoreUnavailable);
  } finally {
    await database.close();
    await configure('');
  }
});

test('every answered write is on the promoted standby with synchronous replication, and writes continue', async () => {
  const admin = await startStandby();
  await withClient(store.server.url, async (client) => {
    await client.query(`ALTER SYSTEM SET synchronous_standby_names = 'standby'`);
    await client.query('SELECT pg_reload_conf()');
    await waitFor(
      'the standby to be synchronous',
      async () => {
        const { rows } = await client.query(`SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`);
        return rows.length > 0;
      },
      { timeoutMs: 60_000 },
    );
  });
  const address = await movableAddress(Number(new URL(store.url).port));
  const database = openDatabase({
    url: through(store.url, address.port),
    poolSize: WRITERS,
    logger: recordingLogger(),
  });
  const answered: string[] = [];
  const failures: unknown[] = [];
  let isDone = false;
  const writers = Array.from({ length: WRITERS }, async (_, writer) => {
    for (let number = 0; !isDone; number += 1) {
      const name = `failover-${writer}-${number}`;
      try {
        await database.platform.transaction((transaction) => createTenant(transaction, name));
        answered.push(name);
      } catch (error) {
        failures.push(error);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  });
  try {
    await waitFor('writes before the failover', async () => answered.length > 100, { timeoutMs: 60_000 });
    await store.server.stopServer('immediate');
    const before = answered.length;
    await waitFor('the standby to accept connections', () => withClient(admin.href, async () => true), {
      timeoutMs: 60_000,
    });
    await withClient(admin.href, async (client) => {
      await client.query('SELECT pg_promote()');
      // The new primary has no standby, so it does not wait for one.
      await client.query(`ALTER SYSTEM SET synchronous_standby_names = ''`);
      await client.query('SELECT pg_reload_conf()');
    });
    address.moveTo(Number(admin.port));
    await waitFor('writes after the failover', async () => answered.length > before + 100, {
      timeoutMs: 60_000,
    });
  } finally {
    isDone = true;
    await Promise.all(writers);
    await database.close();
    address.close();
  }
  expect(failures.length).toBeGreaterThan(0);
  expect(failures.filter((error) => !(error instanceof StoreUnavailable))).toEqual([]);
  const stored = await withClient(through(store.url, Number(admin.port)), async (client) => {
    await client.query(`SET berth.tenant_id = '*'`);
    return (await client.query<{ name: string }>('SELECT name FROM tenants')).rows.map(({ name }) => name);
  });
  expect(answered.filter((name) => !stored.includes(name))).toEqual([]);
});
