/** `berth deploy NAME FOLDER` against a server that answers like the API. */
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { createClient } from '../../../../../src/cli/client/client.ts';
import type { Context } from '../../../../../src/cli/client/context.ts';
import { deployFolder } from '../../../../../src/cli/client/deploy/deploy-folder.ts';
import { command } from '../fake-api.ts';
import { namesIn } from './archives.ts';
import { api, app, ID, LOG, lines, list, MINE, ONE, old, revision, UPLOAD, uploads } from './deploy-api.ts';
import { emptyFolder, folderWith } from './folders.ts';

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
