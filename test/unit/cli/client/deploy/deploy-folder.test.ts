/** `berth deploy NAME FOLDER` against a server that answers like the API. */
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { createClient } from '../../../../../src/cli/client/client.ts';
import type { Context } from '../../../../../src/cli/client/context.ts';
import { deployFolder } from '../../../../../src/cli/client/deploy/deploy-folder.ts';
import { type Call, command, type FakeAnswer, fakeApi } from '../fake-api.ts';
import { namesIn } from './archives.ts';
import { emptyFolder, folderWith } from './folders.ts';

const ID = '0196f0a0-5c1e-7b3a-9d51-000000000001';
const MINE = '0196f0a0-5c1e-7b3a-9d51-000000000002';
const OLD = '0196f0a0-5c1e-7b3a-9d51-000000000003';
const ONE = `/v2/deployments/${ID}`;
const UPLOAD = `POST ${ONE}/sources`;

const deployment = (more: object = {}) => ({
  id: ID,
  name: 'shop',
  source: 'internal_image',
  status: 'READY',
  remote_reconciled: true,
  latest_revision_id: MINE,
  active_revision_id: MINE,
  source_config: {},
  source_revision_config: {},
  effective_resource_spec: { max_scale: 1 },
  secrets: [],
  url: null,
  generation: 1,
  observed_generation: 1,
  created_at: '2026-01-15T09:30:00.000Z',
  updated_at: '2026-01-15T09:30:00.000Z',
  conditions: [{ type: 'Ready', status: 'True', reason: 'Ready', message: '' }],
  ...more,
});
const revision = (more: object = {}) => ({ id: MINE, number: 3, status: 'AWAITING_BUILD', ...more });
const old = () => deployment({ latest_revision_id: OLD, active_revision_id: OLD });
const list = (...resources: object[]): FakeAnswer => [200, { resources, offset: resources.length }];
const LOG = [
  { time: '2026-01-15T09:30:00.000Z', step: 'source', attempt: 1, text: 'unpacked 2 files' },
  { time: '2026-01-15T09:30:01.000Z', step: 'image', attempt: 1, text: 'pushed\u001b[2J' },
  { end: 'The log of the build is complete.', reason: 'complete' },
];
const lines = (objects: readonly object[]) =>
  Buffer.from(objects.map((line) => `${JSON.stringify(line)}\n`).join(''));

/** @param answers by the line of the call. Default: an API in which everything succeeds */
function api(answers: Readonly<Record<string, (call: Call) => FakeAnswer>> = {}) {
  const all: Record<string, (call: Call) => FakeAnswer> = {
    'GET /v2/deployments': () => list(old()),
    'POST /v2/deployments': () => [201, deployment({ latest_revision_id: null, active_revision_id: null })],
    [UPLOAD]: () => [201, revision()],
    [`GET ${ONE}`]: () => [200, deployment()],
    [`GET ${ONE}/revisions/${MINE}`]: () => [200, revision({ status: 'DEPLOYED' })],
    [`GET ${ONE}/revisions/${MINE}/build-logs`]: () => [200, lines(LOG)],
    ...answers,
  };
  return fakeApi((call) => all[call.line]?.(call));
}

const app = () => folderWith({ 'server.js': 'listen()', 'x/y': '', '.env': 'A=1', '.gitignore': 'z\n' });
const uploads = (calls: readonly Call[]) => calls.filter(({ line }) => line === UPLOAD);

test('uploads the folder, prints the log of the build, and waits until the revision serves', async () => {
  const { url, calls } = await api();
  const { code, out, err } = await command(['deploy', 'shop', app(), '-o', 'json'], { url });
  expect(code, err).toBe(0);
  const [sent, ...others] = uploads(calls);
  expect(others).toEqual([]);
  const body = sent?.body as Buffer;
  expect(sent?.headers).toMatchObject({
    'content-type': 'application/gzip',
    'content-length': String(body.length),
    'content-digest': `sha-256=:${createHash('sha256').update(body).digest('base64')}:`,
  });
  expect([...(sent?.query ?? [])]).toEqual([]);
  expect(await namesIn(body)).toEqual(['.gitignore', 'server.js', 'x/y']);
  expect(calls.map(({ line }) => line)).not.toContain('POST /v2/deployments');
  expect(JSON.parse(out)).toMatchObject({ id: ID, latest_revision_id: MINE });
  expect(err).toMatch(/^warning: left out, because such files often contain secrets: \.env\./m);
  expect(err).toMatch(/^packed 3 files, \d+ B, packed \d+ B$/m);
  expect(err).toContain('created revision 3\nsource | unpacked 2 files\nimage | pushed [2J\n');
  expect(err).toContain('shop is READY with its latest revision active');
});

test('sends the settings of the build', async () => {
  const { url, calls } = await api();
  const settings = ['--config', './x/y', '--install-command', 'npm ci', '--build-command', 'npm run build'];
  expect(await command(['deploy', 'shop', app(), ...settings], { url })).toMatchObject({ code: 0 });
  expect(Object.fromEntries(uploads(calls)[0]?.query ?? [])).toEqual({
    workflow_config_path: 'x/y',
    install_command: 'npm ci',
    build_command: 'npm run build',
  });
});

describe('a deployment that does not exist', () => {
  const missing = { 'GET /v2/deployments': () => list() };

  test('is created, with the fields of --file', async () => {
    const { url, calls } = await api(missing);
    const file = join(
      folderWith({ 'new.yaml': 'source_revision_config: {port: 80}\nsecrets: []\n' }),
      'new.yaml',
    );
    const { code, err } = await command(['deploy', 'shop', app(), '-f', file], { url });
    expect(code, err).toBe(0);
    const created = calls.find(({ line }) => line === 'POST /v2/deployments');
    expect(created?.body).toEqual({
      name: 'shop',
      source: 'internal_image',
      source_config: {},
      source_revision_config: { port: 80 },
      secrets: [],
    });
    expect(created?.headers['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/);
    expect(err).toContain('created the deployment shop\n');
  });

  test('stays when the upload is rejected, and a line says so', async () => {
    const reason = 'The platform has no registry that asks the hub.';
    const { url } = await api({ ...missing, [UPLOAD]: () => [409, { detail: reason }] });
    const { code, err } = await command(['deploy', 'shop', app()], { url });
    expect(code).toBe(1);
    expect(err).toContain('the deployment shop exists now, without a revision\n');
    expect(err).toContain(`berth: 409: ${reason}`);
  });

  test('is not created when the folder cannot be sent', async () => {
    const { url, calls } = await api(missing);
    const folder = folderWith({ a: { link: '/etc/passwd' } });
    expect(await command(['deploy', 'shop', folder], { url })).toMatchObject({
      code: 2,
      err: expect.stringContaining('failed to pack a: it is a link out of the folder'),
    });
    expect(calls).toEqual([]);
  });

  test('is not created when the word is an id', async () => {
    const { url, calls } = await api({ ...missing, [`GET ${ONE}`]: () => undefined });
    expect(await command(['deploy', ID, app()], { url })).toMatchObject({ code: 1 });
    expect(calls.map(({ line }) => line)).not.toContain('POST /v2/deployments');
  });

  test.each(['name: other', 'source: git_host'])('is not created when --file has %s', async (line) => {
    const { url, calls } = await api(missing);
    const file = join(folderWith({ 'new.yaml': line }), 'new.yaml');
    expect(await command(['deploy', 'shop', app(), '-f', file], { url })).toMatchObject({ code: 2 });
    expect(calls).toEqual([]);
  });

  test('is created when another one with the name is being deleted', async () => {
    const { url, calls } = await api({
      'GET /v2/deployments': () => list({ ...old(), status: 'AWAITING_DELETE' }),
    });
    expect(await command(['deploy', 'shop', app()], { url })).toMatchObject({ code: 0 });
    expect(calls.map(({ line }) => line)).toContain('POST /v2/deployments');
  });
});

test.each([
  ['external_image', '--image IMAGE'],
  ['git_host', '--ref REF'],
])('names the option for a deployment with the source %s', async (source, option) => {
  const { url, calls } = await api({ 'GET /v2/deployments': () => list({ ...old(), source }) });
  const { code, err } = await command(['deploy', 'shop', app()], { url });
  expect(code).toBe(1);
  expect(err).toContain(`its source is ${source}; next: berth deploy shop ${option}`);
  expect(uploads(calls)).toEqual([]);
});

describe('an upload', () => {
  test.each<[string, FakeAnswer]>([
    ['the connection is cut off', 'cut off'],
    ['the API is busy', [503, { detail: 'busy' }]],
    ['a gateway has no backend', [502, 'no backend']],
    ['a gateway does not get a response', [504, 'late']],
    ['the API waited too long', [408, { detail: 'late' }]],
  ])('is repeated with the same bytes when %s', async (_what, first) => {
    const answers = [first];
    const { url, calls } = await api({ [UPLOAD]: () => answers.shift() ?? [201, revision()] });
    const { code, err } = await command(['deploy', 'shop', app(), '--no-wait'], { url });
    expect(code, err).toBe(0);
    const bodies = uploads(calls).map(({ body }) => (body as Buffer).toString('base64'));
    expect(bodies).toHaveLength(2);
    expect(new Set(bodies).size).toBe(1);
  });

  test('is repeated while the API stores the previous try, but not when it rejects the first one', async () => {
    const conflict: FakeAnswer = [409, { detail: 'The same upload is being stored.' }];
    const answers: FakeAnswer[] = ['cut off', conflict, [201, revision()], conflict];
    const { url, calls } = await api({ [UPLOAD]: () => answers.shift() });
    expect(await command(['deploy', 'shop', app(), '--no-wait'], { url })).toMatchObject({ code: 0 });
    expect(await command(['deploy', 'shop', app(), '--no-wait'], { url })).toMatchObject({ code: 1 });
    expect(uploads(calls)).toHaveLength(4);
  });

  test('ends with the exit code 3 when the API stays busy', async () => {
    const { url, calls } = await api({ [UPLOAD]: () => [503, { detail: 'busy' }] });
    expect(await command(['deploy', 'shop', app()], { url })).toMatchObject({ code: 3 });
    expect(uploads(calls)).toHaveLength(4);
  });

  test('is not repeated when the API rejects an entry, and names the entry', async () => {
    const detail = [{ loc: ['body', 'x/y'], msg: 'the entry is a device', type: 'entry_type' }];
    const { url, calls } = await api({ [UPLOAD]: () => [400, { detail }] });
    const { code, err } = await command(['deploy', 'shop', app()], { url });
    expect(code).toBe(1);
    expect(err).toContain('body.x/y: the entry is a device');
    expect(uploads(calls)).toHaveLength(1);
  });

  test('of the same folder creates no revision, and prints no log of a build that has ended', async () => {
    const { url, calls } = await api({
      'GET /v2/deployments': () => list(deployment()),
      [UPLOAD]: () => [200, revision({ status: 'DEPLOYED' })],
    });
    const { code, err } = await command(['deploy', 'shop', app()], { url });
    expect(code, err).toBe(0);
    expect(calls.filter(({ line }) => line.endsWith('/build-logs'))).toEqual([]);
    expect(err).toContain('revision 3 has the same files and settings, so no other one was created\n');
  });
});

test('returns after the upload with --no-wait, and names the command that follows the build', async () => {
  const { url, calls } = await api();
  const { code, err } = await command(['deploy', 'shop', app(), '--no-wait'], { url });
  expect(code).toBe(0);
  expect(err).toContain('next: berth revisions build-logs shop 3 --follow\n');
  expect(calls.at(-1)?.line).toBe(`GET ${ONE}`);
});

test('ends with the exit code 1 when the build fails', async () => {
  const { url } = await api({
    [`GET ${ONE}`]: () => [200, old()],
    [`GET ${ONE}/revisions/${MINE}`]: () => [200, revision({ status: 'BUILD_FAILED' })],
    [`GET ${ONE}/revisions/${MINE}/explain`]: () => [
      200,
      { summary: 'The build failed.', causes: [], remedy: null, effects: [] },
    ],
  });
  const { code, err } = await command(['deploy', 'shop', app()], { url });
  expect(code).toBe(1);
  expect(err).toContain('revision 3: BUILD_FAILED. The build failed.');
});

test('waits without the log when it cannot be read', async () => {
  const { url } = await api({ [`GET ${ONE}/revisions/${MINE}/build-logs`]: () => [403, { detail: 'No.' }] });
  const { code, err } = await command(['deploy', 'shop', app()], { url });
  expect(code, err).toBe(0);
  expect(err).toContain('failed to read the log of the build: 403: No.\n');
});

/** Runs the command with a signal that the test can abort. */
function interruptible(url: string) {
  const stop = new AbortController();
  const notes: string[] = [];
  const context: Context = {
    client: createClient({ url, apiKey: 'key', signal: stop.signal }),
    format: 'json',
    print: () => undefined,
    note: (text) => void notes.push(text),
    stopped: stop.signal,
  };
  return { stop, notes, context };
}

describe('after Ctrl-C', () => {
  const options = { includeEnv: false, limits: true, wait: true };

  test('says that the build continues, and how to follow it', async () => {
    let left = 0;
    const { url } = await api({
      [`GET ${ONE}/revisions/${MINE}/build-logs`]: () => {
        left += 1;
        if (left === 2) stop.abort();
        return [200, lines([LOG[0] ?? {}, { end: 'More lines may exist.', reason: 'continue' }])];
      },
    });
    const { stop, notes, context } = interruptible(url);
    await deployFolder(context, 'shop', app(), options);
    expect(notes.at(-1)).toBe(
      'stopped: the build of revision 3 continues; next: berth revisions build-logs shop 3 --follow',
    );
  });

  test('during the upload, removes the temporary file and sends nothing else', async () => {
    const { url, calls } = await api({
      [UPLOAD]: () => {
        stop.abort();
        return 'cut off';
      },
    });
    const { stop, context } = interruptible(url);
    const folder = app();
    const temporary = emptyFolder();
    vi.stubEnv('TMPDIR', temporary);
    await expect(deployFolder(context, 'shop', folder, options)).rejects.toThrow();
    vi.unstubAllEnvs();
    expect(readdirSync(temporary)).toEqual([]);
    expect(uploads(calls)).toHaveLength(1);
  });
});

describe('--dry-run', () => {
  test('lists what would be sent, without an API and without a key', async () => {
    const nothing = { url: undefined, apiKey: undefined };
    const table = await command(['deploy', 'shop', app(), '--dry-run'], nothing);
    expect(table, table.err).toMatchObject({ code: 0 });
    expect(table.out).toMatch(/^ +SIZE {2}PATH\n +2 B {2}\.gitignore\n +8 B {2}server\.js\n +0 B {2}x\/y\n$/);
    expect(table.err).toMatch(/^3 files, 10 B, packed \d+ B, sha256:[0-9a-f]{64}\. Nothing was sent$/m);
    const { out } = await command(
      ['deploy', 'shop', app(), '--dry-run', '-o', 'json', '--include-env'],
      nothing,
    );
    expect(JSON.parse(out)).toMatchObject({
      entries: [
        { path: '.env', size: 3, executable: false },
        { path: '.gitignore', size: 2, executable: false },
        { path: 'server.js', size: 8, executable: false },
        { path: 'x/y', size: 0, executable: false },
      ],
      left_out: [],
      bytes: 13,
      digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    });
  });

  test('names what is left out', async () => {
    const folder = folderWith({ '.gitignore': 'dist/\n', 'dist/a': '', '.env': '', a: '' });
    const { err } = await command(['deploy', 'shop', folder, '--dry-run', '-o', 'name'], {});
    expect(err).toContain('left out by .gitignore or .berthignore: dist/\n');
    expect(err).toContain('warning: left out, because such files often contain secrets: .env.');
  });
});

describe('wrong usage', () => {
  test.each([
    [['.', '--image', 'a'], 'a folder excludes --image'],
    [['.', '--ref', 'main'], 'a folder excludes --ref'],
    [['--image', 'a', '--dockerfile', 'Dockerfile'], "'--dockerfile"],
    [['--ref', 'main', '--include-env'], "'--include-env'"],
    [['--ref', 'main', '--no-limits'], "'--no-limits'"],
    [['--config', 'a', '--dockerfile', 'b'], "'--config"],
    [['--dry-run', '--timeout', '5'], "'--timeout"],
    [['--dry-run', '--no-wait'], "'--no-wait'"],
    [['--no-wait', '--timeout', '5'], '--timeout needs a wait'],
  ])('%j is rejected before anything is read', async (words, reason) => {
    const { url, calls } = await api();
    const { code, err } = await command(['deploy', 'shop', ...words], { url });
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(reason) });
    expect(calls).toEqual([]);
  });

  test.each([
    ['nothing', 'is not a file of the folder'],
    ['.env', 'is left out of the upload'],
  ])('--dockerfile %s is rejected, because it %s', async (path, reason) => {
    const { url, calls } = await api();
    const { code, err } = await command(['deploy', 'shop', app(), '--dockerfile', path], { url });
    expect({ code, err }).toEqual({
      code: 2,
      err: expect.stringContaining(`--dockerfile: ${path} ${reason}`),
    });
    expect(calls).toEqual([]);
  });
});
