import { expect, test } from 'vitest';
import { currentStatus } from '../../../../src/contract/resource/earlier-status.ts';
import {
  type ManagedDeploymentStatus,
  managedDeploymentStatusSchema,
} from '../../../../src/contract/resource/managed-deployment.ts';

const source = { component: 'api', kind: 'Pod', object: 'web-1', container: 'app', exit_code: 1 };
const failure = (number: number) => ({ number, reason: 'CrashLoop', message: 'why', generation: 4 });
const symptom = { component: 'api', reason: 'CrashLoop', message: 'why', since: '2026-01-01T00:00:00Z' };

function statusWith(named: object): ManagedDeploymentStatus {
  return managedDeploymentStatusSchema.parse({
    observedGeneration: 3,
    failedRevision: { ...failure(2), ...named },
    failedChange: { ...failure(1), ...named },
    symptoms: [symptom, { ...symptom, ...named, component: 'queue' }],
  });
}

test('the source of a failure has its new name in a status of the previous version', () => {
  const stored = statusWith({ culprit: source });
  expect(currentStatus(stored)).toEqual(statusWith({ failureSource: source }));
  expect(stored).toEqual(statusWith({ culprit: source }));
});

test('a status of this version stays the same, and the new name wins over the earlier one', () => {
  const status = statusWith({ failureSource: source });
  expect(currentStatus(status)).toEqual(status);
  expect(currentStatus(statusWith({ failureSource: source, culprit: { component: 'queue' } }))).toEqual(
    status,
  );
  expect(currentStatus({ observedGeneration: 3 })).toEqual({ observedGeneration: 3 });
});
