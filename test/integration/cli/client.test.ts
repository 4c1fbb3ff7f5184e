/** `berth deployments` and `berth revisions`, as an API user calls them, against a whole Berth. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { smallDeployment, startWholeBerth, type WholeBerth } from '../harness/berth.ts';
import { main, type Run, runProgram } from './cli.ts';

let berth: WholeBerth;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-client-'));
  berth = await startWholeBerth('client');
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await berth?.stop();
});

/** Runs `berth …`; `env` replaces what the shell of a user would have set. */
function cli(
  words: readonly string[],
  options: { input?: string; env?: Record<string, string> } = {},
): Promise<Run> {
  const usual = { BERTH_URL: berth.process().url, BERTH_API_KEY: berth.apiKey };
  return runProgram(words, { ...options, env: { HOME: folder, ...(options.env ?? usual) } });
}

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

test('creates a deployment from YAML, waits for it, patches, rolls back, explains and deletes it', async () => {
  const yaml = file(
    'shop.yaml',
    `name: shop
source: external_image
source_config: {}
source_revision_config:
  image_uri: registry.example/shop/web:1.0.0
secrets:
  - { name: TOKEN, value: canary-5521 }
`,
  );
  const made = await cli(['deployments', 'create', '-f', yaml, '--wait']);
  expect(made, made.err).toMatchObject({ code: 0 });
  expect(made.err).toContain('shop is READY with its latest revision active');
  expect(made.out).toMatch(/^Status: +READY$/m);
  expect(made.out).toContain('TOKEN=**********');
  expect(made.out + made.err).not.toContain('canary-5521');

  const next = JSON.stringify({ source_revision_config: { image_uri: 'registry.example/shop/web:1.1.0' } });
  const patched = await cli(['deployments', 'patch', 'shop', '-f', '-', '--wait', '-o', 'json'], {
    input: next,
  });
  expect(patched, patched.err).toMatchObject({ code: 0 });
  expect(JSON.parse(patched.out)).toMatchObject({
    image_version: '1.1.0',
    secrets: [{ value: '**********' }],
  });

  const shown = await cli(['deployments', 'get', 'shop', '-o', 'json', '--show-secrets']);
  expect(JSON.parse(shown.out)).toMatchObject({ secrets: [{ value: 'canary-5521' }] });

  const rolled = await cli(['revisions', 'rollback', 'shop', '1', '--wait']);
  expect(rolled, rolled.err).toMatchObject({ code: 0 });
  expect(rolled.err).toContain('shop is READY with its latest revision active');
  expect(rolled.out).toMatch(/^Status: +DEPLOYED$/m);
  expect(rolled.out).toMatch(/^Number: +3$/m);
  expect(await cli(['deployments', 'watch', 'shop'])).toMatchObject({ code: 0 });
  expect((await cli(['revisions', 'redeploy', 'shop'])).out).toMatch(/^Number: +4$/m);
  expect(await cli(['deployments', 'watch', 'shop'])).toMatchObject({ code: 0 });

  const revisions = (await cli(['revisions', 'list', 'shop'])).out.split('\n');
  expect(revisions[0]).toMatch(/^NUMBER +STATUS +RUNS +REASON +AGE +ID$/);
  expect(revisions[1]).toMatch(/^4 +DEPLOYED \(active\) +registry\.example\/shop\/web:1\.0\.0/);
  expect((await cli(['revisions', 'get', 'shop', '2'])).out).toContain('registry.example/shop/web:1.1.0');
  const why = await cli(['revisions', 'explain', 'shop', '-o', 'yaml']);
  expect(why.out).toMatch(/^serves: yes$/m);

  const list = (await cli(['deployments', 'list', '--name-contains', 'sho'])).out.split('\n');
  expect(list[0]).toMatch(/^NAME +STATUS +READY +SOURCE +RUNS +URL +AGE +ID$/);
  expect(list[1]).toMatch(/^shop +READY +yes +external_image +registry/);
  const { id } = JSON.parse((await cli(['deployments', 'get', 'shop', '-o', 'json'])).out) as { id: string };
  expect((await cli(['deployments', 'get', id])).out).toMatch(/^Name: +shop$/m);

  const deployed = await cli(['deploy', 'shop', '--image', 'registry.example/shop/web:1.2.0', '-o', 'json']);
  expect(deployed, deployed.err).toMatchObject({ code: 0 });
  expect(deployed.err).toMatch(/^shop: \S+/m);
  expect(deployed.err).toContain('shop is READY with its latest revision active');
  expect(JSON.parse(deployed.out)).toMatchObject({ status: 'READY', image_version: '1.2.0' });

  const deleted = await cli(['deployments', 'delete', 'shop', '--delete-tracing-project', '--wait', '--yes']);
  expect(deleted, deleted.err).toMatchObject({ code: 0, out: 'shop is deleted\n' });
  expect(await cli(['deployments', 'get', 'shop'])).toMatchObject({
    code: 1,
    err: 'berth: 404: there is no deployment "shop"; next: berth deployments list\n',
  });
  // Four rollouts, and a process for each command.
}, 300_000);

test('exits with 130 when Ctrl-C interrupts a command that waits for a response', async () => {
  const asked = Promise.withResolvers<void>();
  const silent = createServer(() => asked.resolve()).listen(0, '127.0.0.1');
  onTestFinished(() => {
    silent.closeAllConnections();
    silent.close();
  });
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const env = {
    PATH: process.env['PATH'] ?? '',
    BERTH_URL: `http://127.0.0.1:${port}`,
    BERTH_API_KEY: 'key',
  };
  const child = spawn(process.execPath, [main, 'deployments', 'list'], { env });
  await asked.promise;
  child.kill('SIGINT');
  expect(await once(child, 'close')).toEqual([130, null]);
});

test('ends a wait with the exit code 1, the cause and a remedy when the revision fails', async () => {
  const body = JSON.stringify(smallDeployment('broken', { image: 'registry.test/app:fail-crash-loop' }));
  const made = await cli(['deployments', 'create', '-f', '-', '--wait', '--timeout', '90'], { input: body });
  expect(made, made.err).toMatchObject({ code: 1 });
  expect(made.err).toMatch(/^revision 1: DEPLOY_FAILED\. \w/m);
  const listed = async () =>
    (await cli(['deployments', 'list', '--name-contains', 'broken'])).out.split('\n')[1];
  // Ready says it a moment later.
  await expect.poll(listed, { timeout: 30_000 }).toMatch(/^broken +READY +CrashLoop +external_image/);
  const again = await cli(['revisions', 'redeploy', 'broken', '--wait', '--timeout', '90', '-o', 'json']);
  expect(again, again.err).toMatchObject({ code: 1 });
  expect(again.err).toMatch(/^revision 2: DEPLOY_FAILED\. \w/m);
  expect(again.err).toMatch(
    /^CrashLoop: component api, Pod broken-\S+-api-\S+, container app, exit code \d+: \S/m,
  );
  expect(again.err).toMatch(/^next: berth revisions explain broken$/m);
  expect(JSON.parse(again.out)).toMatchObject({ number: 2, status: 'DEPLOY_FAILED' });
  const rolled = await cli([
    'revisions',
    'rollback',
    'broken',
    '1',
    '--wait',
    '--timeout',
    '90',
    '-o',
    'name',
  ]);
  expect(rolled, rolled.err).toMatchObject({ code: 1, out: '3\n' });
  expect(rolled.err).toMatch(
    /^CrashLoop: component api, Pod broken-\S+-api-\S+, container app, exit code \d+: \S/m,
  );
  await cli(['deployments', 'delete', 'broken', '--wait', '--yes']);
}, 300_000);

test('reports a timeout and fails when a wait takes too long', async () => {
  const body = JSON.stringify(smallDeployment('slow', { image: 'registry.test/app:fail-crash-loop' }));
  expect(await cli(['deployments', 'create', '-f', '-'], { input: body })).toMatchObject({ code: 0 });
  const short = await cli(['revisions', 'rollback', 'slow', '1', '--wait', '--timeout', '0.2']);
  expect(short.code).not.toBe(0);
  expect(short.err).toMatch(/timed out: not settled after 0\.2 seconds/);
  expect(short.out).toMatch(/^Number: +2$/m);
  await cli(['deployments', 'delete', 'slow', '--wait', '-y']);
});

describe('a failed command', () => {
  test('prints every field that the API rejects, and exits with 1', async () => {
    const body = JSON.stringify({ ...smallDeployment('x'), replicas: 1, secrets: [{ name: 'A' }] });
    const refused = await cli(['deployments', 'create', '-f', '-'], { input: body });
    expect(refused.code).toBe(1);
    expect(refused.err).toMatch(/^berth: 422: rejected \(request [0-9a-f-]{36}\)$/m);
    expect(refused.err).toContain('  body.secrets[0].value: is required');
    expect(refused.err).toContain('  body.replicas: is not a known field');
  });

  test.each([
    [['deployments', 'nonsense']],
    [['deployments', 'get']],
    [['deployments', 'get', 'a', 'b']],
    [['deployments', 'create']],
    [['deployments', 'create', '-f', '/nowhere/at-all']],
    [['deployments', 'list', '-o', 'xml']],
    [['deployments', 'list', '--nonsense']],
    [['deployments', 'list', '--wait']],
    [['revisions', 'list', 'shop', '--wait']],
    [['logs', 'shop', '--wait']],
    [['deployments', 'watch', 'a', '--timeout', 'soon']],
    [['revisions', 'rollback', 'shop']],
    [['revisions', 'list', 'shop', '1']],
    [['deployments', 'list', '--url', 'ftp://example.com']],
    [['deployments', 'delete', 'shop', '--timeout', '5']],
    [['deployments', 'create', '-f', '--wait']],
    [['revisions', 'rollback', 'shop', '1', '--wait=yes']],
    [['deploy', 'shop']],
    [['deploy', 'shop', '--image', 'a', '--ref', 'b']],
    [['scale', 'shop']],
    [['scale', 'shop', '--min', '-1']],
    [['scale', 'shop', '--min', '3', '--max', '2']],
    [['tags', 'set', 'shop', 'no-value']],
    [['tags', 'set', 'shop']],
    [['listeners', 'update', 'a']],
    [['tenants', 'update', 'a', '--cpu', 'many']],
    [['api-keys', 'create', 'a']],
    [['api-keys', 'create', 'a', '--scopes', 'admin', '--expires', 'soon']],
    [['events', '--limit', '0']],
    [['whoami', '--context', 'missing']],
    [['context', 'use', 'missing']],
    [['login', '--url', 'ftp://example.com']],
    [['login', '--url', 'http://127.0.0.1:1', '--name', 'a/b']],
    [['login', '--url', 'http://127.0.0.1:1']],
    [['completion', 'tcsh']],
  ])('exits with 2 when the command line is invalid: %j', async (words) => {
    const { code, err } = await cli(words);
    expect(err).toMatch(/^berth: .+; see berth( [a-z-]+)* --help\n$/);
    expect(code).toBe(2);
  });

  test('exits with 2 when the address or the key is missing', async () => {
    const without = await cli(['deployments', 'list'], { env: {} });
    expect(without).toMatchObject({ code: 2, err: expect.stringContaining('BERTH_URL is not set') });
    const keyless = await cli(['deployments', 'list'], { env: { BERTH_URL: 'http://127.0.0.1:1' } });
    expect(keyless).toMatchObject({ code: 2, err: expect.stringContaining('BERTH_API_KEY is not set') });
  });

  test('does not quote a file that is not YAML', async () => {
    const path = file('bad.yaml', 'secrets: [canary-5521');
    const { code, err } = await cli(['deployments', 'create', '-f', path]);
    expect(code).toBe(2);
    expect(err).toContain(path);
    expect(err).not.toContain('canary-5521');
  });
});

test('repeats a request with the same Idempotency-Key when its response was lost', async () => {
  const keys: unknown[] = [];
  const server = createServer((request, response) => {
    keys.push(request.headers['idempotency-key']);
    if (keys.length === 1) return void request.socket.destroy();
    request
      .resume()
      .on('end', () =>
        response.writeHead(409, { 'content-type': 'application/json' }).end('{"detail":"seen"}'),
      );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const env = { BERTH_URL: `http://127.0.0.1:${port}`, BERTH_API_KEY: 'key' };
  const made = await cli(['deployments', 'create', '-f', '-'], { input: '{}', env });
  server.close();
  expect(made).toMatchObject({ code: 1, err: 'berth: 409: seen\n' });
  expect(keys).toHaveLength(2);
  expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
  expect(keys[1]).toBe(keys[0]);
});
