import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { extract, type Header } from 'tar-stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { folderEntries, inOrder, type TarEntry, tarGz } from '../../../../scripts/release/tar.ts';

const TIME = new Date(1_700_000_000_000);

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-tar-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The headers and contents of a compressed tar file. */
async function read(archive: Buffer): Promise<{ header: Header; content: string }[]> {
  const found: { header: Header; content: string }[] = [];
  const tar = extract();
  tar.end(gunzipSync(archive));
  for await (const entry of tar) {
    const chunks: Buffer[] = [];
    for await (const chunk of entry) chunks.push(chunk as Buffer);
    found.push({ header: entry.header, content: Buffer.concat(chunks).toString() });
  }
  return found;
}

/** The same tree, created in another order, at another time and with other rights. */
function tree(name: string, order: readonly string[], mode: number, time: number): string {
  const root = join(folder, name);
  mkdirSync(join(root, 'bin'), { recursive: true });
  for (const file of order) {
    const path = join(root, file);
    writeFileSync(path, file);
    chmodSync(path, file.startsWith('bin/') ? mode | 0o111 : mode);
    utimesSync(path, time, time);
  }
  symlinkSync('bin/tool', join(root, 'link'));
  return root;
}

test('writes the same bytes when order, dates and rights of the files differ', async () => {
  const first = tree('first', ['a', 'b', 'bin/tool'], 0o600, 1_000_000);
  const second = tree('second', ['bin/tool', 'b', 'a'], 0o666, 2_000_000);
  const archives = await Promise.all(
    [first, second].map((root) => tarGz(folderEntries(root, 'app').reverse(), TIME)),
  );
  expect(archives[1]?.equals(archives[0] ?? Buffer.of())).toBe(true);
});

test('writes owner root, one date and fixed modes', async () => {
  const root = tree('tree', ['a', 'bin/tool'], 0o640, 1_000_000);
  const entries = await read(await tarGz(folderEntries(root, 'app'), TIME));
  const shown = entries.map(({ header: { name, mode, type, linkname } }) => ({ name, mode, type, linkname }));
  const plain = { linkname: null };
  expect(shown).toEqual([
    { ...plain, name: 'app/', mode: 0o755, type: 'directory' },
    { ...plain, name: 'app/a', mode: 0o644, type: 'file' },
    { ...plain, name: 'app/bin/', mode: 0o755, type: 'directory' },
    { ...plain, name: 'app/bin/tool', mode: 0o755, type: 'file' },
    { name: 'app/link', mode: 0o777, type: 'symlink', linkname: 'bin/tool' },
  ]);
  for (const { header } of entries)
    expect(header).toMatchObject({ uid: 0, gid: 0, uname: '', gname: '', mtime: TIME });
});

test('writes no time and no name into the header of gzip', async () => {
  const archive = await tarGz([{ path: 'a', content: 'a' }], TIME);
  // RFC 1952: magic, method, flags, four bytes of the time.
  expect([...archive.subarray(0, 8)]).toEqual([0x1f, 0x8b, 8, 0, 0, 0, 0, 0]);
});

test('keeps long paths, empty folders and files that are larger than a buffer', async () => {
  const large = join(folder, 'large');
  writeFileSync(large, Buffer.alloc(3 * 1024 * 1024, 'x'));
  const path = `${'folder/'.repeat(40)}file`;
  const entries: TarEntry[] = [
    { path, content: 'deep' },
    { path: 'large', file: large },
    { path: 'empty', folder: true },
  ];
  const found = new Map((await read(await tarGz(entries, TIME))).map((entry) => [entry.header.name, entry]));
  expect(found.get(path)?.content).toBe('deep');
  expect(found.get('large')?.content).toHaveLength(3 * 1024 * 1024);
  expect(found.get('empty/')?.header.type).toBe('directory');
});

test('orders entries by path, with a folder before its contents and before other names', () => {
  const entries = inOrder([
    { path: 'a/c', content: '' },
    { path: 'a.b', content: '' },
    { path: 'a/b/d', content: '' },
  ]);
  expect(entries.map(({ path }) => path)).toEqual(['a', 'a.b', 'a/b', 'a/b/d', 'a/c']);
});

test('refuses two entries with the same path', () => {
  const entry = { path: 'a', content: '' };
  expect(() => inOrder([entry, entry])).toThrow('two entries have the path a');
});

test('reports a file that cannot be read', async () => {
  await expect(tarGz([{ path: 'a', file: join(folder, 'absent') }], TIME)).rejects.toThrow(/ENOENT/);
});
