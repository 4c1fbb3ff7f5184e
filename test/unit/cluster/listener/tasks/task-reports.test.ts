import { expect, test } from 'vitest';
import { podSelector } from '../../../../../src/cluster/listener/logs/workload-pod.ts';
import {
  failedReport,
  isOfOrder,
  reportOf,
  type TaskObject,
  taskResource,
} from '../../../../../src/cluster/listener/tasks/task-reports.ts';
import { type TaskOrder, taskReportSchema } from '../../../../../src/contract/protocol/task-protocol.ts';
import { deploymentTaskSpecSchema } from '../../../../../src/contract/resource/deployment-task.ts';
import { ANNOTATIONS, taskName } from '../../../../../src/contract/resource/names.ts';

const DEPLOYMENT = '0198c0de-0000-7000-8000-0000000000d1';
const TASK = '0198c0de-0000-7000-8000-0000000000f1';
const order: TaskOrder = {
  task_id: TASK,
  deployment_id: DEPLOYMENT,
  name: 'shop-t-1',
  namespace: 'apps',
  deployment: 'shop',
  observed: false,
  cancel: false,
  origin: 'api',
  revision: 2,
  component: 'queue',
  command: ['migrate'],
  timeout_seconds: 60,
  cpu: '1.5',
  memory: '512Mi',
};

test('an order becomes a valid custom resource, with its owner and its cancellation', () => {
  const task = taskResource({ ...order, cancel: true }, 'uid-of-shop');
  expect(deploymentTaskSpecSchema.parse(task.spec)).toEqual(task.spec);
  expect(task.metadata).toMatchObject({
    annotations: { [ANNOTATIONS.cancel]: 'true' },
    ownerReferences: [{ kind: 'ManagedDeployment', name: 'shop', uid: 'uid-of-shop' }],
  });
  expect(isOfOrder(task, order)).toBe(true);
  expect(isOfOrder(task, { ...order, task_id: DEPLOYMENT })).toBe(false);
});

test('a status becomes a report that the hub accepts', () => {
  const task: TaskObject = {
    ...taskResource(order, undefined),
    status: {
      state: 'FAILED',
      reason: 'CommandFailed',
      exitCode: 3,
      revision: { number: 2, id: '2' },
      startTime: '2026-01-01T00:00:00Z',
      completionTime: '2026-01-01T00:00:09Z',
    },
  };
  task.metadata.uid = 'uid-1';
  const report = reportOf(task, DEPLOYMENT);
  expect(taskReportSchema.parse(report)).toMatchObject({
    task_id: TASK,
    uid: 'uid-1',
    state: 'FAILED',
    exit_code: 3,
    ended_at: '2026-01-01T00:00:09Z',
  });
  expect(taskReportSchema.parse(failedReport(order, 'JobLost', 'gone'))).toMatchObject({ uid: null });
});

test('tasks of deployments that were applied by hand are not reported', () => {
  expect(reportOf(taskResource(order, undefined), undefined)).toBeNull();
  expect(reportOf(taskResource(order, undefined), 'not-an-id')).toBeNull();
});

test('names of tasks fit into the name of a Job, and differ by the id', () => {
  const long = `${'a'.repeat(40)}-12345678`;
  expect(taskName(long, TASK)).toHaveLength(57);
  expect(taskName('shop-12345678', TASK)).toBe('shop-12345678-t-0000000000f1');
  expect(taskName('shop', TASK)).not.toBe(taskName('shop', DEPLOYMENT));
});

test('the logs of a task are those of its pod, and logs of a deployment contain none of a task', () => {
  const request = { request_id: 'r', deployment_id: DEPLOYMENT, namespace: 'apps' };
  const query = { limit: 10, follow: false };
  expect(podSelector({ ...request, query: { ...query, task_uid: 'uid-1' } })).toBe(
    `berth.dev/deployment-id=${DEPLOYMENT},app.kubernetes.io/component=task,berth.dev/task-uid=uid-1`,
  );
  expect(podSelector({ ...request, query })).not.toContain('task');
});
