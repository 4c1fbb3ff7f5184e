import { expect, onTestFinished, test } from 'vitest';
import { ChangeFeed } from '../../../../../src/hub/api/watch/change-feed.ts';
import { RESET } from '../../../../../src/hub/api/watch/pending-changes.ts';
import { watchChanges, watchEnd } from '../../../../../src/hub/api/watch/watch-stream.ts';
import type { Sweep } from '../../../../../src/hub/store/events/change-sweep.ts';
import { recordingLogger } from '../../../cluster/kube/support.ts';
import { untilPasses } from '../../../until-passes.ts';

const A = '0198a000-0000-7000-8000-00000000000a';
const B = '0198a000-0000-7000-8000-00000000000b';
const D = '0198a000-0000-7000-8000-00000000000d';

const NOTHING: Sweep = {
  place: { mark: 'm', snapshot: '1:1:', known: [], settled: 0, listeners: new Map() },
  changes: [],
  isComplete: true,
  fullTenants: [],
  changedListeners: [],
};
const change = (transaction: string, tenantId = A) => ({
  tenantId,
  deploymentId: D,
  generation: 1,
  transaction,
});

/** A feed whose sweeps return the next of these results, and then nothing. */
function feedWith(sweeps: (Partial<Sweep> | Error)[] = [], sweepMs = 5) {
  const swept: (readonly string[])[] = [];
  const announced: (readonly string[])[] = [];
  /** Called before each announcement and each sweep. */
  const hooks = { beforeAnnouncing: async () => {}, beforeSweep: async () => {} };
  const logger = recordingLogger();
  const feed = new ChangeFeed({
    announce: async (tenantIds) => {
      await hooks.beforeAnnouncing();
      announced.push(tenantIds);
    },
    sweep: async (tenantIds) => {
      swept.push(tenantIds);
      await hooks.beforeSweep();
      const next = sweeps.shift() ?? {};
      if (next instanceof Error) throw next;
      return { ...NOTHING, ...next };
    },
    most: { tenant: 3, all: 4 },
    logger,
    sweepMs,
  });
  const open = async (tenantId: string) => {
    const reader = await feed.open(tenantId);
    onTestFinished(() => feed.close(reader));
    reader.take();
    return reader;
  };
  return { feed, open, swept, announced, hooks, logger };
}

test('sends a change to each stream of its tenant, and to no other', async () => {
  const { feed, open } = feedWith();
  const [first, second, other] = [await open(A), await open(A), await open(B)];
  feed.notify([`${A} ${D} 3 100`]);
  const line = { type: 'change', key: `100_${D}`, deployment_id: D, generation: 3 };
  expect([first.take(), second.take(), other.take()]).toEqual([[line], [line], []]);
});

test('finds a change whose notification was lost, and sends a change once when both arrive', async () => {
  const { feed, open } = feedWith([{}, { changes: [change('100'), change('101')] }], 200);
  const reader = await open(A);
  feed.notify([`${A} ${D} 1 100`]);
  expect(reader.take()).toHaveLength(1);
  await untilPasses(() => expect(reader.take()).toMatchObject([{ key: `101_${D}` }]));
  feed.notify([`${A} ${D} 1 101`]);
  expect(reader.take()).toEqual([]);
});

test.each([
  ['the notification connection was lost', {}],
  ['more has changed than a sweep returns', { isComplete: false }],
  ['the state of a listener has changed', { changedListeners: [A] }],
])('resets streams when %s', async (_when, sweep) => {
  const { feed, open } = feedWith([{}, sweep]);
  const reader = await open(A);
  if (Object.keys(sweep).length === 0) feed.lost();
  await untilPasses(() => expect(reader.take()).toEqual([RESET]));
});

test.each([
  ['the state of its listener has changed', { changedListeners: [A] }],
  ['more of the tenant has changed than a sweep returns', { fullTenants: [A] }],
])('resets only the streams of the tenant when %s', async (_when, sweep) => {
  const { open, swept } = feedWith([{}, sweep]);
  const [reader, other] = [await open(A), await open(B)];
  await untilPasses(() => expect(reader.take()).toEqual([RESET]));
  expect(swept.at(-1)).toEqual([A, B]);
  expect(other.take()).toEqual([]);
});

test('resets a stream that was the first of its tenant during a sweep, because the sweep did not read its changes', async () => {
  const { open, hooks, swept } = feedWith();
  const reader = await open(A);
  let later = null as Awaited<ReturnType<typeof open>> | null;
  hooks.beforeSweep = async () => {
    later ??= await open(B);
  };
  await untilPasses(() => expect(swept.length).toBeGreaterThan(3));
  expect(swept.slice(0, 2)).toEqual([[A], [A]]);
  expect(later?.take()).toEqual([RESET]);
  await untilPasses(() => expect(swept.length).toBeGreaterThan(5));
  expect([later?.take(), reader.take()]).toEqual([[], []]);
});

test('sends a change again after notifications were lost, because a database can use the numbers of transactions again', async () => {
  const { feed, open } = feedWith([], 60_000);
  const reader = await open(A);
  feed.notify([`${A} ${D} 1 100`]);
  expect(reader.take()).toHaveLength(1);
  feed.lost();
  expect(reader.take()).toEqual([RESET]);
  feed.notify([`${A} ${D} 1 100`]);
  expect(reader.take()).toHaveLength(1);
});

test('announces a tenant before its first stream begins, and tenants together that open at the same time', async () => {
  const { feed, open, announced, hooks } = feedWith([], 60_000);
  await open(A);
  expect(announced).toEqual([[A]]);
  feed.close(await feed.open(A));
  expect(announced).toHaveLength(1);
  const others = ['b', 'c'].map((last) => A.replace(/a$/, last));
  await Promise.all(others.map(open));
  expect(announced.at(-1)).toEqual([A, ...others]);
  expect(announced.length).toBeLessThan(4);
  hooks.beforeAnnouncing = () => Promise.reject(new Error('no database'));
  await expect(feed.open(A.replace(/a$/, 'e'))).rejects.toThrow('no database');
  expect(feed.size).toBe(3);
});

test('continues from the same place when a sweep fails', async () => {
  const { open, logger } = feedWith([{}, new Error('no database'), { changes: [change('7')] }]);
  const reader = await open(A);
  await untilPasses(() => expect(reader.take()).toMatchObject([{ key: `7_${D}` }]));
  expect(logger.lines).toMatchObject([{ level: 'warn' }]);
});

test('rejects a stream when the first sweep fails, and works when the database is back', async () => {
  const { feed, open } = feedWith([new Error('no database')]);
  await expect(feed.open(A)).rejects.toThrow('no database');
  expect(feed.size).toBe(0);
  await open(A);
  expect(feed.size).toBe(1);
});

test('stops to sweep when the last stream is closed', async () => {
  const { feed, swept } = feedWith();
  const reader = await feed.open(A);
  feed.close(reader);
  feed.close(reader);
  const before = swept.length;
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect([feed.size, swept.length]).toEqual([0, before]);
});

test('limits the streams of a tenant, and takes the newest of the largest tenant when all places are taken', async () => {
  const { feed, open } = feedWith();
  const readers = [await open(A), await open(A), await open(A)];
  await expect(feed.open(A)).rejects.toMatchObject({ statusCode: 429 });
  await open(B);
  await open(B);
  expect(readers.map(({ hasGivenWay }) => hasGivenWay)).toEqual([false, false, true]);
  await expect(feed.open(B)).rejects.toMatchObject({ statusCode: 429 });
  expect(feed.size).toBe(4);
});

test.each([
  { when: 'nothing ends it', state: {}, end: null },
  { when: 'another tenant needs its place', state: { gaveWay: true }, end: 'continue' },
  { when: 'the server shuts down', state: { aborted: true }, end: 'continue' },
  { when: 'the time limit is reached', state: { leftMs: 0 }, end: 'continue' },
])('decides about the end of a stream when $when', ({ state, end }) => {
  const running = { gaveWay: false, aborted: false, leftMs: 1 };
  expect(watchEnd({ ...running, ...state })?.reason ?? null).toBe(end);
});

test('a stream begins with a reset, then sends changes, and ends with a reason', async () => {
  const { feed } = feedWith();
  const reader = await feed.open(A);
  onTestFinished(() => feed.close(reader));
  const leaving = new AbortController();
  const lines: object[] = [];
  for await (const batch of watchChanges({ reader, signal: leaving.signal, ms: 10_000 })) {
    lines.push(...batch);
    if (lines.length === 1) feed.notify([`${A} ${D} 1 5`]);
    if (lines.length === 2) leaving.abort();
  }
  expect(lines).toMatchObject([RESET, { type: 'change', deployment_id: D }, { reason: 'continue' }]);
});
