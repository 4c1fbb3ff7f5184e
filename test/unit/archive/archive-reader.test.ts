import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { ArchiveReader, type OnEntry } from '../../../src/archive/archive-reader.ts';
import type { ArchiveLimits } from '../../../src/domain/uploads/archive-limits.ts';
import { ArchiveViolation } from '../../../src/domain/uploads/archive-rules.ts';
import { type ArchiveFile, gzipped, retyped, tarOf } from '../../archives.ts';

const LIMITS: ArchiveLimits = { unpackedBytes: 64 * 1024 * 1024, entries: 1000, pathBytes: 1024 };

async function read(packed: Buffer, onEntry: OnEntry | null = null, limits = LIMITS, piece = 10_000) {
  const reader = new ArchiveReader(limits, onEntry);
  try {
    for (let at = 0; at < packed.length; at += piece) await reader.write(packed.subarray(at, at + piece));
    await reader.end();
  } finally {
    reader.destroy();
  }
}

async function broken(packed: Buffer, limits = LIMITS): Promise<[string, string | null]> {
  try {
    await read(packed, null, limits);
  } catch (error) {
    if (error instanceof ArchiveViolation) return [error.rule, error.entry];
    throw error;
  }
  return ['accepted', null];
}

const FILES: readonly ArchiveFile[] = [
  { name: 'src/', type: 'directory' },
  { name: 'src/main.js', content: 'console.log(1)' },
  { name: 'empty', content: '' },
  { name: `${'d'.repeat(200)}/${'ü'.repeat(100)}`, content: 'long' },
  { name: 'link', type: 'symlink', linkname: 'src' },
];

describe('an archive', () => {
  test.each([1, 511, 100_000])('is read when it arrives in pieces of %i bytes', async (piece) => {
    const found: Record<string, string> = {};
    const onEntry: OnEntry = async (entry, _, content) => {
      const chunks: Uint8Array[] = [];
      for await (const chunk of content) chunks.push(chunk);
      if (entry.kind !== 'root') found[entry.path] = Buffer.concat(chunks).toString();
    };
    await read(await gzipped(FILES), onEntry, LIMITS, piece);
    expect(found).toEqual({
      src: '',
      'src/main.js': 'console.log(1)',
      empty: '',
      [`${'d'.repeat(200)}/${'ü'.repeat(100)}`]: 'long',
      link: '',
    });
  });

  test('is read when no entry is consumed, with large files', async () => {
    const big = { name: 'big', content: Buffer.alloc(5 * 1024 * 1024, 1) };
    await expect(read(await gzipped([big, ...FILES]))).resolves.toBeUndefined();
  });

  test('is rejected when it is not gzip, not tar, truncated, or followed by data', async () => {
    const whole = await gzipped([{ name: 'a', content: Buffer.alloc(100_000, 7) }, ...FILES]);
    expect(await broken(Buffer.from('hello'))).toEqual(['not_an_archive', null]);
    expect(await broken(Buffer.alloc(0))).toEqual(['not_an_archive', null]);
    expect(await broken(gzipSync(Buffer.alloc(5000, 'x')))).toEqual(['not_an_archive', null]);
    expect(await broken(whole.subarray(0, whole.length - 20))).toEqual(['not_an_archive', null]);
    const tar = await tarOf([{ name: 'a', content: Buffer.alloc(100_000, 7) }]);
    expect(await broken(gzipSync(tar.subarray(0, 50_000)))).toEqual(['not_an_archive', null]);
    expect(await broken(gzipSync(Buffer.alloc(10_240)))).toEqual(['empty_archive', null]);
  });

  test('is rejected when an entry leaves the folder, with its name', async () => {
    expect(await broken(await gzipped([...FILES, { name: '../evil', content: 'x' }]))).toEqual([
      'entry_path',
      '../evil',
    ]);
    expect(await broken(await gzipped([{ name: 'fifo', type: 'fifo' }]))).toEqual(['entry_type', 'fifo']);
  });

  test('is rejected when a small body unpacks to a large file, before it is unpacked', async () => {
    const limits = { ...LIMITS, unpackedBytes: 1024 * 1024 };
    const bomb = await gzipped([{ name: 'bomb', content: Buffer.alloc(20 * 1024 * 1024) }]);
    expect(bomb.length).toBeLessThan(50_000);
    expect(await broken(bomb, limits)).toEqual(['unpacked_too_large', 'bomb']);
  });

  test('is rejected when an extended header is large, without keeping it in memory', async () => {
    const header = retyped(await tarOf([{ name: 'x', content: Buffer.alloc(20 * 1024 * 1024, '1') }]), 'x');
    const before = process.memoryUsage().arrayBuffers;
    expect(await broken(gzipSync(header))).toEqual(['not_an_archive', null]);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1024 * 1024);
  });

  test('is rejected when it ends with much padding', async () => {
    const tar = await tarOf(FILES);
    expect(await broken(gzipSync(Buffer.concat([tar, Buffer.alloc(512 * 200)])))).toEqual(['accepted', null]);
    expect(await broken(gzipSync(Buffer.concat([tar, Buffer.alloc(4_000_000)])))).toEqual([
      'not_an_archive',
      null,
    ]);
  });

  test.each(['path', 'size'])('is rejected when the extended header has an invalid %s', async (field) => {
    const value = field === 'path' ? '../../evil' : '-1000';
    const found = await broken(await gzipped([{ name: 'a', content: 'x', pax: { [field]: value } }]));
    expect(found[0]).toBe(field === 'path' ? 'entry_path' : 'not_an_archive');
  });
});

test('the error of the handler is thrown as it is', async () => {
  const failure = new Error('no space');
  const packed = await gzipped([{ name: 'a', content: Buffer.alloc(5_000_000, 3) }, ...FILES]);
  await expect(read(packed, () => Promise.reject(failure))).rejects.toBe(failure);
});
