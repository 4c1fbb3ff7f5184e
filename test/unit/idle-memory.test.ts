import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { collectionRule } from '../../src/idle-memory.ts';

const MIB = 1024 * 1024;
const MINUTE = 60_000;

/** Looks in a row, a second apart, at a heap of so many MiB; what is due is collected to 40 MiB. */
function follow(rule: ReturnType<typeof collectionRule>, shares: readonly number[], heap: number): boolean[] {
  return shares.map((utilization, index) => {
    const isDue = rule.isDue({ utilization, size: heap * MIB, now: index * 1000 });
    if (isDue) rule.collected({ size: 40 * MIB, now: index * 1000 });
    return isDue;
  });
}

test('the heap is collected after so many looks in a row with nothing to do, and not again while it is as it was left', () => {
  expect(
    follow(collectionRule({ looks: 3, keepsObjects: false }, 0), [0, 0.02, 0.5, 0, 0, 0.04, 0, 0], 90),
  ).toEqual([...[false, false, false, false, false], ...[true, false, false]]);
});

test('it is worth it again once half as much and 32 MiB have come; where objects are kept also half an hour later', () => {
  const rule = collectionRule({ looks: 1, keepsObjects: true }, 0);
  rule.collected({ size: 60 * MIB, now: 0 });
  const isDue = (heap: number, now: number) => rule.isDue({ utilization: 0, size: heap * MIB, now });
  expect([isDue(122, 1), isDue(123, 1)]).toEqual([false, true]);
  expect([isDue(70, 30 * MINUTE), isDue(70, 31 * MINUTE), isDue(64, 31 * MINUTE)]).toEqual([
    false,
    true,
    false,
  ]);
  const never = collectionRule({ looks: 1, keepsObjects: false }, 0);
  never.collected({ size: 60 * MIB, now: 0 });
  expect(never.isDue({ utilization: 0, size: 70 * MIB, now: 600 * MINUTE })).toBe(false);
});

/** A process of its own, for V8's options are for all of one: what its heap is before and after it has started. */
const PROGRAM = `
const { giveBackMemory } = await import(process.argv[1]);
const { getHeapStatistics } = await import('node:v8');
const memory = giveBackMemory({ requestsWait: process.argv[2] === 'serving', keepsObjects: false });
let garbage = Array.from({ length: 500_000 }, (_, index) => ({ index }));
const before = getHeapStatistics().total_heap_size;
garbage = null;
memory.started();
console.log(JSON.stringify([before, getHeapStatistics().total_heap_size]));
`;

async function heapsOf(kind: 'sparing' | 'serving'): Promise<[number, number]> {
  const module = fileURLToPath(new URL('../../src/idle-memory.ts', import.meta.url));
  const args = ['--input-type=module', '--eval', PROGRAM, module, kind];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as [number, number];
}

test('what starting has left goes once a process for which requests wait has started, and it ends by itself', async () => {
  const [serving, sparing] = await Promise.all([heapsOf('serving'), heapsOf('sparing')]);
  expect(serving[1]).toBeLessThan(serving[0] / 2);
  expect(sparing[1]).toBeGreaterThan(sparing[0] / 2);
});
