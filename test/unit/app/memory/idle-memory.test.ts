import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { collectionRule } from '../../../../src/app/memory/idle-memory.ts';
import { YOUNG_ROOM } from '../../../../src/app/memory/young-generation.ts';

const MIB = 1024 * 1024;
const MINUTE = 60_000;

/** Samples a heap of this size in MiB once a second; a collection that is due reduces it to 40 MiB. */
function follow(rule: ReturnType<typeof collectionRule>, shares: readonly number[], heap: number): boolean[] {
  return shares.map((utilization, index) => {
    const isDue = rule.isDue({ utilization, size: heap * MIB, now: index * 1000 });
    if (isDue) rule.collected({ size: 40 * MIB, now: index * 1000 });
    return isDue;
  });
}

test('collects the heap after a number of idle samples in a row, and not again while the heap does not grow', () => {
  expect(
    follow(collectionRule({ looks: 3, keepsObjects: false }, 0), [0, 0.02, 0.5, 0, 0, 0.04, 0, 0], 90),
  ).toEqual([...[false, false, false, false, false], ...[true, false, false]]);
});

test('collects again after growth by half and 32 MiB, or after half an hour when the process keeps objects', () => {
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
  const module = fileURLToPath(new URL('../../../../src/app/memory/idle-memory.ts', import.meta.url));
  const args = ['--input-type=module', '--eval', PROGRAM, module, kind];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as [number, number];
}

test('collects the garbage of the start when a serving process has started, and lets the process end', async () => {
  const [serving, sparing] = await Promise.all([heapsOf('serving'), heapsOf('sparing')]);
  expect(serving[1]).toBeLessThan(serving[0] / 2);
  expect(sparing[1]).toBeGreaterThan(sparing[0] / 2);
});

/** Garbage by the hundred megabytes, with turns of the event loop between; a whole collection; and as much again. */
const BURSTS = `
const { giveBackMemory } = await import(process.argv[1]);
const { youngBytes } = await import(process.argv[2]);
const { setFlagsFromString } = await import('node:v8');
const { runInNewContext } = await import('node:vm');
const kind = process.argv[3];
if (kind === 'sparing') giveBackMemory({ requestsWait: false, keepsObjects: true });
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
const burst = async () => {
  let most = 0;
  let kept = [];
  for (let turn = 0; turn < 1_500; turn += 1) {
    for (let index = 0; index < 2_000; index += 1) kept.push({ index, parts: [index, { turn }] });
    if (kept.length > 60_000) kept = [];
    most = Math.max(most, youngBytes());
    await new Promise(setImmediate);
  }
  return most;
};
const first = await burst();
collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
const least = youngBytes();
console.log(JSON.stringify([first, least, await burst()]));
`;

test('limits the young generation to 16 MiB when the process keeps objects, also after a full collection', async () => {
  const pathOf = (name: string) =>
    fileURLToPath(new URL(`../../../../src/app/memory/${name}`, import.meta.url));
  const bursts = async (kind: 'sparing' | 'none') => {
    const modules = [pathOf('idle-memory.ts'), pathOf('young-generation.ts')];
    const args = ['--input-type=module', '--eval', BURSTS, ...modules, kind];
    return JSON.parse((await promisify(execFile)(process.execPath, args)).stdout) as number[];
  };
  const [sparing, none] = await Promise.all([bursts('sparing'), bursts('none')]);
  // V8 doubles it, from whatever it is.
  for (const most of [sparing[0], sparing[2]]) {
    expect(most).toBeGreaterThanOrEqual(YOUNG_ROOM);
    expect(most).toBeLessThan(2 * YOUNG_ROOM);
  }
  expect(sparing[1]).toBeLessThan(YOUNG_ROOM / 4);
  expect(none[0]).toBeGreaterThan(2 * YOUNG_ROOM);
});
