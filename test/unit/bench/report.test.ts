import { expect, test } from 'vitest';
import { type Bench, runBench } from '../../bench/bench.ts';
import { describeMachine } from '../../bench/machine.ts';
import { benchmarksPage, judgedAnew } from '../../bench/report.ts';

/** It takes 5 ms, of 30. */
const bench: Bench = {
  name: 'fake',
  what: 'Nothing.',
  floor: null,
  n: 30,
  runs: 1,
  measures: [
    { name: 'time', unit: 'ms' },
    { name: 'old', unit: 'ms', goal: { of: 'value', is: 'at most', limit: 5 } },
  ],
  start: async () => ({ ours: async () => ({ time: 5, old: 5 }) }),
};
const measured = () =>
  runBench(bench, {
    root: '/a',
    n: null,
    profiles: null,
    log: () => undefined,
    shared: (_name, start) => start(),
  });
const entry = async () => ({
  result: await measured(),
  machine: describeMachine(),
  command: 'npm run bench -- fake --write',
  date: '2026-01-01',
});
const tooMuch = { of: 'value', is: 'at most', limit: 1 } as const;
const verdicts = (result: Awaited<ReturnType<typeof measured>>) =>
  result.measures.map(({ name, goal, verdict }) => [name, goal?.limit ?? null, verdict]);

test('a result is judged by the goals that its bench has now: one that was added, taken away, or is for more', async () => {
  const result = await measured();
  const now = {
    ...bench,
    measures: [
      { name: 'time', unit: 'ms', goal: tooMuch },
      { name: 'old', unit: 'ms' },
    ],
  };
  expect(verdicts(result)).toEqual([
    ['time', null, 'no goal'],
    ['old', 5, 'reached'],
  ]);
  expect(verdicts(judgedAnew(result, [now]))).toEqual([
    ['time', 1, 'missed'],
    ['old', null, 'no goal'],
  ]);
  const forMore = judgedAnew(result, [{ ...now, goalsFrom: 31 }]);
  expect(verdicts(forMore)).toEqual([
    ['time', 1, 'too few'],
    ['old', null, 'no goal'],
  ]);
});

test('what there is no bench or measure for any more, or one in another unit, stays as it was judged', async () => {
  const result = await measured();
  expect(judgedAnew(result, [])).toEqual(result);
  const another = { ...bench, measures: [{ name: 'old', unit: 's', goal: tooMuch }] };
  expect(judgedAnew(result, [another])).toEqual(result);
});

test('a goal that is newer than the result, and a bench that was not run, are on the page as such', async () => {
  const newer = { name: 'newer', unit: 's', goal: { of: 'ratio', is: 'at most', limit: 2 } as const };
  const page = benchmarksPage(
    [await entry()],
    [
      { ...bench, measures: [...bench.measures, newer] },
      { ...bench, name: 'another', measures: [newer, { name: 'without a goal', unit: 's' }] },
    ],
  );
  expect(page).toContain('| another | newer, s | – | – | – | ≤ 2 × floor | not run yet |');
  expect(page).toContain('| [fake](#fake) | newer, s | – | – | – | ≤ 2 × floor | not run yet |');
  expect(page).not.toContain('without a goal');
});

test('a section says when its bench measures something else now, or says something else', async () => {
  const mark = 'Mind: the bench has changed since';
  const pageOf = async (now: Bench) => benchmarksPage([await entry()], [now]);
  expect(await pageOf(bench)).not.toContain(mark);
  expect(await pageOf({ ...bench, what: 'Something.' })).toContain(mark);
  expect(await pageOf({ ...bench, floor: 'Less.' })).toContain(mark);
  expect(await pageOf({ ...bench, measures: bench.measures.slice(1) })).toContain(mark);
  // A measure that a comparison alone has is in no section.
  const compared = { name: 'times', unit: 'times', only: 'compare' } as const;
  expect(await pageOf({ ...bench, measures: [...bench.measures, compared] })).not.toContain(mark);
});

test('the page has the goals of now, in its overview and with the bench', async () => {
  const page = benchmarksPage([await entry()], [{ ...bench, goalsFrom: 100 }]);
  expect(page).toContain('| [fake](#fake) | old, ms | 5 | – | – | ≤ 5 ms | too few |');
  expect(page).toContain('\n| old, ms | 5 | – | – | ≤ 5 ms | too few |');
});
