/** docs/operations.md, "Backup" and "Restore": its commands, with the programs of PostgreSQL, as the ordinary role. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase } from '../../src/hub/store/core/database.ts';
import { checkMigrated } from '../../src/hub/store/core/migrate.ts';
import { findDeployment } from '../../src/hub/store/deployments/deployments.ts';
import { shellBlocks } from '../docs/pages.ts';
import {
  insert,
  newTenant,
  ordinaryDatabase,
  recordingLogger,
  type StoreFixture,
  startStore,
} from '../integration/harness/store.ts';

const THIS = 'test/compat/backup.test.ts';
const blocks = shellBlocks(readFileSync('docs/operations.md', 'utf8'), 'docs/operations.md').filter(
  ({ marker }) => marker?.kind === 'run by' && marker.what === THIS,
);
const [backup = '', restore = ''] = blocks.map(({ text }) => text);

interface TableState {
  readonly rows: number;
  /** null: it is empty. */
  readonly hash: string | null;
  readonly forced: boolean;
}

let store: StoreFixture;
let target: Awaited<ReturnType<typeof ordinaryDatabase>>;
let folder: string;

beforeAll(async () => {
  store = await startStore({ own: true });
  target = await ordinaryDatabase(store.server);
  folder = mkdtempSync(join(tmpdir(), 'berth-backup-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await target?.drop();
  await store?.stop();
});

function shell(commands: string): Promise<{ stdout: string; stderr: string }> {
  return promisify(execFile)('bash', ['--norc', '-euo', 'pipefail', '-c', commands], {
    cwd: folder,
    env: { PATH: process.env['PATH'], DATABASE_URL: store.url, RESTORED_URL: target.url },
  });
}

/** Number and hash of the rows of every table, on behalf of the platform, and whether row-level security binds its owner. */
async function tables(url: string): Promise<Record<string, TableState>> {
  const database = openDatabase({ url, poolSize: 1, logger: recordingLogger() });
  try {
    return await database.platform.read(async (reader) => {
      const found = await reader.query<{ name: string; forced: boolean }>(
        `SELECT format('%I.%I', nspname, relname) AS name, relforcerowsecurity AS forced FROM pg_class c
         JOIN pg_namespace n ON n.oid = relnamespace
         WHERE relkind = 'r' AND nspname IN ('public', 'drizzle') ORDER BY 1`,
      );
      const result: Record<string, TableState> = {};
      for (const { name, forced } of found) {
        const [held] = await reader.query<Omit<TableState, 'forced'>>(
          `SELECT count(*)::int AS rows, md5(string_agg(t::text, ',' ORDER BY t::text)) AS hash FROM ${name} AS t`,
        );
        if (held !== undefined) result[name] = { ...held, forced };
      }
      return result;
    });
  } finally {
    await database.close();
  }
}

test('restores every row of every tenant from a backup, with sealed secrets and row-level security', async () => {
  const secrets = [{ name: 'TOKEN', value: 'kept' }];
  const tenants = [await newTenant(store), await newTenant(store)] as const;
  const records = [];
  for (const { tenantId } of tenants) records.push(await insert(store, tenantId, 'shop', { secrets }));

  await shell(backup);
  await shell(restore);

  const before = await tables(store.url);
  expect(before['public.deployments']).toMatchObject({ rows: 2, forced: true });
  expect(await tables(target.url)).toEqual(before);
  const restored = openDatabase({ url: target.url, poolSize: 2, logger: recordingLogger() });
  try {
    await checkMigrated(restored);
    const [own, foreign] = tenants;
    const id = records[0]?.id ?? '';
    const readAs = ({ tenantId }: { tenantId: string }) =>
      restored.forTenant(tenantId).read((reader) => findDeployment(reader, own.tenantId, id));
    expect((await readAs(own))?.name).toBe('shop');
    expect(await readAs(foreign)).toBeNull();
  } finally {
    await restored.close();
  }
});

test('pg_dump exports no row and reports no error when the session has no tenant', async () => {
  await shell('pg_dump --enable-row-security --format=custom --file=empty.dump "$DATABASE_URL"');
  const { stdout } = await shell('pg_restore --data-only --table=deployments --file=- empty.dump');
  expect(stdout).toMatch(/^COPY public\.deployments .*\n\\\.$/m);
});

test('pg_dump fails instead of omitting rows when its options for row-level security are missing', async () => {
  await expect(shell('pg_dump --format=custom --file=plain.dump "$DATABASE_URL"')).rejects.toThrow(
    /row-level security/,
  );
});
