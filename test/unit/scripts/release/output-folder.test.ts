import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { moveFiles, temporaryFolderBeside } from '../../../../scripts/release/output-folder.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-release-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('moveFiles', () => {
  const source = () => {
    const from = temporaryFolderBeside(join(folder, 'release'));
    writeFileSync(join(from, 'SHA256SUMS'), 'sums');
    return from;
  };

  test('renames the temporary folder, with the mode of a new folder, when the folder does not exist', () => {
    const from = source();
    expect(dirname(from)).toBe(folder);
    moveFiles(from, join(folder, 'release'));
    expect(readdirSync(folder)).toEqual(['release']);
    mkdirSync(join(folder, 'new'));
    const modes = ['release', 'new'].map((name) => statSync(join(folder, name)).mode);
    expect(modes[0]).toBe(modes[1]);
  });

  test('keeps a folder that exists, because it can be a mount point', () => {
    mkdirSync(join(folder, 'release'));
    const { ino } = statSync(join(folder, 'release'));
    moveFiles(source(), join(folder, 'release'));
    expect(statSync(join(folder, 'release')).ino).toBe(ino);
    expect(readFileSync(join(folder, 'release/SHA256SUMS'), 'utf8')).toBe('sums');
  });
});
