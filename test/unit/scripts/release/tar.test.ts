import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type TarEntry, tarGz } from '../../../../scripts/release/tar.ts';

const TIME = new Date('2025-11-30T10:20:30.999Z');

/** Extracts an archive with the program tar. */
function extracted(archive: Buffer): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-tar-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'archive'), archive);
  mkdirSync(join(folder, 'out'));
  execFileSync('tar', ['--extract', '--file', join(folder, 'archive'), '--directory', join(folder, 'out')]);
  return join(folder, 'out');
}

test('writes files that the program tar extracts with contents, times and modes', async () => {
  const deep = `package/${'folder/'.repeat(20)}${'n'.repeat(90)}.js`;
  const files: TarEntry[] = [
    { path: 'package/empty', content: '' },
    { path: 'package/ä.txt', content: 'exactly one block'.padEnd(512, '.') },
    { path: deep, content: Buffer.from([0, 255, 1]), executable: true },
  ];
  const folder = extracted(await tarGz(files, TIME));
  for (const { path, content } of files)
    expect(readFileSync(join(folder, path)), path).toEqual(Buffer.from(content));
  expect(statSync(join(folder, deep)).mode & 0o777).toBe(0o755);
  expect(statSync(join(folder, 'package/empty')).mode & 0o777).toBe(0o644);
  expect(statSync(join(folder, deep)).mtime).toEqual(new Date('2025-11-30T10:20:30Z'));
});

test('has the same bytes when the files come in another order, and other bytes with another time', async () => {
  const files = ['b', 'a/c', 'a'].map((path) => ({ path, content: path }));
  const archive = await tarGz(files, TIME);
  expect(await tarGz(files.toReversed(), TIME)).toEqual(archive);
  expect(await tarGz(files, new Date(TIME.getTime() + 1000))).not.toEqual(archive);
});

test('rejects a path that is too long or occurs twice', async () => {
  await expect(tarGz([{ path: 'n'.repeat(101), content: '' }], TIME)).rejects.toThrow('too long');
  const file = { path: 'package/a', content: '' };
  await expect(tarGz([file, file], TIME)).rejects.toThrow('failed to archive package/a twice');
});
