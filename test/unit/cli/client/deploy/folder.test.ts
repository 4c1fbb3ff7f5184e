/** Which entries of a folder are sent, and folders that cannot be sent. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readFolder } from '../../../../../src/cli/client/deploy/folder.ts';
import { LIMITS } from '../../../../../src/cli/client/deploy/limits.ts';
import { limitsOf } from '../../../../../src/cli/client/deploy/listing.ts';
import { emptyFolder, folderWith, pathsOf, read, withoutRoot } from './folders.ts';

const never = new AbortController().signal;

test('sends files and links, sorted by path, and whether files can be executed', async () => {
  const folder = folderWith({
    'b/z': 'zz',
    'b.txt': '',
    run: { program: '#!/bin/sh\n' },
    'b/up': { link: '../run' },
    link: { link: 'b' },
    broken: { link: 'nothing' },
  });
  const { root, entries, leftOut, environment } = await read(folder);
  expect(root).toBe(folder);
  expect(entries.map(({ path, size, isExecutable, target }) => [path, size, isExecutable, target])).toEqual([
    ['b.txt', 0, false, null],
    ['b/up', 0, false, '../run'],
    ['b/z', 2, false, null],
    ['broken', 0, false, 'nothing'],
    ['link', 0, false, 'b'],
    ['run', 10, true, null],
  ]);
  expect({ leftOut, environment }).toEqual({ leftOut: [], environment: [] });
});

test('never sends .git, also in folders below and as a file', async () => {
  const folder = folderWith({ '.git/config': '', 'a/.git': 'gitdir: ..', 'b/.git/config': '', 'b/c': '' });
  const { entries, leftOut } = await read(folder);
  expect(entries.map(({ path }) => path)).toEqual(['b/c']);
  expect(leftOut).toEqual([]);
});

describe('files .env*', () => {
  const files = { '.env': 'A=1', 'x/.env.local': '', '.envs/a': '', 'x/.envrc': '', app: '', env: '' };

  test('are left out', async () => {
    const { entries, leftOut } = await read(folderWith(files));
    expect(entries.map(({ path }) => path)).toEqual(['app', 'env']);
    expect(leftOut.map(({ path, reason }) => `${path} ${reason}`)).toEqual([
      '.env environment',
      '.envs/ environment',
      'x/.env.local environment',
      'x/.envrc environment',
    ]);
  });

  test('are sent with --include-env, even if .gitignore excludes the file', async () => {
    const folder = folderWith({ ...files, '.gitignore': '.env*\n' });
    const found = await read(folder, true);
    expect(found.environment).toEqual(['.env', 'x/.env.local', 'x/.envrc']);
    expect(found.leftOut).toEqual([{ path: '.envs/', reason: 'ignored' }]);
    expect(pathsOf(found)).toEqual(['.env', '.gitignore', 'app', 'env', 'x/.env.local', 'x/.envrc']);
  });

  test('are left out when .berthignore excludes them, also with --include-env', async () => {
    const folder = folderWith({ ...files, '.berthignore': '.env\n' });
    expect((await read(folder, true)).environment).toEqual(['.envs/a', 'x/.env.local', 'x/.envrc']);
  });

  test('are named when --include-env sends them, also those in folders .env*', async () => {
    const folder = folderWith({ ...files, 'y/.env.d/deep/b': '' });
    const { environment, leftOut } = await read(folder, true);
    expect(environment).toEqual(['.env', '.envs/a', 'x/.env.local', 'x/.envrc', 'y/.env.d/deep/b']);
    expect(leftOut).toEqual([]);
  });
});

describe('links', () => {
  test.each([
    ['a', '/etc/passwd', 'a link out of the folder'],
    ['a', '..', 'a link out of the folder'],
    ['x/a', '../../b', 'a link out of the folder'],
    ['x/a', './/.././../b', 'a link out of the folder'],
    ['x/a', 'b/../c', 'has .. after its start'],
  ])('%s -> %s is rejected', async (path, target, reason) => {
    const folder = folderWith({ [path]: { link: target }, file: '' });
    await expect(read(folder)).rejects.toThrow(new RegExp(`^failed to pack ${path}: .*${reason}`));
  });

  test('that are excluded may lead anywhere', async () => {
    const folder = folderWith({
      'node_modules/a': { link: '/etc' },
      '.gitignore': 'node_modules/',
      file: '',
    });
    expect(pathsOf(await read(folder))).toEqual(['.gitignore', 'file']);
  });

  test('to folders are not followed', async () => {
    const folder = folderWith({ 'a/file': '', 'a/self': { link: '.' }, 'a/up': { link: '..' } });
    expect(pathsOf(await read(folder))).toEqual(['a/file', 'a/self', 'a/up']);
  });

  test('the folder itself may be a link', async () => {
    const folder = folderWith({ 'a/file': '', b: { link: 'a' } });
    const found = await read(join(folder, 'b'));
    expect(found.root).toBe(join(folder, 'a'));
  });
});

test('leaves out fifos and sockets, and names them', async () => {
  const folder = folderWith({ file: '' });
  execFileSync('mkfifo', [join(folder, 'fifo')]);
  const server = createServer().listen(join(folder, 'socket'));
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => void server.close());
  const { entries, leftOut } = await read(folder);
  expect(entries.map(({ path }) => path)).toEqual(['file']);
  expect(leftOut).toEqual([
    { path: 'fifo', reason: 'not a file' },
    { path: 'socket', reason: 'not a file' },
  ]);
});

describe('names', () => {
  test.each([
    ['a\nb', /^failed to pack a b: its name has a control character/],
    ['a\u0007', /^failed to pack a : its name has a control character/],
    ['a\u0085b', /control character/],
    ['a\u2028b', /control character/],
    ['a\uFFFDb', /its name is not UTF-8/],
  ])('%j is rejected without control characters in the message', async (name, message) => {
    await expect(read(folderWith({ [name]: '' }))).rejects.toThrow(message);
  });

  test('that are not UTF-8 are rejected', async () => {
    const folder = emptyFolder();
    writeFileSync(Buffer.concat([Buffer.from(`${folder}/x`), Buffer.from([0xff, 0xfe])]), '');
    await expect(read(folder)).rejects.toThrow('its name is not UTF-8');
  });

  test('of more than 1024 bytes with their folders are rejected', async () => {
    const path = Array(5).fill('a'.repeat(250)).join('/');
    await expect(read(folderWith({ [path]: '' }))).rejects.toThrow('its path has more than 1024 bytes');
  });

  test('may contain spaces, quotes, backslashes and letters of all languages', async () => {
    const names = ["it's", 'a b', 'größe', '日本', 'a\\b', '$(x)', '-rf', '*'];
    expect(pathsOf(await read(folderWith(Object.fromEntries(names.map((name) => [name, ''])))))).toEqual(
      names.sort(),
    );
  });
});

test('names a folder that cannot be read', async () => {
  const folder = folderWith({ 'secret/a': '', file: '' });
  chmodSync(join(folder, 'secret'), 0);
  await withoutRoot(folder, () =>
    expect(read(folder)).rejects.toThrow(/^failed to pack secret\/: it cannot be read \(EACCES\)/),
  );
  chmodSync(join(folder, 'secret'), 0o700);
});

test('names a file with rules that cannot be read', async () => {
  const folder = folderWith({ 'a/.gitignore': 'b', 'a/b': '' });
  chmodSync(join(folder, 'a/.gitignore'), 0);
  await withoutRoot(folder, () =>
    expect(read(folder)).rejects.toThrow(/^failed to pack a\/\.gitignore: it cannot be read/),
  );
});

test.each([
  [
    'a folder that does not exist',
    (folder: string) => join(folder, 'nothing'),
    /failed to read the folder .*ENOENT/,
  ],
  ['a file', (folder: string) => join(folder, 'file'), /is not a folder/],
  ['a folder without files', (folder: string) => join(folder, 'empty'), /has no files to send/],
])('rejects %s', async (_what, path, message) => {
  const folder = folderWith({ file: '' });
  mkdirSync(join(folder, 'empty'));
  await expect(read(path(folder))).rejects.toThrow(message);
});

describe('limits', () => {
  test('names the folders with the most files when there are too many', async () => {
    const names = Array.from({ length: 30 }, (_, index) => `node_modules/${index}`);
    const folder = folderWith(Object.fromEntries([...names, 'a.js', 'src/b.js'].map((name) => [name, ''])));
    const limits = { ...LIMITS, entries: 20 };
    await expect(readFolder(folder, { includeEnv: false, stopped: never, limits })).rejects.toThrow(
      /more than 20 files; its largest entries: node_modules\/ \(0 B in 20 files\), a\.js .*\.gitignore or \.berthignore/,
    );
  });

  test('names the largest entries when the folder is too large', async () => {
    const folder = folderWith({ 'src/a.js': 'x'.repeat(2000) });
    // A sparse file needs no space.
    execFileSync('truncate', ['--size=600M', join(folder, 'src/video.mp4')]);
    await expect(read(folder)).rejects.toThrow(
      /has 600\.0 MiB, more than the limit of 512\.0 MiB; its largest entries: src\/ \(600\.0 MiB in 2 files\), src\/video\.mp4 \(600\.0 MiB\)/,
    );
  });
});

test('--no-limits applies the largest limits that a policy can have', async () => {
  const folder = folderWith({ a: '' });
  execFileSync('truncate', ['--size=600M', join(folder, 'zeros')]);
  const options = { includeEnv: false, stopped: never };
  const [usual, none] = [true, false].map((limits) => limitsOf({ ...options, limits }));
  await expect(readFolder(folder, { ...options, limits: usual ?? LIMITS })).rejects.toThrow('512.0 MiB');
  expect(pathsOf(await readFolder(folder, { ...options, limits: none ?? LIMITS }))).toEqual(['a', 'zeros']);
});

test('ends when the user interrupts it', async () => {
  const stopped = AbortSignal.abort();
  await expect(
    readFolder(folderWith({ a: '' }), { includeEnv: false, stopped, limits: LIMITS }),
  ).rejects.toThrow(/abort/i);
});
