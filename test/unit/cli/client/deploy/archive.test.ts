/** The archive of a folder. */

import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { ArchiveReader } from '../../../../../src/archive/archive-reader.ts';
import { pack } from '../../../../../src/cli/client/deploy/archive.ts';
import { LIMITS } from '../../../../../src/cli/client/deploy/limits.ts';
import type { SourceFolder } from '../../../../../src/cli/client/deploy/source.ts';
import { contentOf } from '../../../../../src/cli/client/deploy/source-file.ts';
import { entriesOf } from './archives.ts';
import { emptyFolder, folderWith, read, withoutRoot } from './folders.ts';

const never = new AbortController().signal;
afterEach(() => void vi.unstubAllEnvs());

async function packed(source: SourceFolder): Promise<{ bytes: Buffer; size: number; digest: string }> {
  const archive = await pack(source, never, LIMITS);
  try {
    const chunks: Uint8Array[] = [];
    for await (const chunk of archive.chunks()) chunks.push(chunk);
    return { ...archive, bytes: Buffer.concat(chunks) };
  } finally {
    await archive.close();
  }
}

const long = `${'d'.repeat(120)}/${'e'.repeat(120)}/${'f'.repeat(120)}`;
const files = {
  'server.js': 'listen()',
  run: { program: '#!/bin/sh\n' },
  'a/link': { link: '../server.js' },
  [`a/${long}`]: 'deep',
  'a/größe 日本.txt': 'text',
  [`a/${'n'.repeat(99)}`]: '99',
  [`a/${'l'.repeat(40)}`]: { link: `${'g'.repeat(110)}/größe` },
} as const;

test('contains the files with their content, sorted, with one time, no owner and two modes', async () => {
  const folder = folderWith(files);
  chmodSync(join(folder, 'server.js'), 0o600);
  const { bytes, size, digest } = await packed(await read(folder));
  expect(size).toBe(bytes.length);
  expect(digest).toBe(createHash('sha256').update(bytes).digest('hex'));
  const entries = await entriesOf(bytes);
  expect(
    entries.map(({ header: { name, mode, type, linkname }, content }) => [
      name,
      mode,
      type,
      linkname,
      content,
    ]),
  ).toEqual(
    [
      ['server.js', 0o644, 'file', null, 'listen()'],
      ['run', 0o755, 'file', null, '#!/bin/sh\n'],
      ['a/link', 0o777, 'symlink', '../server.js', ''],
      [`a/${long}`, 0o644, 'file', null, 'deep'],
      ['a/größe 日本.txt', 0o644, 'file', null, 'text'],
      [`a/${'n'.repeat(99)}`, 0o644, 'file', null, '99'],
      [`a/${'l'.repeat(40)}`, 0o777, 'symlink', `${'g'.repeat(110)}/größe`, ''],
    ].toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
  );
  for (const { header } of entries) {
    expect(header).toMatchObject({ uid: 0, gid: 0, uname: '', gname: '' });
    expect(header.mtime).toEqual(new Date('1985-10-26T08:15:00Z'));
  }
});

test('is read by tar', async () => {
  const folder = folderWith(files);
  const { bytes } = await packed(await read(folder));
  const names = execFileSync('tar', ['--list', '--gzip', '--quoting-style=literal', '--file=-'], {
    input: bytes,
    encoding: 'utf8',
  });
  expect(names.trim().split('\n')).toEqual((await read(folder)).entries.map(({ path }) => path));
  const target = emptyFolder();
  execFileSync('tar', ['--extract', '--gzip', '--file=-', `--directory=${target}`], { input: bytes });
  expect(
    execFileSync('diff', ['--recursive', '--no-dereference', folder, target], { encoding: 'utf8' }),
  ).toBe('');
});

test('is accepted by the rules of the hub', async () => {
  const source = await read(folderWith(files));
  const { bytes } = await packed(source);
  const accepted: string[] = [];
  const limits = { unpackedBytes: LIMITS.unpackedBytes, entries: LIMITS.entries, pathBytes: 1024 };
  const reader = new ArchiveReader(
    limits,
    async (entry) => void accepted.push('path' in entry ? entry.path : ''),
  );
  await reader.write(bytes);
  await reader.end();
  expect(accepted).toEqual(source.entries.map(({ path }) => path));
});

test('has the same bytes for the same files, whatever their times, modes and order are', async () => {
  const [one, other] = [folderWith({ a: '1', 'b/c': '2' }), folderWith({ 'b/c': '2', a: '1' })];
  utimesSync(join(other, 'a'), 1, 1);
  chmodSync(join(other, 'a'), 0o600);
  chmodSync(join(other, 'b'), 0o700);
  const digests = [
    await packed(await read(one)),
    await packed(await read(other)),
    await packed(await read(one)),
  ];
  expect(new Set(digests.map(({ digest }) => digest)).size).toBe(1);
  writeFileSync(join(other, 'a'), '2');
  expect((await packed(await read(other))).digest).not.toBe(digests[0]?.digest);
});

test('can be read several times, also at the same time', async () => {
  const archive = await pack(await read(folderWith({ a: 'x'.repeat(100_000) })), never, LIMITS);
  const digest = async () => {
    const hash = createHash('sha256');
    for await (const chunk of archive.chunks()) hash.update(chunk);
    return hash.digest('hex');
  };
  const all = await Promise.all([digest(), digest(), digest()]);
  await archive.close();
  expect(all).toEqual(Array(3).fill(archive.digest));
});

describe('a file that changes after the folder was read', () => {
  const replaced = (path: string, how: () => unknown) => {
    rmSync(path);
    how();
  };
  const change: readonly [string, (path: string) => void][] = [
    ['grows', (path) => appendFileSync(path, 'more')],
    ['shrinks', (path) => truncateSync(path, 1)],
    ['gets another content of the same size', (path) => utimesSync(path, 1, 1)],
    ['is removed', (path) => rmSync(path)],
    ['is replaced by a link', (path) => replaced(path, () => symlinkSync('/etc/passwd', path))],
    ['is replaced by a fifo', (path) => replaced(path, () => execFileSync('mkfifo', [path]))],
  ];

  test.each(change)('fails the command and is named: it %s', async (_what, act) => {
    const folder = folderWith({ 'x/a.txt': 'a'.repeat(10) });
    const source = await read(folder);
    act(join(folder, 'x/a.txt'));
    await expect(pack(source, never, LIMITS)).rejects.toThrow(
      'failed to pack x/a.txt: it was changed while the folder was packed. Run the command again',
    );
  });

  test('fails the command when the change happens between two reads', async () => {
    const folder = folderWith({ 'a.txt': 'a'.repeat(1_000_000) });
    const [entry] = (await read(folder)).entries;
    if (entry === undefined) throw new Error('there is no entry');
    const readAll = async () => {
      for await (const _ of contentOf(folder, entry)) appendFileSync(join(folder, 'a.txt'), 'b');
    };
    await expect(readAll()).rejects.toThrow('it was changed');
  });
});

test('names a file that cannot be read', async () => {
  const folder = folderWith({ 'key.pem': '' });
  const source = await read(folder);
  chmodSync(join(folder, 'key.pem'), 0);
  await withoutRoot(folder, () =>
    expect(pack(source, never, LIMITS)).rejects.toThrow(
      'failed to pack key.pem: it cannot be read (EACCES). Change its permissions, or exclude it in .berthignore',
    ),
  );
});

describe('the temporary file', () => {
  /** A folder with one file, and an empty folder for temporary files. */
  function folders(): { folder: string; temporary: string } {
    const made = { folder: folderWith({ a: '' }), temporary: emptyFolder() };
    vi.stubEnv('TMPDIR', made.temporary);
    return made;
  }

  test('has no name while the archive is used, so that it cannot remain', async () => {
    const { folder, temporary } = folders();
    const archive = await pack(await read(folder), never, LIMITS);
    expect(readdirSync(temporary)).toEqual([]);
    expect(archive.size).toBeGreaterThan(0);
    await archive.close();
  });

  test('is removed when packing fails', async () => {
    const { folder, temporary } = folders();
    const source = await read(folder);
    rmSync(join(folder, 'a'));
    await expect(pack(source, never, LIMITS)).rejects.toThrow();
    expect(readdirSync(temporary)).toEqual([]);
  });

  test('is named by its folder when it cannot be written', async () => {
    const { folder } = folders();
    vi.stubEnv('TMPDIR', join(folder, 'nothing'));
    await expect(pack(await read(folder), never, LIMITS)).rejects.toThrow(
      /temporary files, .*nothing \(ENOENT\)\. Set TMPDIR/,
    );
  });
});

test('stops at the limit of the packed size, and names the largest entries', async () => {
  const folder = folderWith({ 'src/a.js': 'x' });
  writeFileSync(join(folder, 'src/data.bin'), randomBytes(2 * 1024 * 1024));
  await expect(pack(await read(folder), never, { ...LIMITS, packedBytes: 1024 * 1024 })).rejects.toThrow(
    /the packed folder is larger than the limit of 1\.0 MiB; its largest entries: src\/ \(2\.0 MiB in 2 files\), src\/data\.bin \(2\.0 MiB\)/,
  );
});

test('stops at the limit of the unpacked size, which includes headers of long paths and the end of the archive', async () => {
  const source = await read(folderWith({ [long]: 'x' }));
  const unpackedBytes = gunzipSync((await packed(source)).bytes).length;
  expect(unpackedBytes).toBe(6 * 512);
  const archive = await pack(source, never, { ...LIMITS, unpackedBytes });
  await archive.close();
  await expect(pack(source, never, { ...LIMITS, unpackedBytes: unpackedBytes - 1 })).rejects.toThrow(
    /the archive without compression is larger than the limit of 3\.0 KiB; its largest entries: d+\//,
  );
});

test('ends when the user interrupts it', async () => {
  await expect(pack(await read(folderWith({ a: '' })), AbortSignal.abort(), LIMITS)).rejects.toThrow(
    /abort/i,
  );
});
