import { describe, expect, test } from 'vitest';
import type { ArchiveLimits } from '../../../../src/domain/uploads/archive-limits.ts';
import {
  type AcceptedEntry,
  type ArchiveEntry,
  ArchiveRules,
  ArchiveViolation,
} from '../../../../src/domain/uploads/archive-rules.ts';

const LIMITS: ArchiveLimits = { unpackedBytes: 1024 * 1024, entries: 100, pathBytes: 1024 };

const file = (name: string, size = 1): ArchiveEntry => ({ name, type: 'file', size });
const folder = (name: string): ArchiveEntry => ({ name, type: 'directory', size: 0 });
const symlink = (name: string, linkname: string): ArchiveEntry => ({
  name,
  type: 'symlink',
  size: 0,
  linkname,
});
const hardlink = (name: string, linkname: string): ArchiveEntry => ({
  name,
  type: 'link',
  size: 0,
  linkname,
});

/** The accepted entries. */
function accepted(entries: readonly ArchiveEntry[], limits = LIMITS): AcceptedEntry[] {
  const rules = new ArchiveRules(limits);
  const all = entries.map((entry, index) => rules.accept(entry, index * 1024));
  rules.end();
  return all;
}

/** The broken rule with the name of the entry; null: all entries are accepted. */
function broken(
  entries: readonly ArchiveEntry[],
  limits = LIMITS,
): [rule: string, entry: string | null] | null {
  try {
    accepted(entries, limits);
    return null;
  } catch (error) {
    if (!(error instanceof ArchiveViolation)) throw error;
    return [error.rule, error.entry];
  }
}

describe('an entry', () => {
  test('is accepted when it is a file, a folder or a link in the folder', () => {
    expect(
      accepted([
        folder('./'),
        file('./a/./b.js'),
        folder('a/'),
        folder('a'),
        file('top'),
        symlink('a/up', '../top'),
        symlink('a/self', '.'),
        symlink('node_modules/.bin/tsc', '../typescript/bin/tsc'),
        symlink('dangling', 'not/there'),
        hardlink('same', './a//b.js'),
      ]),
    ).toEqual([
      { kind: 'root' },
      { kind: 'file', path: 'a/b.js' },
      { kind: 'folder', path: 'a' },
      { kind: 'folder', path: 'a' },
      { kind: 'file', path: 'top' },
      { kind: 'symlink', path: 'a/up', target: '../top' },
      { kind: 'symlink', path: 'a/self', target: '.' },
      { kind: 'symlink', path: 'node_modules/.bin/tsc', target: '../typescript/bin/tsc' },
      { kind: 'symlink', path: 'dangling', target: 'not/there' },
      { kind: 'hardlink', path: 'same', file: 'a/b.js' },
    ]);
  });

  test.each<[name: string, rule: string]>([
    ['/etc/passwd', 'entry_path'],
    ['..', 'entry_path'],
    ['../up', 'entry_path'],
    ['a/../../up', 'entry_path'],
    ['a/../b', 'entry_path'],
    ['', 'entry_name'],
    ['.', 'entry_name'],
    ['a\u0000b', 'entry_name'],
    ['a\nb', 'entry_name'],
    ['a\u009bb', 'entry_name'],
    ['not utf-8 \ufffd', 'entry_name'],
    ['a/'.repeat(513), 'entry_path_length'],
    [`${'a/'.repeat(100)}b`, 'entry_path_length'],
    [`${'./'.repeat(100)}b`, 'entry_path_length'],
    ['ä'.repeat(128), 'entry_path_length'],
  ])('is rejected when its name is %j', (name, rule) => {
    expect(broken([file('first'), file(name)])?.[0]).toBe(rule);
  });

  test.each(['character-device', 'block-device', 'fifo', 'contiguous-file', 'socket', null])(
    'is rejected when its type is %s',
    (type) => {
      expect(broken([{ name: 'dev', type, size: 0 }])).toEqual(['entry_type', 'dev']);
    },
  );

  test('is rejected when it is a sparse file', () => {
    expect(broken([{ ...file('sparse'), pax: { 'GNU.sparse.major': '1' } }])?.[0]).toBe('entry_type');
  });

  test.each([-1, Number.NaN, 2 ** 60, 0.5])('is rejected when its size is %s', (size) => {
    expect(broken([file('a', size)])).toEqual(['not_an_archive', 'a']);
  });

  test('is rejected when it has content and is not a file', () => {
    expect(broken([{ ...folder('a'), size: 5 }])?.[0]).toBe('not_an_archive');
    expect(broken([{ ...symlink('a', 'b'), size: 5 }])?.[0]).toBe('not_an_archive');
  });

  test('is rejected when its path exists already, unless both are folders', () => {
    expect(broken([file('a'), file('./a')])).toEqual(['entry_duplicate', './a']);
    expect(broken([file('a/b'), file('a')])?.[0]).toBe('entry_duplicate');
    expect(broken([folder('a'), symlink('a', 'b')])?.[0]).toBe('entry_duplicate');
    expect(broken([symlink('a', 'b'), folder('a')])?.[0]).toBe('entry_duplicate');
    expect(broken([file('a/b'), folder('a')])).toBeNull();
  });

  test('is rejected when a part of its path is a link or a file', () => {
    expect(broken([folder('b'), symlink('a', 'b'), file('a/c')])).toEqual(['entry_below_link', 'a/c']);
    expect(broken([symlink('a', '.'), symlink('a/b', '..')])?.[0]).toBe('entry_below_link');
    expect(broken([file('a'), file('a/b/c')])?.[0]).toBe('entry_below_link');
  });
});

describe('a symbolic link', () => {
  test.each([
    ['link', '/etc/passwd'],
    ['link', '..'],
    ['a/link', '../..'],
    ['a/link', '../../x'],
    ['link', 'a/../../x'],
    // It would lead out if `a/b` were a link to the folder itself.
    ['link', 'a/b/..'],
    ['link', ''],
    ['link', 'a\nb'],
    ['link', 'x'.repeat(300)],
  ])('%s is rejected when its target is %j', (name, target) => {
    expect(broken([file('first'), symlink(name, target)])).toEqual(['link_target', name]);
  });

  test('cannot lead out of the folder together with other links', () => {
    // Each of the links is in the folder, but the second would leave it through the first.
    expect(broken([file('d1/d2/f'), symlink('d1/d2/s', '../..'), symlink('t', 'd1/d2/s/..')])).toEqual([
      'link_target',
      't',
    ]);
  });
});

describe('a hard link', () => {
  test.each(['missing', '/etc/passwd', '../x', 'folder', 'link', 'later', ''])(
    'is rejected when it names %j',
    (target) => {
      const entries = [folder('folder'), symlink('link', 'folder'), hardlink('hard', target), file('later')];
      expect(broken(entries)).toEqual(['link_target', 'hard']);
    },
  );

  test('counts with the size of its file', () => {
    const limits = { ...LIMITS, unpackedBytes: 10_000 };
    expect(broken([file('a', 4000), hardlink('b', 'a')], limits)).toBeNull();
    expect(broken([file('a', 4000), hardlink('b', 'a'), hardlink('c', 'a')], limits)).toBeNull();
    expect(broken([file('a', 4000), hardlink('b', 'a'), hardlink('c', 'b'), file('d')], limits)?.[0]).toBe(
      'unpacked_too_large',
    );
  });
});

describe('an archive', () => {
  test('is rejected when it has too many entries', () => {
    const entries = Array.from({ length: 101 }, (_, index) => file(`f${index}`));
    expect(broken(entries.slice(0, 100))).toBeNull();
    expect(broken(entries)).toEqual(['too_many_entries', 'f100']);
  });

  test('is rejected when the paths of its entries, with their folders, are too long together', () => {
    const long = (index: number) => `${'x'.repeat(250)}/`.repeat(3) + String(index);
    const limits = { ...LIMITS, entries: 1_000_000, unpackedBytes: 2 ** 40 };
    const entries = Array.from({ length: 12_000 }, (_, index) => file(long(index)));
    expect(broken(entries, limits)?.[0]).toBe('too_many_entries');
  });

  test('is accepted within 3 s when its entries are as many and as deep as allowed', () => {
    const limits = { ...LIMITS, entries: 50_000, unpackedBytes: 2 ** 40 };
    const folder = 'd/'.repeat(99);
    const entries = Array.from({ length: 35_000 }, (_, index) => file(`${folder}${index}`));
    const began = performance.now();
    expect(broken(entries, limits)).toBeNull();
    expect(performance.now() - began).toBeLessThan(3_000);
  });

  test('is rejected when its content is too large, with the entry that is too large', () => {
    expect(broken([file('a'), file('big', 1024 * 1024)])).toEqual(['unpacked_too_large', 'big']);
    const rules = new ArchiveRules(LIMITS);
    rules.accept(file('a'), 512);
    expect(() => rules.read(1024 * 1024)).not.toThrow();
    expect(() => rules.read(1024 * 1024 + 1)).toThrow(expect.objectContaining({ entry: 'a' }));
  });

  test('is rejected when it has no file', () => {
    expect(broken([folder('a'), symlink('b', 'a')])).toEqual(['empty_archive', null]);
  });
});

test('shows names without control characters, and cuts long names', () => {
  const { entry } = new ArchiveViolation('entry_name', 'x', 'a\u001b[31m\u2028b');
  expect(entry).toBe('a\\u001b[31m\\u2028b');
  expect(new ArchiveViolation('entry_name', 'x', '\u0000'.repeat(1000)).entry).toHaveLength(500);
});
