/** Which plans a run of `npm run faults` is of. */
import { expect, test } from 'vitest';
import { chosen, fits, mixed, tooSmall } from '../../faults/choice.ts';
import type { FaultPlan } from '../../faults/plan.ts';
import { runPlans } from '../../faults/run.ts';

const plan = (name: string, kind: FaultPlan['kind'], more: Partial<FaultPlan> = {}): FaultPlan => ({
  name,
  kind,
  says: name,
  run: async () => [],
  ...more,
});
const PLANS = [
  plan('immutable/replaced/selector', 'immutable', { inSubset: true }),
  plan('immutable/replaced/selector-of-database', 'immutable'),
  plan('watch/cut/one', 'watch', { deadlineSeconds: 240 }),
  plan('walk', 'walk', { deadlineSeconds: 2400 }),
];
const ALL = { plan: [], only: [], subset: false };
const namesOf = (choice: Partial<Parameters<typeof chosen>[1]>) =>
  chosen(PLANS, { ...ALL, ...choice }).map(({ name }) => name);

test('a name that one plan has is that plan, though others begin so', () => {
  expect(namesOf({ plan: ['immutable/replaced/selector'] })).toEqual(['immutable/replaced/selector']);
});

test('a name that none has is the beginning of names', () => {
  expect(namesOf({ plan: ['immutable/replaced/sel', 'walk'] })).toEqual([
    'immutable/replaced/selector',
    'immutable/replaced/selector-of-database',
    'walk',
  ]);
});

test('several kinds', () => {
  expect(namesOf({ only: ['walk', 'watch'] })).toEqual(['watch/cut/one', 'walk']);
});

test.each([
  [{ plan: ['watch/'], only: ['kill'] }, /^no plan fits --plan watch\/ --only kill: leave one of these out/],
  [{ only: ['walk'], subset: true }, /^no plan fits --only walk --subset: /],
  [{ plan: ['wolk'] }, /^--plan: there is no plan "wolk": npm run faults -- --list/],
  [{ only: ['wolk'] }, /^--only: there is no kind "wolk": kill, /],
])('%j fits none: what to do is told', (choice, told) => {
  expect(() => namesOf(choice)).toThrow(told);
});

test('under a budget a plan without a deadline of its own is begun to the last, another one as long as it fits', () => {
  const [short, , watch, walk] = PLANS as [FaultPlan, FaultPlan, FaultPlan, FaultPlan];
  expect([short, watch, walk].map((one) => fits(one, 240))).toEqual([true, true, false]);
  expect([short, watch, walk].map((one) => fits(one, 239))).toEqual([true, false, false]);
  expect([short, watch, walk].map((one) => fits(one, 0))).toEqual([false, false, false]);
  expect(fits(walk, Number.POSITIVE_INFINITY)).toBe(true);
});

test('where the budget leaves out every plan nothing is started, and how much is needed is told', async () => {
  const plans = PLANS.slice(2);
  const { verdicts, left } = await runPlans({
    plans,
    parallel: 1,
    budgetSeconds: 60,
    signal: new AbortController().signal,
    onVerdict: () => expect.unreachable(),
  });
  expect({ verdicts, left }).toEqual({ verdicts: [], left: ['watch/cut/one', 'walk'] });
  expect(tooSmall(plans, 60)).toMatch(/^--budget 60 has left out every plan: .* 240 s; give --budget 240 or/);
});

test('one seed makes one order of all of them', () => {
  const orders = [1, 1, 2].map((seed) => mixed(PLANS, seed).map(({ name }) => name));
  expect(orders[0]).toEqual(orders[1]);
  expect(orders[0]).not.toEqual(orders[2]);
  expect(new Set(orders[2])).toEqual(new Set(PLANS.map(({ name }) => name)));
});
