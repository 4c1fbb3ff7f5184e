/** The frame of benchmarks, to the end, with little to measure: what it says of time is not looked at. */
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { create, PATH } from '../../bench/api/bodies.ts';
import { recordRequests, scriptOf, startFloor } from '../../bench/api/floor.ts';
import { prepareHub } from '../../bench/api/hub.ts';
import { bench as listing } from '../../bench/api/list.bench.ts';
import { bench } from '../../bench/api/post.bench.ts';
import { recordStatements } from '../../bench/api/statement-recorder.ts';
import { type BenchContext, runBench, sharedThings } from '../../bench/bench.ts';
import { compareBench } from '../../bench/compare.ts';
import { bench as consoleBench } from '../../bench/console/console.bench.ts';
import { findChromium } from '../../cluster/chromium.ts';
import { type LocalPostgres, startPostgres } from '../../cluster/postgres.ts';

/** Several processes start in each, which takes its time where others want the processor. */
const TIMEOUT_MS = 400_000;

const things = sharedThings();
const context: BenchContext = {
  root: new URL('../../..', import.meta.url).pathname,
  n: 8,
  profiles: null,
  log: () => undefined,
  shared: things.shared,
};

/** Benches ask for a PostgreSQL by this name; here it is that of the run. */
const usePostgres = (): Promise<LocalPostgres> =>
  things.shared('postgres', () => startPostgres({ databaseUrl: inject('environment').databaseUrl }));

test(
  'runs a benchmark of the API to its end, and reports every measure of both sides',
  async () => {
    await usePostgres();
    const { measures, notes } = await runBench(bench, context, 1);
    expect(measures.map(({ name, floor, ratio }) => [name, floor !== null && ratio !== null])).toEqual([
      ['rate', true],
      ['p50', true],
      ['p99', true],
      ['processor', expect.any(Boolean)],
      ['memory', true],
    ]);
    // Its goal is for more requests than these.
    expect(measures[0]?.verdict).toBe('too few');
    expect(notes[0]).toMatch(/^8 requests a round; \d+ statements each/);
  },
  TIMEOUT_MS,
);

test.skipIf(findChromium() === null)(
  'runs the benchmark of the console to its end, with both sides',
  async () => {
    await usePostgres();
    const { measures } = await runBench(consoleBench, { ...context, n: 20 }, 1);
    expect(measures.map(({ name, floor, verdict }) => [name, floor !== null, verdict])).toEqual([
      ['interactive p50', true, 'no goal'],
      ['interactive slowest', true, 'too few'],
      ['change p50', true, 'no goal'],
      ['change slowest', true, 'too few'],
    ]);
  },
  TIMEOUT_MS,
);

test(
  'the floor sends PostgreSQL the same statements as Berth',
  async () => {
    await usePostgres();
    const hub = await prepareHub(context);
    const recorder = await recordStatements(hub.databaseUrl);
    try {
      const script = await scriptOf(hub, (api, index) => ({
        name: `probe-${index}-deployment`,
        pathId: null,
        send: () => create(api.url, hub.apiKey, `probe-${index}-deployment`),
      }));
      const through = { ...hub, databaseUrl: recorder.url };
      const floor = await startFloor(context, through, [
        { method: 'POST', url: PATH, status: 201, script, answer: {}, list: false },
      ]);
      const [played] = await recordRequests(recorder, (index) => ({
        name: `floor-${index}-deployment`,
        pathId: null,
        send: () => create(floor.url, '', `floor-${index}-deployment`),
      }));
      await floor.stop();
      const shape = (statements: readonly { text: string; values: readonly unknown[] | null }[] = []) =>
        statements.map(({ text, values }) => [text, values?.length ?? null]);
      expect(shape(played?.statements)).toEqual(shape(script));
      expect(script.map(({ text }) => text.trim().split(/\W/)[0])).toEqual(
        expect.arrayContaining(['BEGIN', 'WITH', 'COMMIT']),
      );
      const made = await hub.sql<{ n: number }>(
        "SELECT count(*)::int AS n FROM deployments WHERE name LIKE 'floor-%'",
      );
      expect(made[0]?.n).toBeGreaterThan(1);
    } finally {
      await recorder.stop();
      await hub.stop();
    }
  },
  TIMEOUT_MS,
);

test(
  'compares two checkouts, each in its own folder and with its own data, and reports every measure',
  async () => {
    await usePostgres();
    const folder = mkdtempSync(join(tmpdir(), 'berth-bench-'));
    try {
      const other = join(folder, 'other');
      symlinkSync(context.root, other);
      // As few rows as fill a page.
      const small = { ...context, n: 100 };
      const result = await compareBench(listing, [small, { ...small, root: other }], 1);
      expect(result).toMatchObject({ n: 100, floor: 'A, the first checkout' });
      expect(result.measures.map(({ name, floor, verdict }) => [name, floor !== null, verdict])).toEqual(
        ['rate', 'p50', 'p99', 'processor', 'memory'].map((name) => [name, true, 'no goal']),
      );
      expect(result.notes).toEqual([
        expect.stringContaining(`A: ${context.root}`),
        expect.stringContaining(`B: ${other}`),
        // One round is of one order.
        expect.stringContaining('A was the first one in each round'),
        expect.stringContaining('100 deployments in the tenant'),
      ]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  TIMEOUT_MS,
);
