/** Whether a recording lacks something that a workload does. */
import { expect, test } from 'vitest';
import type { Effect } from '../../faults/effects.ts';
import { killPlans } from '../../faults/kill-plans.ts';
import { metEachTime, type Recording, readRecording, unrecorded } from '../../faults/record.ts';
import { recordingFigure } from '../../faults/recording-plans.ts';

const effect = (role: Effect['role'], what: string, occurrence = 1): Effect => ({ role, what, occurrence });

const APPLY = effect('operator', 'apply deployments shop-x-api');
const REPORT = effect('listener', 'post reports');
const RECORDING: Recording = {
  create: [APPLY, REPORT],
  update: [APPLY, effect('api', 'commit deployments+events')],
};

test('what is met in some runs only is left out, and the third of what is told as often as something is seen', () => {
  const third = effect('listener', 'post reports', 3);
  const rare = effect('operator', 'delete services shop-x');
  expect(
    metEachTime([
      [APPLY, rare, third],
      [APPLY, third],
      [third, APPLY, rare],
    ]),
  ).toEqual([APPLY]);
});

test('an effect that a workload has not recorded is told, also a second time of a recorded one', () => {
  const added = effect('operator', 'apply services shop-x');
  const again = effect('operator', APPLY.what, 2);
  expect(unrecorded(RECORDING, 'create', [APPLY, REPORT, added, again])).toEqual([added, again]);
});

test('what is recorded of another workload is not recorded of this one', () => {
  const committed = effect('api', 'commit deployments+events');
  expect(unrecorded(RECORDING, 'create', [committed])).toEqual([committed]);
});

test('what is told on the way is recorded as soon as it is anywhere, however often', () => {
  const told = effect('listener', 'post reports', 2);
  const unknown = effect('operator', 'update manageddeployments-status shop-x');
  expect(unrecorded(RECORDING, 'update', [told, unknown])).toEqual([unknown]);
});

test('the figure names what no plan kills at: what came in some runs, and what is told more often than is killed at', () => {
  const report = (occurrence: number) => effect('listener', 'post reports', occurrence);
  const rare = effect('operator', 'delete services shop-x');
  const first = [APPLY, report(1), report(3), report(4)];
  expect(recordingFigure(RECORDING, 'create', [first, [...first, rare], first.slice(0, 3)])).toBe(
    'create: 2 effects in each of 3 runs; met and in no kill plan of it: listener post reports 3, 4; operator delete services shop-x 1',
  );
  expect(recordingFigure(RECORDING, 'create', [[APPLY], [APPLY]])).toBe(
    'create: 1 effects in each of 2 runs, and a kill plan for all that was met',
  );
});

test('an effect that a plan of the subset kills at and that is called otherwise now is told', () => {
  const recording = readRecording();
  const renamed = (recording['create'] ?? []).filter(({ what }) => what !== APPLY.what);
  expect(killPlans(recording).filter(({ inSubset }) => inSubset === true)).not.toHaveLength(0);
  expect(() => killPlans({ ...recording, create: renamed })).toThrow(
    'there is no plan kill/create/operator-apply-deployments-shop-x-api-1/after-send, which npm test is to run',
  );
});
