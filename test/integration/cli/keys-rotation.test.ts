/** The encryption key changes while API processes serve and write; a start with the wrong keys is refused. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWatchdog } from '../../cluster/processes.ts';
import { type BerthProcess, runBerth, startBerth } from '../../installation/berth-process.ts';
import { createBody, type Deployment } from '../harness/api.ts';
import { postgres, uniqueName } from '../harness/environment.ts';

const keyOf = (id: string) => `${id}:${randomBytes(32).toString('base64')}`;
const [OLD, NEW] = [keyOf('old'), keyOf('new')];

let stateDir: string;
let watchdog: { release(): void };
let database: string;
let settings: Record<string, string>;
let apiKey: string;
const processes: BerthProcess[] = [];

const withKeys = (...keys: string[]) => ({ ...settings, BERTH_ENCRYPTION_KEYS: keys.join(',') });

async function startApi(
  name: string,
  keys: string[],
  more: Record<string, string> = {},
): Promise<BerthProcess> {
  const api = await startBerth({ stateDir, role: 'api', name, settings: { ...withKeys(...keys), ...more } });
  processes.push(api);
  return api;
}

async function call<T>(api: BerthProcess, method: string, path: string, body?: unknown) {
  const response = await fetch(new URL(path, api.url), {
    method,
    headers: { 'x-api-key': apiKey, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as T };
}

const secretsOf = (n: number) => [{ name: 'TOKEN', value: `value-${n}` }];

async function create(api: BerthProcess, n: number): Promise<string> {
  const { status, body } = await call<Deployment>(
    api,
    'POST',
    '/v2/deployments',
    createBody({ secrets: secretsOf(n) }),
  );
  expect(status, JSON.stringify(body)).toBe(201);
  return body.id;
}

interface Outcome {
  resealed: number;
  uses: { table: string; keyId: string; rows: number }[];
  removable: string[];
}

const rotate = (keys: string[], ...args: string[]) =>
  runBerth(stateDir, ['keys', 'rotate-encryption', ...args], withKeys(...keys));

async function failureOf(run: Promise<unknown>): Promise<string> {
  return run.then(
    () => 'it did not fail',
    (error: Error) => error.message,
  );
}

beforeAll(async () => {
  stateDir = mkdtempSync(join(realpathSync(tmpdir()), 'berth-test-rotation-'));
  watchdog = startWatchdog(stateDir, { removeState: true });
  database = uniqueName('rotation');
  const url = await (await postgres()).createDatabase(database);
  settings = {
    DATABASE_URL: url,
    BERTH_HOST: '127.0.0.1',
    BERTH_PORT: '0',
    BERTH_METRICS_PORT: '0',
  };
  await runBerth(stateDir, ['migrate'], settings);
  const made = await runBerth(
    stateDir,
    ['keys', 'create', '--tenant', 'test', '--name', 'test', '-o', 'json'],
    settings,
  );
  apiKey = (JSON.parse(made) as { api_key: string }).api_key;
});
afterAll(async () => {
  await Promise.all(processes.map((process) => process.stop()));
  await (await postgres()).dropDatabase(database);
  watchdog.release();
  rmSync(stateDir, { recursive: true, force: true });
});

test('rotates from the old key to the new one while two API processes write', async () => {
  const before = await startApi('before', [OLD, NEW]);
  const ids: string[] = [];
  for (let n = 0; n < 30; n += 1) ids.push(await create(before, n));
  expect(await rotate([OLD], '--dry-run')).toContain('secret_sets: 30 rows with old');

  const apis = [await startApi('first', [NEW, OLD]), await startApi('second', [NEW, OLD])];
  let writing = true;
  const writers = apis.map(async (api, index) => {
    for (let n = index; writing; n = (n + 2) % 30) {
      const id = ids[n] ?? '';
      const patched = await call<Deployment>(api, 'PATCH', `/v2/deployments/${id}`, {
        secrets: [...secretsOf(n), { name: 'EXTRA', value: randomBytes(4).toString('hex') }],
      });
      expect(patched.status, JSON.stringify(patched.body)).toBe(200);
    }
  });
  const printed = await rotate([NEW, OLD], '--batch', '3', '-o', 'json');
  const outcome = JSON.parse(printed) as Outcome;
  writing = false;
  await Promise.all(writers);
  expect(outcome.resealed).toBeGreaterThanOrEqual(30);
  expect(outcome.uses.map(({ keyId }) => keyId)).toEqual(['new']);
  expect(outcome.removable).toEqual(['old']);
  expect(printed).not.toContain('value-');

  const after = await startApi('after', [NEW]);
  for (const [n, id] of ids.entries()) {
    const { body } = await call<Deployment>(after, 'GET', `/v2/deployments/${id}`);
    expect(body.secrets).toContainEqual(secretsOf(n)[0]);
  }
});

test('reports rows that others lock or write meanwhile, and completes them when it runs again', async () => {
  const late = await startApi('late', [OLD, NEW]);
  const id = await create(late, 0);
  const client = new pg.Client({ connectionString: settings['DATABASE_URL'] });
  await client.connect();
  try {
    await client.query("BEGIN; SET LOCAL berth.tenant_id = '*'");
    const { rowCount } = await client.query('SELECT 1 FROM secret_sets WHERE deployment_id = $1 FOR UPDATE', [
      id,
    ]);
    expect(rowCount).toBe(1);
    expect(await failureOf(rotate([NEW, OLD]))).toContain(
      '1 rows were locked or written by other processes during the run; next: put new first in BERTH_ENCRYPTION_KEYS',
    );
    await client.query('COMMIT');
  } finally {
    await client.end();
  }
  await late.stop();
  expect(await rotate([NEW, OLD])).toContain('No longer needed: old');
});

test('fails to start without a needed key or with other bytes for it, and reports what to do', async () => {
  const start = (key: string) => failureOf(runBerth(stateDir, ['api'], withKeys(key)));
  const missing = await start(OLD);
  expect(missing).toContain('BERTH_ENCRYPTION_KEYS has no key new');
  expect(missing).toContain('next: put the key back');
  expect(await start(keyOf('new'))).toContain('has different bytes for the key new');
});

test('starts the API with a key that is declared lost, logs it, and accepts its secrets again', async () => {
  const api = await startApi('lost', [OLD], { BERTH_LOST_ENCRYPTION_KEYS: 'new' });
  const list = await call<{ resources: Deployment[] }>(api, 'GET', '/v2/deployments?limit=100');
  expect(list.status).toBe(200);
  const [first] = list.body.resources;
  expect(first?.secrets).toEqual([]);
  expect(first?.conditions).toContainEqual(expect.objectContaining({ reason: 'SecretsUnreadable' }));
  const mended = await call<Deployment>(api, 'PATCH', `/v2/deployments/${first?.id}`, {
    secrets: secretsOf(7),
  });
  expect(mended.body.secrets).toEqual(secretsOf(7));
});
