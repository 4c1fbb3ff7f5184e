/** Release commands: an operator with the rights of its account, a real API server and Job controller. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { UntypedObject } from '../../../../src/cluster/kube/client/object.ts';
import type { DeploymentTaskStatus } from '../../../../src/contract/resource/deployment-task.ts';
import type { ManagedDeploymentStatus } from '../../../../src/contract/resource/managed-deployment.ts';
import { waitFor } from '../../../cluster/wait.ts';
import { kubectlAsAdmin } from '../../harness/environment.ts';
import {
  type OperatorWorld,
  operatorWorld,
  type RunningOperator,
  startOperator,
} from '../../harness/operator.ts';

let world: OperatorWorld;
let operator: RunningOperator;
beforeAll(async () => {
  world = await operatorWorld('releases');
  operator = await startOperator(world.settings);
});
afterAll(async () => {
  await operator?.stop();
  await world?.end();
});

/** A revision whose pods need no data services. */
const revision = (number: number, releaseCommand?: string[]) => ({
  revision: { number, image: `registry.example/shop:${number}` },
  database: { enabled: false },
  cache: { enabled: false },
  podTemplate: releaseCommand === undefined ? {} : { releaseCommand },
});

const untilStatus = (
  name: string,
  what: string,
  holds: (status: ManagedDeploymentStatus) => boolean,
): Promise<ManagedDeploymentStatus> =>
  waitFor(
    `${name} to have ${what}`,
    async () => {
      const status = await world.status(name);
      return holds(status) ? status : undefined;
    },
    { timeoutMs: 60_000, intervalMs: 100 },
  );
const taskOf = async (name: string) =>
  ((await world.get('mtask', name))?.['status'] ?? {}) as DeploymentTaskStatus;
const untilTask = (name: string, state: string) =>
  waitFor(
    `the task ${name} to be ${state}`,
    async () => ((await taskOf(name)).state === state ? true : undefined),
    {
      timeoutMs: 60_000,
      intervalMs: 100,
    },
  );
const imageOf = async (name: string) => {
  const found = await world.get('deployment', `${name}-api`);
  const { template } = (found?.['spec'] ?? {}) as {
    template?: { spec: { containers: { image: string }[] } };
  };
  return template?.spec.containers[0]?.image;
};
const create = (manifest: object) =>
  kubectlAsAdmin([`--namespace=${world.namespace}`, 'create', '-f', '-'], JSON.stringify(manifest));

test('runs the release command once before any pod of the revision, for the first and the next revision', async () => {
  await world.apply('shop', revision(1, ['migrate']));
  await world.ready('shop');
  const first = await world.status('shop');
  expect(first).toMatchObject({
    activeRevision: { number: 1 },
    release: { number: 1, task: 'shop-1-release', succeeded: true },
  });
  const task = await world.get('mtask', 'shop-1-release');
  expect(task).toMatchObject({
    metadata: { uid: first.release?.taskUid },
    spec: { origin: 'release', command: ['migrate'], revision: 1 },
    status: { state: 'SUCCEEDED', jobUid: first.release?.jobUid },
  });
  const api = (await world.get('deployment', 'shop-api')) as UntypedObject;
  expect(Date.parse(api.metadata.creationTimestamp ?? '')).toBeGreaterThanOrEqual(
    Date.parse((await taskOf('shop-1-release')).completionTime ?? ''),
  );
  await world.apply('shop', revision(2, ['migrate']));
  await world.ready('shop');
  const jobs = await world.names('jobs', 'app.kubernetes.io/instance=shop');
  expect(jobs.sort()).toEqual(['shop-1-release', 'shop-2-release']);
});

test('does not run it again when source_config changes, or the operator restarts', async () => {
  await world.apply('calm', revision(1, ['migrate']));
  await world.ready('calm');
  const sized = { api: { resources: { requests: { cpu: '10m' } } } };
  await world.apply('calm', { ...revision(1, ['migrate']), components: sized });
  await world.ready('calm');
  await operator.stop();
  operator = await startOperator(world.another('second'));
  await world.apply('calm', revision(1, ['migrate']));
  await world.ready('calm');
  expect(await world.names('jobs', 'app.kubernetes.io/instance=calm')).toEqual(['calm-1-release']);
});

test('fails the revision with exit code and last lines, and the old version still serves', async () => {
  await world.apply('bad', revision(1));
  await world.ready('bad');
  await world.apply('bad', revision(2, ['exit-3']));
  const status = await untilStatus('bad', 'a failed release', (one) => one.failedRevision !== undefined);
  expect(status).toMatchObject({
    activeRevision: { number: 1 },
    failedRevision: {
      number: 2,
      reason: 'ReleaseFailed',
      failureSource: { kind: 'DeploymentTask', object: 'bad-2-release', exitCode: 3, container: 'app' },
    },
  });
  expect(status.failedRevision?.failureSource?.detail).toContain('last line');
  expect(status.failedRevision?.message).toContain('exit code 3');
  expect(await imageOf('bad')).toBe('registry.example/shop:1');
  await world.apply('bad', revision(3, ['migrate']));
  await world.ready('bad');
  expect(await imageOf('bad')).toBe('registry.example/shop:3');
});

test('starts no pod of a first revision whose release command fails', async () => {
  await world.apply('never', revision(1, ['exit-3']));
  await untilStatus(
    'never',
    'a failed release',
    ({ failedRevision }) => failedRevision?.reason === 'ReleaseFailed',
  );
  expect(await world.get('deployment', 'never-api')).toBeUndefined();
});

test('fails with ReleaseLost when the Job or the task of a running release is deleted, and starts no second one', async () => {
  for (const [name, kind] of [
    ['lostjob', 'job'],
    ['losttask', 'mtask'],
  ] as const) {
    await world.apply(name, revision(1, ['sleep']));
    await untilTask(`${name}-1-release`, 'RUNNING');
    const running = await world.status(name);
    expect(running.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({
      status: 'False',
      reason: 'ReleaseInProgress',
    });
    const first = await world.get('job', `${name}-1-release`);
    await world.kubectl('delete', kind, `${name}-1-release`);
    await untilStatus(
      name,
      'a lost release',
      ({ failedRevision }) => failedRevision?.reason === 'ReleaseLost',
    );
    // The garbage collector removes the Job of a deleted task some time later.
    const jobs = new Set([first?.metadata.uid]);
    await waitFor(
      `the Job of ${name} to be gone`,
      async () => {
        const job = await world.get('job', `${name}-1-release`);
        if (job !== undefined) jobs.add(job.metadata.uid);
        return job === undefined;
      },
      { timeoutMs: 60_000, intervalMs: 100 },
    );
    expect(jobs.size, 'Jobs of the release').toBe(1);
    expect(await world.get('deployment', `${name}-api`)).toBeUndefined();
  }
});

test('does not take over a task or a Job that another client has created under the expected name', async () => {
  const task = {
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'DeploymentTask',
    metadata: { name: 'held-1-release' },
    spec: { deployment: 'held', command: ['migrate'], revision: 1 },
  };
  await create(task);
  await world.apply('held', revision(1, ['migrate']));
  const held = await untilStatus('held', 'a conflict', ({ failedRevision }) => failedRevision !== undefined);
  expect(held.failedRevision).toMatchObject({ reason: 'ReleaseFailed' });
  expect(held.failedRevision?.message).toContain('held-1-release exists that Berth did not create');
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'a', image: 'a' }] } };
  await create({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'kept-1-release' },
    spec: { suspend: true, template },
  });
  await world.apply('kept', revision(1, ['migrate']));
  const kept = await untilStatus('kept', 'a conflict', ({ failedRevision }) => failedRevision !== undefined);
  expect(kept.failedRevision?.message).toContain('a Job kept-1-release exists');
  expect((await world.get('job', 'kept-1-release'))?.['spec']).toMatchObject({ suspend: true });
});

test('waits for the release command of an earlier revision, which then is not rolled out', async () => {
  await world.apply('races', revision(1, ['sleep']));
  await untilTask('races-1-release', 'RUNNING');
  await world.apply('races', revision(2, ['migrate']));
  const waits = ({ conditions }: ManagedDeploymentStatus) =>
    conditions?.some(({ message }) =>
      message?.includes('the release command of revision 1 has not ended'),
    ) === true;
  await untilStatus('races', 'a waiting release', waits);
  expect(await world.get('mtask', 'races-2-release')).toBeUndefined();
  await world.kubectl('annotate', 'mtask', 'races-1-release', 'berth.dev/cancel=true');
  await world.ready('races');
  expect(await world.status('races')).toMatchObject({
    activeRevision: { number: 2 },
    release: { number: 2, succeeded: true },
  });
});
