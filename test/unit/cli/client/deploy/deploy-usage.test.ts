/** `berth deploy --dry-run`, and wrong usage of `berth deploy`. */
import { describe, expect, test } from 'vitest';
import { command } from '../fake-api.ts';
import { api, app } from './deploy-api.ts';
import { folderWith } from './folders.ts';

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

test('names files that often contain secrets when it sends them', async () => {
  const secret = ['.npmrc', 'a/.netrc', 'a/id_ed25519', 'tls/server.key', 'tls/server.pem'];
  const others = ['a/id_ed25519.pub', 'keys.js', 'npmrc'];
  const folder = folderWith(Object.fromEntries([...secret, ...others].map((path) => [path, ''])));
  const { err, out } = await command(['deploy', 'shop', folder, '--dry-run', '-o', 'name'], {});
  expect(out.trim().split('\n')).toEqual([...secret, ...others].sort());
  expect(err).toContain(
    `warning: sent, although such files often contain secrets: ${secret.join(', ')}. Exclude those with secrets in .berthignore\n`,
  );
});

describe('wrong usage', () => {
  test.each([
    [[], 'name a folder (. is the current one), --image or --ref'],
    [['--dry-run'], 'name a folder (. is the current one)'],
    [['--no-wait', '--file', 'new.yaml'], 'name a folder (. is the current one)'],
    [['.', '--image', 'a'], 'a folder excludes --image'],
    [['.', '--ref', 'main'], 'a folder excludes --ref'],
    [['--image', 'a', '--dockerfile', 'Dockerfile'], "'--dockerfile"],
    [['--ref', 'main', '--include-env'], "'--include-env'"],
    [['--ref', 'main', '--no-limits'], "'--no-limits'"],
    [['--config', 'a', '--dockerfile', 'b'], "'--config"],
    [['--dry-run', '--timeout', '5'], "'--timeout"],
    [['--dry-run', '--no-wait'], "'--no-wait'"],
    [['.', '--no-wait', '--timeout', '5'], '--timeout needs a wait'],
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
