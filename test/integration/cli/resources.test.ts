/** Commands for the resources of the API, and short commands for deployments, against a running API without a cluster. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { ALL_SCOPES, type ApiFixture, create, startApi, uniqueName } from '../harness/api.ts';
import { runProgram } from './cli.ts';

let api: ApiFixture;
let url: string;
let folder: string;
/** The key of the platform, with a tenant in the environment. */
let env: Record<string, string>;
let client: Awaited<ReturnType<ApiFixture['tenant']>>;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-resources-'));
  api = await startApi({ deps: { deletionGraceSeconds: 3600 } });
  url = await api.app.listen({ host: '127.0.0.1', port: 0 });
  client = await api.tenant();
  const platform = await api.client(null, ALL_SCOPES);
  env = { HOME: folder, BERTH_URL: url, BERTH_API_KEY: platform.key, BERTH_TENANT_ID: client.tenantId };
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await api?.stop();
});

const cli = (words: readonly string[], input = '') => runProgram(words, { input, env });

/** Runs a command that must succeed. Returns its standard output. */
async function ok(words: readonly string[], input = ''): Promise<string> {
  const run = await cli(words, input);
  expect(run, `${words.join(' ')}: ${run.err}`).toMatchObject({ code: 0 });
  return run.out;
}
const json = async <T = Record<string, unknown>>(words: readonly string[], input = '') =>
  JSON.parse(await ok([...words, '-o', 'json'], input)) as T;

test('creates, lists, changes and deletes listeners', async () => {
  const made = await json(['listeners', 'create', 'eu', '--namespaces', 'a, b']);
  expect(made).toMatchObject({ compute_id: 'eu', compute_config: { k8s_namespaces: ['a', 'b'] } });
  expect(await ok(['listeners', 'list'])).toMatch(/^eu +NEVER_SEEN +a,b /m);
  expect(await ok(['listeners', 'list', '-o', 'name'])).toMatch(/^eu$/m);
  const moved = await json(['listeners', 'update', 'eu', '--name', 'eu-1', '--forget-cluster']);
  expect(moved).toMatchObject({ compute_id: 'eu-1', cluster_id: null });
  expect(await ok(['listeners', 'get', String(made['id'])])).toMatch(/^Name: +eu-1$/m);
  expect(await cli(['listeners', 'delete', 'eu-1'])).toMatchObject({ code: 2 });
  await ok(['listeners', 'delete', 'eu-1', '--yes']);
  expect(await cli(['listeners', 'get', 'eu-1'])).toMatchObject({
    code: 1,
    err: 'berth: 404: there is no listener "eu-1"; next: berth listeners list\n',
  });
});

test('creates, changes and deletes integrations, with the token from standard input or a file', async () => {
  const create = [
    'integrations',
    'create',
    'code',
    '--provider',
    'github',
    '--host-url',
    'https://github.com',
  ];
  const made = await cli(create, 'canary-token-5521\n');
  expect(made, made.err).toMatchObject({ code: 0 });
  expect(made.out + made.err).not.toContain('canary');
  const file = join(folder, 'token');
  writeFileSync(file, 'other-token-5521\n');
  expect(
    await json(['integrations', 'update', 'code', '--name', 'code-2', '--token-file', file]),
  ).toMatchObject({
    name: 'code-2',
  });
  const secret = await json(['integrations', 'create-webhook-secret', 'code-2']);
  expect(secret['secret']).toMatch(/\S{16}/);
  expect(await cli(['integrations', 'create-webhook-secret', 'code-2', '-o', 'name'])).toMatchObject({
    code: 2,
  });
  await ok(['integrations', 'delete-webhook-secret', 'code-2', '--yes']);
  await ok(['integrations', 'delete', 'code-2', '-y']);
  expect(await json<unknown[]>(['integrations', 'list'])).toEqual([]);
});

test('creates, renames and deletes tags, and sets the tags of a deployment', async () => {
  const { name } = await create(client);
  await ok(['tags', 'create', 'team']);
  await ok(['tags', 'create-value', 'team', 'a']);
  await ok(['tags', 'create-value', 'team', 'b=c']);
  await ok(['tags', 'rename', 'team', 'group']);
  await ok(['tags', 'rename-value', 'group', 'a', 'x']);
  expect(await ok(['tags', 'values', 'group', '-o', 'name'])).toMatch(/^(x\nb=c|b=c\nx)\n$/);
  expect(await ok(['tags', 'set', name, 'group=b=c'])).toMatch(/^group +b=c /m);
  const unknown = await cli(['tags', 'set', name, 'group=y']);
  expect(unknown).toMatchObject({ code: 1, err: expect.stringContaining('next: berth tags values group') });
  expect(await ok(['tags', 'set', name, 'group=b=c', '-o', 'name'])).toBe('group=b=c\n');
  expect(await json<unknown[]>(['tags', 'set', name, '--clear', '--yes'])).toEqual([]);
  await ok(['tags', 'delete-value', 'group', 'x', '--yes']);
  await ok(['tags', 'delete', 'group', '--yes']);
  expect(await ok(['tags', 'list', '-o', 'name'])).toBe('');
});

test('creates tenants with quotas, keeps the quotas that are not given, and deletes tenants', async () => {
  const name = uniqueName('tenant');
  await ok(['tenants', 'create', name, '--deployments', '5', '--cpu', '8']);
  const changed = await json(['tenants', 'update', name, '--cpu', 'none', '--name', `${name}-2`]);
  expect(changed).toMatchObject({ name: `${name}-2`, quotas: { deployments: 5, cpu: null } });
  expect(await ok(['tenants', 'get', `${name}-2`])).toMatch(/^Deployments: +5$/m);
  await ok(['tenants', 'delete', `${name}-2`, '--yes']);
  expect(await ok(['tenants', 'list', '-o', 'name'])).not.toContain(name);
});

test('creates, lists and revokes API keys, and shows a key only once', async () => {
  const made = await json(['api-keys', 'create', 'ci', '--scopes', 'deployments:read', '--expires', '90d']);
  const days = (Date.parse(String(made['expires_at'])) - Date.now()) / 86_400_000;
  expect(Math.abs(days - 90)).toBeLessThan(1);
  const own = { ...env, BERTH_API_KEY: String(made['key']) };
  expect(await runProgram(['deployments', 'list'], { env: own })).toMatchObject({ code: 0 });
  const platform = await json(['api-keys', 'create', 'run', '--scopes', 'listeners:run', '--platform']);
  expect(await ok(['api-keys', 'list', '--platform', '-o', 'name'])).toContain(String(platform['id']));
  expect(await ok(['api-keys', 'get', String(platform['id'])])).toMatch(/^Name: +run$/m);
  await ok(['api-keys', 'revoke', String(platform['id']), '--yes']);
  const listed = await ok(['api-keys', 'list']);
  expect(listed).toMatch(/^ci +\S+ +deployments:read +20/m);
  expect(listed).not.toContain(String(made['key']));
  await ok(['api-keys', 'revoke', String(made['id']), '--yes']);
  // The API remembers keys for some seconds.
  const refused = async () => (await runProgram(['deployments', 'list'], { env: own })).err;
  await expect.poll(refused, { timeout: 60_000 }).toMatch(/^berth: 401: .*; next: berth login/);
});

test('shows usage, tracing projects and events', async () => {
  const { id, name } = await create(client);
  expect(await ok(['usage'])).toMatch(/^deployments +\d+ +none$/m);
  expect(await ok(['tracing-projects', 'get', name])).toMatch(new RegExp(`^Name: +${name}$`, 'm'));
  const ofOne = await json<{ deployment_id: string }[]>(['events', name]);
  expect(ofOne.length).toBeGreaterThan(0);
  expect(new Set(ofOne.map((event) => event.deployment_id))).toEqual(new Set([id]));
  const newest = await json<{ at: string }[]>(['events', '--limit', '2']);
  expect(newest).toHaveLength(2);
  expect((newest[0]?.at ?? '') <= (newest[1]?.at ?? '')).toBe(true);
  const before = await json<unknown[]>(['events', name, '--until', '1h']);
  expect(before).toEqual([]);
  const created = await json<{ reason: string }[]>(['events', '--since', '1h', '--reason', 'Created']);
  expect(new Set(created.map(({ reason }) => reason))).toEqual(new Set(['Created']));
  expect(await cli(['events', '--since', 'soon'])).toMatchObject({ code: 2 });
  expect(await ok(['events', name])).toMatch(/^TIME +REASON +BY +MESSAGE$/m);
});

describe('short commands', () => {
  test('scale changes only the number of pods', async () => {
    const { name } = await create(client);
    const scaled = await json<{ source_config: { resource_spec: object } }>([
      'scale',
      name,
      '--min',
      '2',
      '--max',
      '4',
    ]);
    expect(scaled.source_config.resource_spec).toMatchObject({ min_scale: 2, max_scale: 4 });
    expect((await cli(['scale', name, '--min', '9'])).err).toContain('body.source_config.resource_spec');
  });

  test('deploy creates a revision, also for the same image', async () => {
    const { name } = await create(client);
    const image = 'registry.example/shop/web:9.9.9';
    const deploy = ['deploy', name, '--image', image, '--no-wait'];
    const first = await json<{ latest_revision_id: string; image_version: string }>(deploy);
    expect(first.image_version).toBe('9.9.9');
    const again = await json<{ latest_revision_id: string }>(deploy);
    expect(again.latest_revision_id).not.toBe(first.latest_revision_id);
    expect(await cli(['deploy', 'missing', '--image', image])).toMatchObject({
      code: 1,
      err: 'berth: 404: there is no deployment "missing"; next: berth deployments create -f FILE\n',
    });
  });

  test('secrets list prints names and no values', async () => {
    const { name } = await create(client, { secrets: [{ name: 'TOKEN', value: 'canary-5521' }] });
    for (const format of ['table', 'json', 'yaml', 'name']) {
      const text = await ok(['secrets', 'list', name, '-o', format]);
      expect(text).toContain('TOKEN');
      expect(text).not.toContain('canary');
    }
  });

  test('restore brings back a deployment that is being deleted', async () => {
    const { id, name } = await create(client);
    expect(await json(['deployments', 'delete', name, '--yes'])).toEqual({ id, name, deleted: false });
    const names = ['deployments', 'list', '--status', 'AWAITING_DELETE', '-o', 'name'];
    expect(await ok(names)).toContain(id);
    const restored = await cli(['restore', name, '-o', 'name']);
    expect(restored, restored.err).toMatchObject({ code: 0, out: `${name}\n` });
    expect(await cli(['restore', name])).toMatchObject({ code: 1 });
  });

  test('delete does not wait when the grace period is longer than the timeout', async () => {
    const { id, name } = await create(client);
    const deleted = await cli(['deployments', 'delete', name, '--yes', '--wait', '-o', 'json']);
    expect(deleted, deleted.err).toMatchObject({ code: 1 });
    expect(JSON.parse(deleted.out)).toEqual({ id, name, deleted: false });
    expect(deleted.err).toContain(`next: berth restore ${id}`);
  });

  test('delete reports a deployment that is gone at once', async () => {
    const { id, name } = await create(client);
    const deleted = await json(['deployments', 'delete', name, '--yes', '--force']);
    expect(deleted).toEqual({ id, name, deleted: true });
  });

  test('open prints the URL, and starts the browser of the system', async () => {
    const deployment = { id: 'a', name: 'shop', status: 'READY', url: 'https://shop.example.org' };
    const fake = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ resources: [deployment], offset: 1 }));
    });
    await new Promise<void>((resolve) => fake.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void fake.close());
    const opened = join(folder, 'opened');
    const opener = join(folder, 'xdg-open');
    writeFileSync(opener, `#!/bin/sh\necho "$1" > '${opened}'\n`);
    chmodSync(opener, 0o755);
    const withOpener = {
      ...env,
      BERTH_URL: `http://127.0.0.1:${(fake.address() as AddressInfo).port}`,
      PATH: [folder, process.env['PATH'] ?? ''].join(delimiter),
    };
    const run = await runProgram(['open', 'shop'], { env: withOpener });
    expect(run, run.err).toMatchObject({ code: 0, out: 'https://shop.example.org\n' });
    await expect
      .poll(() => (existsSync(opened) ? readFileSync(opened, 'utf8') : ''))
      .toBe('https://shop.example.org\n');
  });

  test('open names the next command when the deployment has no URL', async () => {
    const { name } = await create(client);
    expect(await cli(['open', name, '--print'])).toMatchObject({
      code: 1,
      err: `berth: the deployment "${name}" has no URL yet; next: berth deployments get ${name}\n`,
    });
  });
});
