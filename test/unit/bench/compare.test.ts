import { expect, test } from 'vitest';
import { loadBenches } from '../../../scripts/bench.ts';
import { type Bench, runBench, type Sample } from '../../bench/bench.ts';
import { comparable, compareBench } from '../../bench/compare.ts';
import { context, fake } from './fake.ts';

test('compare runs two checkouts in turn, the second one held against the first, and judges nothing', async () => {
  const order: string[] = [];
  const result = await compareBench(
    fake(order, () => 5),
    [context('/a'), context('/b')],
    1,
  );
  expect(order).toEqual(['/a ours', '/b ours', '/a ours', '/b ours', 'stop', 'stop']);
  expect(result.measures.map(({ verdict, ratio }) => [verdict, ratio?.median])).toEqual([
    ['no goal', 1],
    ['no goal', 1],
  ]);
});

test('without a number there are at least four rounds of each, with what the second checkout notes', async () => {
  const bench: Bench = { ...fake([], () => 5), runs: 1 };
  const noting: Bench = {
    ...bench,
    start: async (asked) => ({ ...(await bench.start(asked)), notes: () => [`of ${asked.root}`] }),
  };
  const result = await compareBench(noting, [context('/a'), context('/b')]);
  expect(result.measures[0]?.ours.rounds).toBe(4);
  expect(result.notes.at(-1)).toBe('of /b');
  const profiled = { ...context('/b'), profiles: '/p' };
  expect((await compareBench(bench, [context('/a'), profiled])).measures[0]?.ours.rounds).toBe(1);
});

test('sides that are started more than once share the rounds, and each checkout is the first in turn', async () => {
  const order: string[] = [];
  const bench = fake(order, (side, round) => (round === 0 ? 1000 : side.length));
  const started: string[] = [];
  const often: Bench = {
    ...bench,
    roundsAStart: 1,
    start: (context) => {
      started.push(context.root);
      return bench.start(context);
    },
  };
  const { measures } = await compareBench(often, [context('/a'), context('/b')], 2);
  expect(started).toEqual(['/a', '/b', '/b', '/a']);
  const [turn, turned] = [
    ['/a ours', '/b ours'],
    ['/b ours', '/a ours'],
  ];
  expect(order).toEqual([...turn, ...turn, 'stop', 'stop', ...turned, ...turned, 'stop', 'stop']);
  expect(measures[0]?.ours).toMatchObject({ median: 4, rounds: 2 });
});

test('a bench is told that it is compared; a measure is told where it says something', async () => {
  const told: unknown[] = [];
  const bench: Bench = {
    ...fake([], () => 5),
    measures: [
      { name: 'rate', unit: 'req/s' },
      { name: 'writes', unit: 'ms', only: 'floor' },
      { name: 'times alone', unit: 'times', only: 'compare' },
    ],
    async start({ side }) {
      told.push(side);
      return {
        ours: async (): Promise<Sample> => ({
          rate: 1,
          ...(side === undefined ? { writes: 2 } : { 'times alone': 3 }),
        }),
      };
    },
  };
  const compared = await compareBench(bench, [context('/a'), context('/b')], 1);
  expect(compared.measures.map(({ name }) => name)).toEqual(['rate', 'times alone']);
  const alone = await runBench(bench, context(), 1);
  expect(alone.measures.map(({ name }) => name)).toEqual(['rate', 'writes']);
  expect(told).toEqual(['A', 'B', undefined]);
});

const measuredByStart = (order: string[]) => ({
  ...fake(order, () => 5),
  name: 'grows',
  startIsMeasured: true as const,
});

test('a bench whose start is what it measures is not compared: before anything starts, with what to do instead', async () => {
  const order: string[] = [];
  const grows = measuredByStart(order);
  await expect(compareBench(grows, [context('/a'), context('/b')])).rejects.toThrow(
    /failed to compare with grows: its start is what it measures.*npm run bench -- grows in each/,
  );
  expect(order).toEqual([]);
});

test('asked for by its name it is refused; of all benches it is left out, and that is told', () => {
  const [grows, other] = [measuredByStart([]), fake([], () => 5)];
  const told: string[] = [];
  const log = (line: string) => told.push(line);
  expect(() => comparable([grows, other], true, log)).toThrow('failed to compare with grows');
  expect(comparable([other], true, log)).toEqual([other]);
  expect(told).toEqual([]);
  expect(comparable([grows, other], false, log)).toEqual([other]);
  expect(told).toEqual(['grows: left out, its start is what it measures']);
});

test('it has one round, however many are asked for, and says so', async () => {
  const told: string[] = [];
  const grows = { ...measuredByStart([]), fresh: true as const };
  const { measures } = await runBench(grows, { ...context(), log: (line) => told.push(line) }, 5);
  expect(measures[0]?.ours.rounds).toBe(1);
  expect(told[0]).toBe('grows: 1 round in place of 5: its start is what it measures');
});

test('growth is such a bench: its world is filled by its start', async () => {
  const names = (await loadBenches())
    .filter(({ startIsMeasured }) => startIsMeasured)
    .map(({ name }) => name);
  expect(names).toEqual(['growth']);
});
