import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { gzip, type TarFile, tar } from '../../../../scripts/release/tar.ts';

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

test('writes files that the program tar extracts with contents, times and modes', () => {
  const deep = `package/${'folder/'.repeat(20)}${'n'.repeat(90)}.js`;
  const files: TarFile[] = [
    { path: 'package/empty', content: '' },
    { path: 'package/ä.txt', content: 'exactly one block'.padEnd(512, '.') },
    { path: deep, content: Buffer.from([0, 255, 1]), isExecutable: true },
  ];
  const folder = extracted(gzip(tar(files, TIME)));
  for (const { path, content } of files)
    expect(readFileSync(join(folder, path)), path).toEqual(Buffer.from(content));
  expect(statSync(join(folder, deep)).mode & 0o777).toBe(0o755);
  expect(statSync(join(folder, 'package/empty')).mode & 0o777).toBe(0o644);
  expect(statSync(join(folder, deep)).mtime).toEqual(new Date('2025-11-30T10:20:30Z'));
});

test('has the same bytes when the files come in another order, and other bytes with another time', () => {
  const files = ['b', 'a/c', 'a'].map((path) => ({ path, content: path }));
  expect(tar(files, TIME)).toEqual(tar(files.toReversed(), TIME));
  expect(tar(files, TIME)).not.toEqual(tar(files, new Date(TIME.getTime() + 1000)));
  expect(gzip(tar(files, TIME)).subarray(4, 10)).toEqual(Buffer.from([0, 0, 0, 0, 2, 255]));
});

test('rejects a path that is too long or occurs twice', () => {
  expect(() => tar([{ path: 'n'.repeat(101), content: '' }], TIME)).toThrow('too long');
  const file = { path: 'package/a', content: '' };
  expect(() => tar([file, file], TIME)).toThrow('failed to archive package/a twice');
});
