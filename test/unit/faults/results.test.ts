/** What a run of all fault plans leaves in docs/reliability.md. */
import { expect, test } from 'vitest';
import { parseRun, withLater } from '../../faults/finished-run.ts';
import type { FaultPlan, Verdict } from '../../faults/plan.ts';
import { beneath, countsOf, resultLines, runMade, summary } from '../../faults/results.ts';

const plan = (name: string, kind: FaultPlan['kind']): FaultPlan => ({
  name,
  kind,
  says: name,
  run: async () => [],
});
const PLANS = [plan('kill/a', 'kill'), plan('kill/b', 'kill'), plan('soak/c', 'soak')];
const held = ({ name, kind }: FaultPlan, figures: string[] = []): Verdict => ({
  plan: name,
  kind,
  held: true,
  violations: [],
  figures,
  seconds: 20,
});
const [first, second, third] = PLANS as [FaultPlan, FaultPlan, FaultPlan];
const broken: Verdict = {
  ...held(second),
  held: false,
  violations: [
    { oracle: 'O1', message: 'unlike the run:\n  without a fault', diff: ['- replicas: 2', '+ replicas: 1'] },
    { oracle: 'O5', message: 'not quiet', diff: Array.from({ length: 32 }, (_, nr) => `get ${nr}`) },
  ],
};
const CONVERGED = [
  'converged 2.0 s after the last fault (lose)',
  'converged 12.3 s after the last fault (lose)',
];
const RESULT = {
  verdicts: [held(first, CONVERGED), broken, held(third, ['heap flat'])],
  left: [],
  seconds: 3_900,
};

test('the page tells command, settings, commit, duration, counts, each kind, figures, and of what broke oracles and diffs', () => {
  const made = { command: 'npm run faults -- --parallel 2', settings: ['FAULTS_A=1'], commit: 'abc1234' };
  const [head, ...lines] = resultLines(RESULT, PLANS, made);
  expect(head).toMatch(
    /^`FAULTS_A=1 npm run faults -- --parallel 2` at commit abc1234 on \d{4}-\d\d-\d\d, \d+ processors, 65 minutes: \*\*plans: 3, held: 2, broken: 1\*\*\.$/,
  );
  expect(lines.slice(0, 16)).toEqual([
    '',
    '| kind | plans | held | broken | at the latest converged after |',
    '| --- | --- | --- | --- | --- |',
    '| kill | 2 | 1 | 1 | 12.3 s |',
    '| soak | 1 | 1 | 0 |  |',
    '',
    '- `soak/c`: heap flat',
    '',
    'Broken: `kill/b`',
    '',
    '```text',
    'O1: unlike the run: without a fault',
    '  - replicas: 2',
    '  + replicas: 1',
    'O5: not quiet',
    '  get 0',
  ]);
  expect(lines.slice(-4)).toEqual(['  get 29', '  … and 2 more lines', '```', '']);
});

test('a run is told as it was typed, with the settings of its plans and the commit', () => {
  const made = runMade(['--parallel', '2', '--write'], { FAULTS_SOAK_SECONDS: '60', PATH: '/bin' });
  expect(made).toMatchObject({
    command: 'npm run faults -- --parallel 2',
    settings: ['FAULTS_SOAK_SECONDS=60'],
  });
  expect(runMade([], {})).toMatchObject({ command: 'npm run faults', settings: [] });
});

test('the closing lines tell what has no verdict, and the last one counts', () => {
  const result = { ...RESULT, verdicts: [held(first), broken], left: ['soak/c'] };
  expect(countsOf(result)).toEqual({ plans: 2, held: 1, broken: 1 });
  expect(summary(result)).toEqual([
    'left out: 1',
    '  soak/c',
    'broken: kill/b: O1: unlike the run:\n  without a fault',
    '  - replicas: 2',
    '  + replicas: 1',
    '3900 s',
    'plans: 2, held: 1, broken: 1',
  ]);
});

test('the closing lines tell at most 30 lines of how states differ; where there are none, what was said last', () => {
  const diff = Array.from({ length: 32 }, (_, nr) => `+ line ${nr}`);
  const logs = ['operator: it stands'];
  const summaryOf = (violation: Verdict['violations'][number]) =>
    summary({ verdicts: [{ ...broken, violations: [violation] }], left: [], seconds: 1 });
  const told = summaryOf({ oracle: 'plan', message: 'failed to wait', diff, logs });
  expect(told.slice(0, 2)).toEqual(['broken: kill/b: plan: failed to wait', '  + line 0']);
  expect(told.slice(-4)).toEqual([
    '  + line 29',
    '  … and 2 more lines',
    '1 s',
    'plans: 1, held: 0, broken: 1',
  ]);
  expect(summaryOf({ oracle: 'plan', message: 'failed to wait', logs })[1]).toBe('  operator: it stands');
});

test('beneath a violation stand how states differ and what was said last', () => {
  expect(beneath({ oracle: 'plan', message: 'm', diff: ['+ a'], logs: ['api: b'] })).toEqual([
    '+ a',
    'api: b',
  ]);
});

test('what many plans tell alike is told once, with how many', () => {
  const marked = ['O7: none of 15 objects that were marked is there any more', 'O7: nothing marked'];
  const verdicts = [
    held(first, [marked[0] ?? '', ...CONVERGED]),
    held(second, ['O7: none of 3 objects that were marked is there any more']),
    held(third, ['heap flat', marked[1] ?? '']),
  ];
  const made = { command: 'npm run faults', settings: [], commit: undefined };
  const lines = resultLines({ ...RESULT, verdicts }, PLANS, made, '2026-10-05');
  expect(lines[0]).toMatch(/^`npm run faults` on 2026-10-05, /);
  expect(lines.filter((line) => line.startsWith('- '))).toEqual([
    '- `soak/c`: heap flat',
    '- O7: none of N objects that were marked is there any more: 2 plans',
    '- O7: nothing marked: 1 plan',
  ]);
});

test('a run that is over is read from its JSON lines, of before too, and from the last one what it was', () => {
  const last = { plans: 3, held: 2, broken: 1, left: [], seconds: 3_900 };
  const text = (end: object) =>
    [
      '',
      '> berth@0.1.0 faults',
      ...RESULT.verdicts.map((verdict) => JSON.stringify(verdict)),
      JSON.stringify(end),
    ].join('\n');
  expect(parseRun(text(last))).toEqual({ result: RESULT });
  const made = { command: 'npm run faults', settings: [], commit: 'abc1234' };
  expect(parseRun(text({ ...last, made, day: '2026-10-05' }))).toEqual({
    result: RESULT,
    made,
    day: '2026-10-05',
  });
  expect(() => parseRun(text({ ...last, plans: 4 }))).toThrow('counts 4 plans, and there are 3');
  expect(() => parseRun(JSON.stringify(first))).toThrow('not over');
});

test('verdicts of later runs take the place of those before, and the page says of which', () => {
  const made = (command: string, commit: string) => ({ command, commit, settings: [] });
  const run = (verdicts: Verdict[], command: string, commit: string) => ({
    result: { verdicts, left: [], seconds: 30 },
    made: made(command, commit),
  });
  const whole = withLater({ result: RESULT, made: made('npm run faults', 'a1'), day: '2026-10-05' }, [
    run([held(second), { ...held(third), held: false }], 'npm run faults -- --only kill', 'b2'),
    run([held(third)], 'npm run faults -- --plan soak', 'c3'),
  ]);
  expect(countsOf(whole.result)).toEqual({ plans: 3, held: 3, broken: 0 });
  expect(whole.result.verdicts.map(({ plan: name }) => name)).toEqual(['kill/a', 'kill/b', 'soak/c']);
  const lines = resultLines(whole.result, PLANS, { ...made('npm run faults', 'a1'), again: whole.again });
  expect(lines[0]).toContain('**plans: 3, held: 3, broken: 0**');
  expect(lines.slice(1, 3)).toEqual([
    'Of these 2 by a later run: `npm run faults -- --only kill` at commit b2; broken before: `kill/b`.',
    'Of these 1 by a later run: `npm run faults -- --plan soak` at commit c3; broken before: `soak/c`.',
  ]);
  expect(lines.slice(3, 5)).toEqual(['', '| kind | plans | held | broken | at the latest converged after |']);
});
