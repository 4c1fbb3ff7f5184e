/** O9. A plan that holds does not show that the oracle finds a violation. */
import { expect, test } from 'vitest';
import { LABELS } from '../../../src/contract/resource/names.ts';
import { StartRecord, startProblems, type TaskResult } from '../../faults/oracles/task-starts.ts';

const deployment = (number: number, active?: number) => ({
  metadata: { name: 'shop', uid: 'shop-uid' },
  spec: { revision: { number }, podTemplate: { releaseCommand: ['migrate'] } },
  ...(active === undefined ? {} : { status: { activeRevision: { number: active } } }),
});
const task = (uid: string, spec: { origin?: string; revision?: number; taskId?: string }) => ({
  metadata: { name: uid, uid, ownerReferences: [{ kind: 'ManagedDeployment', uid: 'shop-uid' }] },
  spec,
});
const job = (uid: string, taskUid: string, suspend: boolean, end?: 'Complete' | 'Failed') => ({
  metadata: { name: taskUid, uid, ownerReferences: [{ kind: 'DeploymentTask', uid: taskUid }] },
  spec: { suspend },
  status: { conditions: end === undefined ? [] : [{ type: end, status: 'True' }] },
});
const pod = (uid: string, jobUid: string, state: object) => ({
  metadata: {
    name: uid,
    uid,
    labels: { 'batch.kubernetes.io/controller-uid': jobUid, [LABELS.taskUid]: 'any' },
  },
  status: { containerStatuses: [{ name: 'app', state }] },
});
const row = (state: string, more: Partial<TaskResult> = {}): TaskResult => ({
  id: 'id-1',
  name: 'task-1',
  resource_uid: 'task-1',
  state,
  ended: true,
  ...more,
});

/** A release of revision 2 that has started once and succeeded. */
function released(): StartRecord {
  const record = new StartRecord();
  record.noteDeployment(deployment(2));
  record.noteTask(task('release-2', { origin: 'release', revision: 2 }));
  record.noteJob(job('job-1', 'release-2', true));
  record.noteJob(job('job-1', 'release-2', false, 'Complete'));
  record.notePod(pod('pod-1', 'job-1', { terminated: {} }));
  record.noteDeployment(deployment(2, 2));
  return record;
}

/** A task of the API that has started. */
function ran(end?: 'Complete' | 'Failed'): StartRecord {
  const record = new StartRecord();
  record.noteTask(task('task-1', { origin: 'api', taskId: 'id-1' }));
  record.noteJob(job('job-1', 'task-1', false, end));
  return record;
}

test('accepts a release that started once, also if its Job was suspended before', () => {
  expect(startProblems(released(), [])).toEqual([]);
});

test('finds a release that started again in another Job, and one in another pod', () => {
  const again = released();
  again.noteTask(task('release-2-again', { origin: 'release', revision: 2 }));
  again.noteJob(job('job-2', 'release-2-again', false));
  expect(startProblems(again, [])).toEqual([
    'the release command of shop 2, which became active, started 2 times',
  ]);
  const pods = released();
  pods.notePod(pod('pod-2', 'job-1', { running: {} }));
  expect(startProblems(pods, [])).toEqual(['2 pods of release-2 started']);
});

test('finds a revision that became active without its release command', () => {
  const record = new StartRecord();
  record.noteDeployment(deployment(2));
  expect(startProblems(record, [])).toEqual([]);
  record.noteTask(task('release-2', { origin: 'release', revision: 2 }));
  record.noteJob(job('job-1', 'release-2', true));
  record.noteDeployment(deployment(2, 2));
  expect(startProblems(record, [])).toEqual([
    'the release command of shop 2, which became active, started 0 times',
  ]);
});

test('ignores a task of another origin under the name of a release', () => {
  const record = released();
  record.noteTask(task('by-hand', { origin: 'custom-resource', revision: 2 }));
  record.noteJob(job('job-2', 'by-hand', false));
  expect(startProblems(record, [])).toEqual([]);
});

test('finds a task of the API that started twice, under the same id', () => {
  const record = ran('Complete');
  record.noteTask(task('task-1-again', { origin: 'api', taskId: 'id-1' }));
  record.noteJob(job('job-2', 'task-1-again', false));
  expect(startProblems(record, [row('SUCCEEDED')])).toEqual(['the task task-1 started 2 times']);
});

test.each([
  ['accepts the state of the Job', ran('Complete'), row('SUCCEEDED'), []],
  ['accepts the failure of the Job', ran('Failed'), row('FAILED'), []],
  [
    'finds a success that the Job does not have',
    ran('Failed'),
    row('SUCCEEDED'),
    ['the task task-1 is SUCCEEDED, and its Job ended with Failed'],
  ],
  [
    'finds a failure of a Job that has succeeded',
    ran('Complete'),
    row('FAILED'),
    ['the task task-1 is FAILED, and its Job ended with Complete'],
  ],
  [
    'finds a row that has not ended although its Job has',
    ran('Complete'),
    row('RUNNING', { ended: false }),
    ['the task task-1 has not ended: RUNNING'],
  ],
  ['accepts a row that has not ended like its Job', ran(), row('RUNNING', { ended: false }), []],
])('%s', (_, record, found, problems) => {
  expect(startProblems(record, [found])).toEqual(problems);
});
