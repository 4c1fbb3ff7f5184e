/** `berth login`, `berth context` and `berth whoami` against a running API. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { ALL_SCOPES, type ApiFixture, type Client, startApi } from '../harness/api.ts';
import { hasTmux, main, terminal as openTerminal, runProgram } from './cli.ts';

let api: ApiFixture;
let url: string;
let admin: Client;
let reader: Client;
let home: string;
beforeAll(async () => {
  api = await startApi();
  url = await api.app.listen({ host: '127.0.0.1', port: 0 });
  admin = await api.tenant();
  reader = await api.client(admin.tenantId, ['deployments:read']);
});
afterAll(() => api?.stop());
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'berth-home-'));
  return () => rmSync(home, { recursive: true, force: true });
});

const cli = (words: readonly string[], input = '', env: Readonly<Record<string, string>> = {}) =>
  runProgram(words, { input, env: { HOME: home, ...env } });
const login = (name: string, key: string, ...more: string[]) =>
  cli(['login', '--url', url, '--name', name, ...more], `${key}\n`);
const folder = () => join(home, '.config/berth');
const file = () => join(folder(), 'contexts.json');
const stored = () => JSON.parse(readFileSync(file(), 'utf8')) as { current: string | null; contexts: object };

test('stores a context that only the user can read, and uses it without the environment', async () => {
  const done = await login('test', admin.key);
  expect(done, done.err).toMatchObject({ code: 0, out: '' });
  expect(done.err).toContain(`stored the context test in ${file()}`);
  expect(done.err).not.toContain(admin.key);
  expect(statSync(file()).mode & 0o777).toBe(0o600);
  expect(statSync(folder()).mode & 0o777).toBe(0o700);
  expect(readdirSync(folder())).toEqual(['contexts.json']);
  expect(stored()).toEqual({ current: 'test', contexts: { test: { url, api_key: admin.key } } });
  expect(await cli(['deployments', 'list', '-o', 'json'])).toMatchObject({ code: 0, out: '[]\n' });
});

test('names a context by the host of the URL, reads the key from a file, and honours XDG_CONFIG_HOME', async () => {
  const keyFile = join(home, 'key');
  writeFileSync(keyFile, `${admin.key}\n`);
  const env = { XDG_CONFIG_HOME: join(home, 'xdg') };
  expect(await cli(['login', '--url', url, '--key-file', keyFile], '', env)).toMatchObject({ code: 0 });
  const listed = await cli(['context', 'list', '-o', 'json'], '', env);
  expect(JSON.parse(listed.out)).toEqual([{ name: '127.0.0.1', current: true, url, tenant_id: null }]);
  expect(readdirSync(home)).not.toContain('.config');
});

test('stores nothing when the API rejects the key or cannot be reached', async () => {
  const rejected = await login('test', 'berth_wrong-canary-5521');
  expect(rejected).toMatchObject({ code: 1 });
  expect(rejected.err).toMatch(/^berth: 401: .*; next: berth login/);
  expect(rejected.err).not.toContain('canary');
  const unreachable = await cli(['login', '--url', 'http://127.0.0.1:1'], 'key\n');
  expect(unreachable).toMatchObject({ code: 3 });
  expect(readdirSync(home)).toEqual([]);
}, 60_000);

test('warns before it sends a key without encryption to another machine', async () => {
  // Linux connects to this machine, but the address does not say so.
  const elsewhere = url.replace('127.0.0.1', '0.0.0.0');
  const { code, err } = await cli(['login', '--url', elsewhere, '--name', 'test'], `${admin.key}\n`);
  expect(code, err).toBe(0);
  expect(err).toMatch(
    /^berth: the URL begins with http, so others on the network can read the API key or token; next: /,
  );
  expect((await login('test', admin.key)).err).toMatch(/^stored the context/);
});

test('says after a login which variables replace the context', async () => {
  const words = ['login', '--url', url, '--name', 'test'];
  const after = async (env: Record<string, string>) => {
    const { code, err } = await cli(words, `${admin.key}\n`, env);
    expect(code, err).toBe(0);
    return err.split('\n').slice(1).join('\n');
  };
  expect(await after({})).toBe('');
  // The stored key belongs to this URL.
  expect(await after({ BERTH_URL: url })).toBe('');
  expect(await cli(['deployments', 'list'], '', { BERTH_URL: url })).toMatchObject({ code: 0 });
  expect(await after({ BERTH_API_KEY: 'key' })).toBe(
    'commands fail while BERTH_API_KEY is set without BERTH_URL; next: unset BERTH_API_KEY, or pass --context test\n',
  );
  expect(await after({ BERTH_URL: url, BERTH_API_KEY: 'key' })).toMatch(
    /^BERTH_URL and BERTH_API_KEY take precedence over the context; next: unset BERTH_URL BERTH_API_KEY, /,
  );
}, 60_000);

test('lists, selects and deletes contexts, and never prints a key', async () => {
  await login('one', admin.key);
  await login('two', reader.key);
  const table = await cli(['context', 'list']);
  expect(table.out).toMatch(/^CURRENT +NAME +URL +TENANT$/m);
  expect(table.out).toMatch(new RegExp(`^\\* +two +${url}`, 'm'));
  expect(await cli(['context', 'list', '-o', 'name'])).toMatchObject({ out: 'one\ntwo\n' });
  expect(await cli(['context', 'use', 'one'])).toMatchObject({ code: 0 });
  expect(stored().current).toBe('one');
  const unknown = await cli(['context', 'use', 'three']);
  expect(unknown).toMatchObject({ code: 2 });
  expect(unknown.err).toContain('use one of one, two');
  const unanswered = await cli(['context', 'delete', 'one']);
  expect(unanswered).toMatchObject({ code: 2, err: expect.stringContaining('pass --yes') });
  expect(await cli(['context', 'delete', 'one', '--yes'])).toMatchObject({ code: 0 });
  expect(stored()).toMatchObject({ current: null });
  expect(Object.keys(stored().contexts)).toEqual(['two']);
  expect(table.out + table.err).not.toContain(reader.key);
});

test('stores a key of the platform, which has no tenant', async () => {
  const platform = await api.client(null, ALL_SCOPES);
  const done = await login('platform', platform.key);
  expect(done, done.err).toMatchObject({ code: 0 });
  expect(done.err).toContain('the key cannot read deployments of a tenant');
  const who = await cli(['whoami', '-o', 'json']);
  expect(JSON.parse(who.out)).toMatchObject({ scopes: [...ALL_SCOPES], reads_deployments: false });
});

test.each([
  ['login', '--url', 'http://127.0.0.1:1', '--key-file', '-'],
  ['deployments', 'create', '-f', '-', '--url', 'http://127.0.0.1:1'],
])(
  'ends at Ctrl-C when it reads standard input: %s',
  async (...words) => {
    const env = { PATH: process.env['PATH'] ?? '', HOME: home, BERTH_API_KEY: 'key' };
    const child = spawn(process.execPath, [main, ...words], { env });
    onTestFinished(() => void child.kill('SIGKILL'));
    child.stdin.write('first line');
    // The pipe is read when it is empty. Node shows this only by the time that it needs.
    await delay(3000);
    child.kill('SIGINT');
    expect(await once(child, 'close')).toEqual([130, null]);
  },
  30_000,
);

test('exits with 141 when the reader of its output has closed the pipe', async () => {
  const env = { PATH: process.env['PATH'] ?? '', HOME: home };
  const child = spawn(process.execPath, [main, '--help'], { env });
  child.stdout.destroy();
  expect(await once(child, 'close')).toEqual([141, null]);
});

describe('whoami', () => {
  test('shows the context and the scopes of an admin key', async () => {
    await login('test', admin.key);
    const { code, out } = await cli(['whoami', '-o', 'json']);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      context: 'test',
      url,
      scopes: [...ALL_SCOPES],
      tenant_id: admin.tenantId,
      reads_deployments: true,
    });
    expect(out).not.toContain(admin.key);
  });

  test('says what it cannot know when the key has no admin scope', async () => {
    await login('test', reader.key);
    const { code, out } = await cli(['whoami']);
    expect(code).toBe(0);
    expect(out).toMatch(/^Scopes: +not shown: only keys with the scope admin can read them$/m);
    expect(out).toMatch(/^Reads deployments: +yes$/m);
    expect(out).not.toContain(reader.key);
  });
});

describe('precedence', () => {
  test('uses the environment before the current context, and --context before the environment', async () => {
    await login('test', admin.key);
    const env = { BERTH_URL: url, BERTH_API_KEY: reader.key };
    const used = async (...words: string[]) =>
      JSON.parse((await cli(['whoami', '-o', 'json', ...words], '', env)).out) as Record<string, unknown>;
    expect(await used()).toMatchObject({ context: null, scopes: null });
    expect(await used('--context', 'test')).toMatchObject({ context: 'test', scopes: [...ALL_SCOPES] });
  });

  test('does not send a stored key to another API', async () => {
    await login('test', admin.key);
    const other = await cli(['deployments', 'list', '--url', 'http://127.0.0.1:1']);
    expect(other).toMatchObject({ code: 2 });
    expect(other.err).toContain(`the key of the context test is for ${url}`);
  });

  test('ignores a broken file when the environment is complete, and reports it otherwise', async () => {
    mkdirSync(folder(), { recursive: true });
    writeFileSync(file(), '{"contexts": canary-5521');
    const env = { BERTH_URL: url, BERTH_API_KEY: admin.key };
    expect(await cli(['deployments', 'list'], '', env)).toMatchObject({ code: 0 });
    const { code, err } = await cli(['deployments', 'list']);
    expect(code).toBe(1);
    expect(err).toContain('remove it and run berth login');
    expect(err).not.toContain('canary');
    // 1 would be a difference.
    const document = join(home, 'shop.yaml');
    writeFileSync(document, 'name: shop\n');
    expect(await cli(['diff', '-f', document])).toMatchObject({
      code: 2,
      err: err.replace('deployments list', 'diff'),
    });
  });
});

/** A terminal that runs `berth` with the home of the test. */
const terminal = (words: readonly string[]) => openTerminal(words, { HOME: home });

describe.skipIf(!hasTmux)('in a terminal', () => {
  test('reads the key without echo', async () => {
    const { type, press, screen } = terminal(['login', '--url', url, '--name', 'typed']);
    await expect.poll(screen, { timeout: 20_000 }).toContain('API key:');
    type(`x${admin.key}`);
    press('C-u');
    type(`${admin.key}y`);
    press('BSpace');
    press('Enter');
    await expect.poll(screen, { timeout: 20_000 }).toContain('exit code 0');
    expect(screen()).not.toContain(admin.key.slice(0, 12));
    expect(stored()).toMatchObject({ current: 'typed', contexts: { typed: { api_key: admin.key } } });
  }, 60_000);

  test('ends with 130 and stores nothing after Ctrl-C', async () => {
    const { type, press, screen } = terminal(['login', '--url', url]);
    await expect.poll(screen, { timeout: 20_000 }).toContain('API key:');
    type('abc');
    press('C-c');
    await expect.poll(screen, { timeout: 20_000 }).toContain('exit code 130');
    expect(readdirSync(home)).toEqual(['run.sh']);
  }, 60_000);

  test.each([
    ['n', 130, true],
    ['y', 0, false],
  ])(
    'asks before it deletes, and takes %j for an answer',
    async (answer, code, isKept) => {
      await login('test', admin.key);
      const { type, press, screen } = terminal(['context', 'delete', 'test']);
      await expect.poll(screen, { timeout: 20_000 }).toContain('Delete the context "test" and its API key');
      type(answer);
      press('Enter');
      await expect.poll(screen, { timeout: 20_000 }).toContain(`exit code ${code}`);
      expect('test' in stored().contexts).toBe(isKept);
    },
    60_000,
  );
});
