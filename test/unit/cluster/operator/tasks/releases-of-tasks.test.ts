import { describe, expect, test } from 'vitest';
import { decideTask } from '../../../../../src/cluster/operator/tasks/decide-task.ts';
import type { ObservedTask } from '../../../../../src/cluster/operator/tasks/observed-task.ts';
import { resolvePolicy } from '../../../../../src/domain/policy/policy.ts';
import { deploymentWith, JOB_UID, jobWith, NOW, observed, runningPod, taskWith } from './fixtures.ts';

/** The task of a release starts only when the deployment has recorded its Job. */

const decide = (more: Partial<ObservedTask>) => decideTask(observed(more), resolvePolicy('cloud'), NOW);
const release = { origin: 'release', revision: 3 } as const;
const task = (options: Parameters<typeof taskWith>[0] = {}) => taskWith({ spec: release, ...options });
const queued = { state: 'QUEUED', jobUid: JOB_UID } as const;

function deployment(jobUid: string | null, spec: object = {}): ObservedTask['deployment'] {
  const found = deploymentWith({ spec });
  const record = { number: 3, task: 'migrate', taskUid: 'uid-of-migrate' };
  const status = jobUid === null ? {} : { release: { ...record, jobUid } };
  return { ...found, resource: { ...found.resource, status } };
}

describe('a release', () => {
  test('creates its Job, and does not start it before the deployment has recorded it', () => {
    expect(decide({ task: task(), deployment: deployment(null) }).step.kind).toBe('create');
    const suspended = jobWith({ suspend: true });
    for (const recorded of [null, 'uid-of-another-job'])
      expect(
        decide({ task: task({ status: queued }), job: suspended, deployment: deployment(recorded) }),
      ).toMatchObject({
        status: { state: 'QUEUED', jobUid: JOB_UID },
        step: { kind: 'none' },
      });
    const recorded = deployment(JOB_UID);
    expect(decide({ task: task({ status: queued }), job: suspended, deployment: recorded }).step.kind).toBe(
      'start',
    );
  });

  test('creates its Job again if it is missing before it was recorded, and fails if it is missing afterwards', () => {
    const missing = { task: task({ status: queued }), job: null };
    expect(decide({ ...missing, deployment: deployment(null) })).toMatchObject({
      status: { state: 'QUEUED' },
      step: { kind: 'create' },
    });
    expect(decide({ ...missing, deployment: deployment(JOB_UID) }).status).toMatchObject({
      state: 'FAILED',
      reason: 'JobLost',
    });
  });

  test('keeps a running Job while the cache does not show its record', () => {
    const status = { state: 'RUNNING', jobUid: JOB_UID, startTime: '2026-01-02T03:04:04Z' } as const;
    const more = { task: task({ status }), job: jobWith(), pod: runningPod() };
    expect(decide({ ...more, deployment: deployment(null) })).toMatchObject({
      status: { state: 'RUNNING' },
      step: { kind: 'none' },
    });
  });

  test('waits without a limit before its record while the deployment is off, being deleted or paused', () => {
    const old = task({ created: -4_000 });
    const deletion = { requestTime: '2026-01-01T00:00:00Z', restorableUntilTime: '2026-01-03T00:00:00Z' };
    for (const spec of [{ suspend: true }, { suspend: true, deletion }])
      expect(decide({ task: old, deployment: deployment(null, spec) }).status.state).toBe('QUEUED');
    const paused = { ...deploymentWith(), isPaused: true };
    expect(decide({ task: old, deployment: paused })).toMatchObject({
      status: { state: 'QUEUED', reason: 'DeploymentPaused' },
      recheckAt: null,
    });
  });

  test('is ended after its record when the deployment is switched off', () => {
    const more = { task: task({ status: queued }), job: jobWith() };
    expect(decide({ ...more, deployment: deployment(JOB_UID, { suspend: true }) }).step).toEqual({
      kind: 'delete',
      why: 'DeploymentOff',
    });
  });

  test('is cancelled when a newer revision is desired before its command has started, and not afterwards', () => {
    const newer = { revision: { number: 4 } };
    expect(decide({ task: task(), deployment: deployment(null, newer) }).status).toMatchObject({
      state: 'CANCELLED',
      reason: 'Superseded',
    });
    const found = deployment(null, newer);
    const paused = found === null ? null : { ...found, isPaused: true };
    expect(decide({ task: task(), deployment: paused })).toMatchObject({
      status: { state: 'QUEUED', reason: 'DeploymentPaused' },
      step: { kind: 'none' },
    });
    const recorded = deployment(JOB_UID, newer);
    expect(decide({ task: task({ status: queued }), job: jobWith(), deployment: recorded }).step).toEqual({
      kind: 'delete',
      why: 'Superseded',
    });
    const begun = { task: task({ status: queued }), job: jobWith(), pod: runningPod() };
    expect(decide({ ...begun, deployment: recorded })).toMatchObject({
      status: { state: 'RUNNING' },
      step: { kind: 'none' },
    });
  });

  test('fails at once when its name is taken', () => {
    expect(decide({ task: task(), isNameTaken: true, deployment: deployment(null) }).status).toMatchObject({
      state: 'FAILED',
      reason: 'Conflict',
    });
  });
});
