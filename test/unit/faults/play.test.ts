/** What is told of a plan that breaks by itself. */
import { expect, test } from 'vitest';
import { EffectNotMet } from '../../faults/kill-plans.ts';
import type { FaultPlan } from '../../faults/plan.ts';
import { playOnce, type Stage } from '../../faults/play.ts';
import type { OwnedWorld } from '../../faults/world.ts';

const UNSETTLED = 'shop: generation 2, observed 1, acknowledged 2';

interface Fake {
  /** Of the comparison of states. */
  readonly sql?: () => Promise<{ line: string }[]>;
  readonly misplayed?: string[];
}

function play(run: FaultPlan['run'], { sql = async () => [{ line: UNSETTLED }], misplayed = [] }: Fake = {}) {
  const world = {
    begin: () => undefined,
    processes: () => [],
    misplayed: () => misplayed,
    logs: () => new Map([['operator', 'one\ntwo\n']]),
    kubernetes: { openWatches: () => [{}] },
    sql,
  } as unknown as OwnedWorld;
  const stage = { world, goingBack: { seen: async () => [] }, lives: { clear: () => undefined } };
  const plan: FaultPlan = { name: 'kill/a', kind: 'kill', says: 'a', run };
  return playOnce(plan, stage as unknown as Stage, { reference: undefined, tell: () => undefined });
}

const STATES = ['states when it broke, unlike what is wanted:', UNSETTLED];

test('one that waits in vain tells how the states differ, and what the processes said last', async () => {
  const violations = await play(async () => {
    throw new Error('failed to wait for READY');
  });
  expect(violations).toEqual([
    {
      oracle: 'plan',
      message: 'failed to wait for READY',
      diff: STATES,
      logs: ['operator: one', 'operator: two'],
    },
  ]);
});

test('how the states differ stands beneath what the plan has found itself', async () => {
  const found = { oracle: 'plan', message: 'two', diff: ['a', 'b'] } as const;
  expect(await play(async () => [found, found])).toEqual([{ ...found, diff: ['a', 'b', ...STATES] }, found]);
});

test('the first that is told has the states: a rule that failed comes before what the plan found', async () => {
  const [first, second] = await play(async () => [{ oracle: 'plan', message: 'late' }], {
    misplayed: ['no'],
  });
  expect(first).toEqual({ oracle: 'plan', message: 'no', diff: STATES });
  expect(second).toEqual({ oracle: 'plan', message: 'late' });
});

test('states that cannot be looked at leave what the plan has found', async () => {
  const sql = async () => {
    throw new Error('the database is away');
  };
  const [first] = await play(async () => [{ oracle: 'plan', message: 'late' }], { sql });
  expect(first?.diff).toEqual(['states when it broke: failed to compare: the database is away']);
});

test('an effect that was not met is no end: the plan is tried again', async () => {
  const effect = { role: 'api', what: 'commit deployments', occurrence: 1 } as const;
  const run = async () => {
    throw new EffectNotMet(effect);
  };
  await expect(play(run)).rejects.toThrow(EffectNotMet);
});
