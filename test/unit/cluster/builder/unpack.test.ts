import { lstatSync, mkdtempSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { unpack } from '../../../../src/cluster/builder/unpack.ts';
import { type ArchiveFile, gzipped } from '../../../archives.ts';

const LIMITS = { unpackedBytes: 1024 * 1024, entries: 100, pathBytes: 255 };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-unpack-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const unpacked = async (files: readonly ArchiveFile[]) =>
  unpack(Readable.from([await gzipped(files)]), folder, LIMITS);

test('writes files, folders and links, without other modes than the executable bit', async () => {
  await unpacked([
    { name: './', type: 'directory' },
    { name: 'bin/run', content: '#!/bin/sh', mode: 0o6777 },
    { name: 'data', content: 'x', mode: 0o000 },
    { name: 'empty/', type: 'directory', mode: 0o000 },
    { name: 'to-data', type: 'symlink', linkname: 'data' },
    { name: 'same', type: 'link', linkname: 'data' },
  ]);
  expect(readFileSync(join(folder, 'bin/run'), 'utf8')).toBe('#!/bin/sh');
  const modeOf = (path: string) => lstatSync(join(folder, path)).mode & 0o7777;
  expect(['bin/run', 'data', 'empty', 'bin'].map(modeOf)).toEqual([0o755, 0o644, 0o755, 0o755]);
  expect(readlinkSync(join(folder, 'to-data'))).toBe('data');
  expect(statSync(join(folder, 'same')).ino).toBe(statSync(join(folder, 'data')).ino);
});

test.each<[string, ArchiveFile]>([
  ['entry_path', { name: '../evil', content: 'x' }],
  ['entry_path', { name: '/tmp/evil', content: 'x' }],
  ['link_target', { name: 'link', type: 'symlink', linkname: '../..' }],
  ['entry_type', { name: 'dev', type: 'character-device' }],
])('stops at an entry that breaks the rule %s', async (rule, evil) => {
  const files = [{ name: 'first', content: 'x' }, evil, { name: 'last', content: 'x' }];
  await expect(unpacked(files)).rejects.toMatchObject({ rule, entry: evil.name });
  expect(await readdir(folder)).toEqual(['first']);
});

test('does not write through a link of the archive', async () => {
  const files: ArchiveFile[] = [
    { name: 'link', type: 'symlink', linkname: '.' },
    { name: 'link/file', content: 'x' },
  ];
  await expect(unpacked(files)).rejects.toMatchObject({ rule: 'entry_below_link' });
});
