/** Whether a recording lacks something that a workload does. */
import { expect, test } from 'vitest';
import type { Effect } from '../../faults/effects.ts';
import { metEachTime, type Recording, unrecorded } from '../../faults/record.ts';

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
