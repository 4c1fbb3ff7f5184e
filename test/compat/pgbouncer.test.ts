/** The store behind Debian's PgBouncer: session mode works, other modes are rejected at the start. */
import { cpSync, globSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase } from '../../src/hub/store/core/database.ts';
import { StoreError } from '../../src/hub/store/core/errors.ts';
import { migrate } from '../../src/hub/store/core/migrate.ts';
import { checkSessions } from '../../src/hub/store/core/session-check.ts';
import { findDeployment } from '../../src/hub/store/deployments/deployments.ts';
import { debianTree } from '../cluster/images/debian-packages.ts';
import { freePorts } from '../cluster/ports.ts';
import { withClient } from '../cluster/postgres.ts';
import { chownTo, unprivilegedUser } from '../cluster/postgres-binaries.ts';
import { startProcess, startWatchdog, stopProcess, type Watchdog } from '../cluster/processes.ts';
import { waitFor } from '../cluster/wait.ts';
import {
  insert,
  newTenant,
  recordingLogger,
  type StoreFixture,
  startStore,
} from '../integration/harness/store.ts';

const DEBIAN = { name: 'pgbouncer', packages: ['pgbouncer'], dependencies: /^(libevent-2|libc-ares)/ };
const MODES = ['session', 'transaction', 'statement'] as const;
type Mode = (typeof MODES)[number];

let store: StoreFixture;
let folder: string;
let watchdog: Watchdog;
const urls = {} as Record<Mode | 'alternating', string>;

/** Starts a PgBouncer in front of the server of the store. Returns the URL of the store through it. */
async function pooler(name: string, mode: Mode, extra = ''): Promise<string> {
  const [port] = await freePorts(1);
  const url = new URL(store.url);
  const users = join(folder, 'users.txt');
  writeFileSync(users, `"${decodeURIComponent(url.username)}" "${url.password}"\n`);
  const config = join(folder, `${name}.ini`);
  writeFileSync(
    config,
    `[databases]\n* = host=127.0.0.1 port=${url.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\n` +
      `unix_socket_dir =\nauth_type = scram-sha-256\nauth_file = ${users}\npool_mode = ${mode}\n${extra}\n`,
  );
  await startProcess(folder, {
    name,
    command: join(folder, 'tree/usr/sbin/pgbouncer'),
    args: [config],
    env: {
      LD_LIBRARY_PATH: globSync('tree/usr/lib/*-linux-*', { cwd: folder })
        .map((each) => join(folder, each))
        .join(delimiter),
    },
    ...unprivilegedUser(),
  });
  url.port = String(port);
  await waitFor('PgBouncer to take connections', () => withClient(url.href, async () => true), {
    timeoutMs: 60_000,
  });
  return url.href;
}

beforeAll(async () => {
  folder = mkdtempSync(join(realpathSync(tmpdir()), 'berth-pgbouncer-'));
  watchdog = startWatchdog(folder, { removeState: true });
  chownTo(unprivilegedUser(), folder);
  // The unprivileged user may not read the cache.
  cpSync(await debianTree(DEBIAN), join(folder, 'tree'), { recursive: true, verbatimSymlinks: true });
  store = await startStore({ own: true });
  for (const mode of MODES) urls[mode] = await pooler(mode, mode);
  urls.alternating = await pooler('alternating', 'transaction', 'server_round_robin = 1\nmin_pool_size = 2');
});
afterAll(async () => {
  for (const name of Object.keys(urls)) await stopProcess(folder, name);
  watchdog?.release();
  await store?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('session mode keeps tenants apart, and the timeouts of the server apply', async () => {
  await checkSessions(urls.session);
  await expect(migrate(urls.session, recordingLogger())).resolves.toEqual([]);
  const tenants = [await newTenant(store), await newTenant(store)] as const;
  const database = openDatabase({
    url: urls.session,
    poolSize: 4,
    logger: recordingLogger(),
    statementTimeoutMs: 7_000,
  });
  try {
    const { id } = await insert({ ...store, database }, tenants[0].tenantId, 'shop');
    const find = (tenantId: string) =>
      database.forTenant(tenantId).read((reader) => findDeployment(reader, tenants[0].tenantId, id));
    for (let round = 0; round < 5; round += 1) {
      const found = await Promise.all(
        [0, 1, 0, 1, 1, 0].map((index) => find(tenants[index]?.tenantId ?? '')),
      );
      expect(found.map((record) => record?.name ?? null)).toEqual(['shop', null, 'shop', null, null, 'shop']);
    }
    const shown = await database.platform.read((reader) => reader.query('SHOW statement_timeout'));
    expect(shown).toEqual([{ statement_timeout: '7s' }]);
  } finally {
    await database.close();
  }
});

test.each(['transaction', 'statement', 'alternating'] as const)(
  'the start and the migration fail with the next step behind a pooler with the mode %s',
  async (mode) => {
    for (const start of [checkSessions, (url: string) => migrate(url, recordingLogger())]) {
      const error = await start(urls[mode]).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(StoreError);
      expect(error).toMatchObject({ retryable: false });
      expect(String(error)).toMatch(/pooler in transaction or statement mode.*next: set pool_mode=session/);
    }
  },
);

test('transaction mode is also found while other clients use the pooler', async () => {
  let isDone = false;
  const load = [1, 2, 3].map(() =>
    withClient(urls.transaction, async (client) => {
      while (!isDone) await client.query('SELECT pg_sleep(0.001)');
    }),
  );
  try {
    for (let round = 0; round < 10; round += 1)
      await expect(checkSessions(urls.transaction)).rejects.toThrow(
        /pooler in transaction or statement mode/,
      );
  } finally {
    isDone = true;
    await Promise.all(load);
  }
});
