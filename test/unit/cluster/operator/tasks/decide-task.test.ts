import { describe, expect, test } from 'vitest';
import { decideTask } from '../../../../../src/cluster/operator/tasks/decide-task.ts';
import type { ObservedTask } from '../../../../../src/cluster/operator/tasks/observed-task.ts';
import { ANNOTATIONS } from '../../../../../src/contract/resource/names.ts';
import { resolvePolicy } from '../../../../../src/domain/policy/policy.ts';
import {
  at,
  deploymentWith,
  endedPod,
  JOB_UID,
  jobWith,
  NOW,
  observed,
  podWith,
  runningPod,
  taskWith,
} from './fixtures.ts';

const SELF_HOSTED = resolvePolicy('self_hosted');
const decide = (more: Partial<ObservedTask> = {}, policy = SELF_HOSTED) =>
  decideTask(observed(more), policy, NOW);
const CANCEL = { [ANNOTATIONS.cancel]: 'true' };
const recorded = { state: 'QUEUED', reason: 'Starting', jobUid: JOB_UID } as const;
const started = { state: 'RUNNING', jobUid: JOB_UID, startTime: at(-1) } as const;

describe('the start of a task', () => {
  test('makes the deployment the owner first', () => {
    expect(decide({ task: taskWith({ owned: false }) })).toMatchObject({
      status: { state: 'QUEUED', reason: 'Starting' },
      step: { kind: 'adopt' },
    });
  });

  test('creates the Job with the template of the active revision, or of the named one', () => {
    expect(decide()).toMatchObject({
      status: { state: 'QUEUED', revision: { number: 2, id: 'r2' } },
      step: { kind: 'create', template: { spec: { containers: [{ image: 'app:2' }] } } },
    });
    expect(decide({ task: taskWith({ spec: { revision: 3 } }) }).step).toMatchObject({
      kind: 'create',
      template: { spec: { containers: [{ image: 'app:3' }] } },
    });
  });

  test('records the uid of the suspended Job with the step that starts it', () => {
    expect(decide({ job: jobWith({ suspend: true }) })).toMatchObject({
      status: { state: 'QUEUED', jobUid: JOB_UID },
      step: { kind: 'start' },
    });
  });

  test('does not start a Job that another writer lets run under the same name', () => {
    expect(decide({ job: jobWith() })).toMatchObject({
      status: { state: 'QUEUED', reason: 'Conflict' },
      step: { kind: 'none' },
    });
    const other = { status: recorded };
    expect(
      decide({ task: taskWith(other), job: jobWith({ uid: 'uid-of-other', suspend: true }) }),
    ).toMatchObject({
      status: { state: 'FAILED', reason: 'JobLost' },
      step: { kind: 'none' },
    });
  });

  test.each([
    ['the deployment is missing', { deployment: null }, 'DeploymentNotFound'],
    ['the operator is paused', { deployment: deploymentWith({ isPaused: true }) }, 'DeploymentPaused'],
    ['no revision is active', { deployment: deploymentWith({ active: null }) }, 'DeploymentNotReady'],
    [
      'another resource has its identity',
      { deployment: deploymentWith({ isAccepted: false }) },
      'DeploymentNotReady',
    ],
    ['the name is taken', { isNameTaken: true }, 'Conflict'],
  ])('waits while %s, and fails after five minutes', (_what, more, reason) => {
    const waits = decide(more);
    expect(waits).toMatchObject({ status: { state: 'QUEUED', reason }, step: { kind: 'none' } });
    expect(waits.recheckAt).toBe(Date.parse(at(295)));
    const late = decide({ ...more, task: taskWith({ created: -300 }) });
    expect(late.status).toMatchObject({ state: 'FAILED', reason, completionTime: at(0).replace('.000', '') });
  });

  test.each([
    ['a revision that the cluster no longer has', { spec: { revision: 1 } }, 'RevisionNotFound'],
    ['a component that the revision lacks', { spec: { component: 'queue' } }, 'ComponentNotFound'],
    ['more cores than the policy allows', { spec: { cpu: '257' } }, 'Refused'],
    ['more memory than the policy allows', { spec: { memory: '5Ti' } }, 'Refused'],
  ])('fails at once for %s', (_what, options, reason) => {
    expect(decide({ task: taskWith(options) })).toMatchObject({
      status: { state: 'FAILED', reason },
      step: { kind: 'none' },
    });
  });

  test('waits for a revision that is newer than the stored ones', () => {
    expect(decide({ task: taskWith({ spec: { revision: 4 } }) }).status).toMatchObject({
      state: 'QUEUED',
      reason: 'DeploymentNotReady',
    });
  });

  test('is not allowed by custom resource in cloud mode, unless Berth created the task', () => {
    const cloud = resolvePolicy('cloud');
    expect(decide({}, cloud).status).toMatchObject({ state: 'FAILED', reason: 'Refused' });
    expect(decide({ task: taskWith({ spec: { origin: 'api' } }) }, cloud).step.kind).toBe('create');
  });

  test('repeats a rejected Job, and fails after five minutes', () => {
    const refusal = { reason: 'Refused', message: 'exceeded quota' } as const;
    expect(decide({ refusal })).toMatchObject({
      status: { state: 'QUEUED', reason: 'Refused', message: 'exceeded quota' },
      step: { kind: 'create' },
    });
    const status = { state: 'QUEUED', reason: 'Refused', message: 'exceeded quota' } as const;
    expect(decide({ task: taskWith({ status, created: -300 }) }).status).toMatchObject({
      state: 'FAILED',
      reason: 'Refused',
      message: 'exceeded quota',
    });
  });
});

describe('the run of a task', () => {
  const task = taskWith({ status: recorded });
  const run = (more: Partial<ObservedTask>) => decide({ task, job: jobWith(), ...more });

  test('is RUNNING when its container runs', () => {
    expect(run({ pod: runningPod() }).status).toEqual({
      state: 'RUNNING',
      jobUid: JOB_UID,
      revision: { number: 2, id: 'r2' },
      startTime: at(-1),
    });
  });

  test('is SUCCEEDED or FAILED by its exit code', () => {
    expect(run({ pod: endedPod(0) }).status).toMatchObject({
      state: 'SUCCEEDED',
      exitCode: 0,
      startTime: at(-10),
      completionTime: at(-1),
    });
    expect(run({ pod: endedPod(3) }).status).toMatchObject({
      state: 'FAILED',
      reason: 'CommandFailed',
      exitCode: 3,
    });
  });

  test('does not show the output of the command', () => {
    expect(JSON.stringify(run({ pod: endedPod(3, { message: 'password hunter2' }) }))).not.toContain(
      'hunter2',
    );
  });

  test.each([
    ['memory', endedPod(137, { reason: 'OOMKilled' }), 'FAILED', 'OutOfMemory'],
    ['a program that does not exist', endedPod(128, { reason: 'StartError' }), 'FAILED', 'CommandFailed'],
    ['a lost node', endedPod(137, { reason: 'ContainerStatusUnknown' }), 'FAILED', 'PodLost'],
    [
      'an eviction',
      endedPod(
        143,
        {},
        { conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' }] },
      ),
      'FAILED',
      'PodLost',
    ],
    ['the timeout', endedPod(143, {}, { reason: 'DeadlineExceeded' }), 'TIMED_OUT', 'TimedOut'],
    [
      'an init container',
      podWith(null, {
        phase: 'Failed',
        initContainerStatuses: [{ name: 'setup', state: { terminated: { exitCode: 2 } } }],
      }),
      'FAILED',
      'InitContainerFailed',
    ],
  ])('names %s as the cause', (_what, pod, state, reason) => {
    expect(run({ pod }).status).toMatchObject({ state, reason });
  });

  test('waits for the pod of an ended Job before it decides without the pod', () => {
    const lag = run({ job: jobWith({ end: { type: 'Failed', reason: 'BackoffLimitExceeded' } }) });
    expect(lag).toMatchObject({ status: { state: 'QUEUED' }, recheckAt: Date.parse(at(5)) });
    const late = run({ job: jobWith({ end: { type: 'Failed', reason: 'BackoffLimitExceeded', at: -6 } }) });
    expect(late.status).toMatchObject({ state: 'FAILED', reason: 'PodLost' });
    const complete = run({ job: jobWith({ end: { type: 'Complete', at: -6 } }) });
    expect(complete.status).toMatchObject({ state: 'SUCCEEDED', exitCode: 0 });
    const deadline = { type: 'Failed', reason: 'DeadlineExceeded', at: -6 } as const;
    const over = run({ task: taskWith({ status: started }), job: jobWith({ end: deadline }) });
    expect(over.status).toMatchObject({ state: 'TIMED_OUT', startTime: at(-1) });
  });

  test('fails without its Job, because its command may have started', () => {
    expect(run({ job: null }).status).toMatchObject({ state: 'FAILED', reason: 'JobLost' });
    expect(run({ job: null, pod: runningPod() }).status).toMatchObject({ state: 'RUNNING' });
  });

  test('reports a final state only once', () => {
    const status = { state: 'FAILED', reason: 'CommandFailed', exitCode: 3, completionTime: at(-1) } as const;
    const later = decide({
      task: taskWith({ status, annotations: CANCEL }),
      job: jobWith(),
      pod: endedPod(0),
    });
    expect(later).toEqual({ status, step: { kind: 'none' }, recheckAt: null });
  });
});

describe('a pod that does not start', () => {
  const task = taskWith({ status: recorded });

  test('is reported with its cause, and given up after five minutes', () => {
    const waiting = { reason: 'ImagePullBackOff', message: 'not found' };
    const pod = podWith({ waiting });
    const waits = decide({ task, job: jobWith(), pod });
    expect(waits.status).toMatchObject({ state: 'QUEUED', reason: 'Starting' });
    expect(waits.status.message).toContain('ImagePullBackOff: not found');
    const late = decide({ task, job: jobWith({ started: -300 }), pod });
    expect(late).toMatchObject({
      status: { state: 'QUEUED', reason: 'NotStarted' },
      step: { kind: 'delete', why: 'NotStarted' },
    });
    const gone = decide({ task: taskWith({ status: late.status }) });
    expect(gone.status).toMatchObject({ state: 'FAILED', reason: 'NotStarted' });
    expect(gone.status.message).toContain('ImagePullBackOff');
  });

  test('names the claims of a volume that another pod uses', () => {
    const message =
      '0/3 nodes are available: 3 node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode.';
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }];
    const { status } = decide({ task, job: jobWith(), pod: podWith(null, { conditions }) });
    expect(status).toMatchObject({ state: 'QUEUED', reason: 'VolumeInUse' });
    expect(status.message).toContain('volume claims of the task: shop-files');
  });

  test('is reported when the Job has no pod at all', () => {
    expect(decide({ task, job: jobWith() }).status.message).toBeUndefined();
    expect(decide({ task, job: jobWith({ started: -10 }) }).status.message).toContain('has no pod');
  });
});

describe('the end of a task by the operator', () => {
  const running = taskWith({ status: started });
  const cancelled = taskWith({ status: started, annotations: CANCEL });

  test('is CANCELLED when its pod has ended, and RUNNING until then', () => {
    const first = decide({ task: cancelled, job: jobWith(), pod: runningPod() });
    expect(first).toMatchObject({
      status: { state: 'RUNNING', reason: 'Cancelling' },
      step: { kind: 'delete', why: 'Cancelling' },
    });
    const status = { ...started, reason: 'Cancelling' } as const;
    const task = taskWith({ status, annotations: CANCEL });
    expect(decide({ task, pod: runningPod() }).status.state).toBe('RUNNING');
    const { status: last } = decide({ task, pod: endedPod(143) });
    expect(last).toMatchObject({ state: 'CANCELLED', startTime: at(-1) });
    expect(last).not.toHaveProperty('exitCode');
    expect(decide({ task }).status.state).toBe('CANCELLED');
  });

  test('is SUCCEEDED if the command completed before', () => {
    expect(decide({ task: cancelled, job: jobWith(), pod: endedPod(0) }).status.state).toBe('SUCCEEDED');
  });

  test('ends at once if no Job exists, and deletes a Job that has not run', () => {
    const task = taskWith({ annotations: CANCEL });
    expect(decide({ task })).toMatchObject({ status: { state: 'CANCELLED' }, step: { kind: 'none' } });
    const { step, status } = decide({ task, job: jobWith({ suspend: true }) });
    expect({ step: step.kind, state: status.state }).toEqual({ step: 'delete', state: 'QUEUED' });
  });

  test.each([
    ['switched off', deploymentWith({ spec: { suspend: true } }), 'DeploymentOff'],
    ['deleted', deploymentWith({ deleting: true }), 'DeploymentDeleting'],
    [
      'in the grace period of its deletion',
      deploymentWith({ spec: { deletion: { requestTime: at(0), restorableUntilTime: at(60) } } }),
      'DeploymentDeleting',
    ],
  ])('happens when the deployment is %s', (_what, deployment, reason) => {
    expect(decide({ task: running, job: jobWith(), pod: runningPod(), deployment })).toMatchObject({
      status: { state: 'RUNNING', reason },
      step: { kind: 'delete' },
    });
    expect(decide({ deployment }).status).toMatchObject({ state: 'CANCELLED', reason });
  });

  test('continues when the deployment is switched on again meanwhile', () => {
    const task = taskWith({ status: { ...started, reason: 'DeploymentOff' } });
    expect(decide({ task }).status).toMatchObject({ state: 'CANCELLED', reason: 'DeploymentOff' });
  });

  test('waits while the operator is paused', () => {
    const deployment = deploymentWith({ isPaused: true });
    expect(decide({ task: cancelled, job: jobWith(), pod: runningPod(), deployment }).step.kind).toBe('none');
    expect(decide({ job: jobWith({ suspend: true }), deployment })).toMatchObject({
      status: { state: 'QUEUED', reason: 'DeploymentPaused' },
      step: { kind: 'none' },
    });
  });
});
