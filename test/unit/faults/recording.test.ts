import { expect, test } from 'vitest';
import type { Effect } from '../../faults/effects.ts';
import { killPlans } from '../../faults/plans/kill.ts';
import { inEveryRun, type Recording, readRecording, unrecorded } from '../../faults/record.ts';

const effect = (role: Effect['role'], what: string, occurrence = 1): Effect => ({ role, what, occurrence });
const APPLY = effect('operator', 'apply deployments shop-x-api');
const REPORT = effect('listener', 'post reports');

test('records only effects that occur in each run', () => {
  const rare = effect('operator', 'delete services shop-x');
  expect(inEveryRun([[APPLY, rare], [APPLY], [APPLY, rare]])).toEqual([APPLY]);
});

test('reports effects that the recording of a workload lacks, even if that of another has them', () => {
  const committed = effect('api', 'commit deployments+events');
  const recording: Recording = { create: [APPLY, REPORT], update: [APPLY, committed] };
  const again = effect('operator', APPLY.what, 2);
  expect(unrecorded(recording, 'create', [APPLY, REPORT, committed, again])).toEqual([committed, again]);
});

test('fails when the recording lacks the effect of a plan that npm test runs', () => {
  const recording = readRecording();
  const renamed = (recording['create'] ?? []).filter(({ what }) => what !== APPLY.what);
  expect(killPlans(recording).filter(({ inSubset }) => inSubset === true)).not.toHaveLength(0);
  expect(() => killPlans({ ...recording, create: renamed })).toThrow(
    'there is no plan kill/create/operator-apply-deployments-shop-x-api-1/after-send',
  );
});
