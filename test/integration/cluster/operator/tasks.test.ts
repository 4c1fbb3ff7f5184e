/** Tasks as custom resources: an operator with the rights of its account, a real API server and Job controller. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { UntypedObject } from '../../../../src/cluster/kube/client/object.ts';
import type { DeploymentTaskStatus } from '../../../../src/contract/resource/deployment-task.ts';
import { waitFor } from '../../../cluster/wait.ts';
import { manifestObjects } from '../../../installation/install.ts';
import { kubectlAsAdmin } from '../../harness/environment.ts';
import {
  type OperatorWorld,
  operatorWorld,
  type RunningOperator,
  startOperator,
} from '../../harness/operator.ts';

let world: OperatorWorld;
let operator: RunningOperator;
const APP = {
  revision: { number: 1, image: 'registry.example/shop:1' },
  database: { enabled: false },
  cache: { enabled: false },
};
beforeAll(async () => {
  world = await operatorWorld('tasks');
  operator = await startOperator(world.settings);
  await world.apply('shop', APP);
  await world.apply('off', { ...APP, suspend: true });
  await world.ready('shop');
});
afterAll(async () => {
  await operator?.stop();
  await world?.end();
});

const create = (name: string, spec: object) =>
  kubectlAsAdmin(
    [`--namespace=${world.namespace}`, 'create', '-f', '-'],
    JSON.stringify({ apiVersion: 'berth.dev/v1alpha1', kind: 'DeploymentTask', metadata: { name }, spec }),
  );
const statusOf = async (name: string) =>
  ((await world.get('mtask', name))?.['status'] ?? {}) as DeploymentTaskStatus;
const until = (name: string, state: string) =>
  waitFor(
    `the task ${name} to be ${state}`,
    async () => {
      const status = await statusOf(name);
      return status.state === state ? status : undefined;
    },
    { timeoutMs: 60_000, intervalMs: 100 },
  );

test('runs a command once with the pod of the component, and reports its exit code', async () => {
  await create('migrate', { deployment: 'shop', command: ['migrate', '--all'], timeoutSeconds: 60 });
  const status = await until('migrate', 'SUCCEEDED');
  expect(status).toMatchObject({ exitCode: 0, revision: { number: 1, id: '1' } });
  const task = await world.get('mtask', 'migrate');
  const resource = await world.get('mdep', 'shop');
  expect(task?.metadata.ownerReferences).toMatchObject([
    { kind: 'ManagedDeployment', uid: resource?.metadata.uid },
  ]);
  const job = await world.get('job', 'migrate');
  expect(job?.metadata).toMatchObject({ uid: status.jobUid, ownerReferences: [{ uid: task?.metadata.uid }] });
  expect(await world.names('pods', `berth.dev/task-uid=${task?.metadata.uid}`)).toHaveLength(1);
  const row = (await world.kubectl('get', 'mtask', 'migrate', '--no-headers')).split(/\s+/).slice(0, 4);
  expect(row).toEqual(['migrate', 'SUCCEEDED', '0', 'shop']);
  expect((await world.status('shop')).deploymentStatus).toBe('READY');
});

test('reports a failed command with its exit code and without its output', async () => {
  await create('fails', { deployment: 'shop', command: ['exit-3'] });
  const status = await until('fails', 'FAILED');
  expect(status).toMatchObject({ exitCode: 3, reason: 'CommandFailed' });
  expect(JSON.stringify(status)).not.toContain('last line');
});

test('cancels a running task, and keeps RUNNING until its pod has ended', async () => {
  await create('long', { deployment: 'shop', command: ['sleep'] });
  await until('long', 'RUNNING');
  await world.kubectl('annotate', 'mtask', 'long', 'berth.dev/cancel=true');
  expect(await until('long', 'CANCELLED')).not.toHaveProperty('exitCode');
  expect(
    await world.names('pods', 'app.kubernetes.io/component=task,batch.kubernetes.io/job-name=long'),
  ).toEqual([]);
});

test('fails a task whose Job was deleted by another client, and does not start a second one', async () => {
  await create('lost', { deployment: 'shop', command: ['sleep'] });
  const { jobUid } = await until('lost', 'RUNNING');
  await world.kubectl('delete', 'job', 'lost');
  expect(await until('lost', 'FAILED')).toMatchObject({ reason: 'JobLost', jobUid });
  expect(await world.get('job', 'lost')).toBeUndefined();
});

test('does not take over a Job of another client with the name of the task', async () => {
  const job = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'taken' },
    spec: {
      suspend: true,
      template: { spec: { restartPolicy: 'Never', containers: [{ name: 'a', image: 'a' }] } },
    },
  };
  await kubectlAsAdmin([`--namespace=${world.namespace}`, 'create', '-f', '-'], JSON.stringify(job));
  await create('taken', { deployment: 'shop', command: ['migrate'] });
  const refused = async () => ((await statusOf('taken')).reason === 'Conflict' ? true : undefined);
  await waitFor('the conflict to be reported', refused, { timeoutMs: 30_000 });
  expect((await world.get('job', 'taken'))?.['spec']).toMatchObject({ suspend: true });
});

test('does not run a task of a deployment that is switched off, or that does not have the component', async () => {
  await create('of-off', { deployment: 'off', command: ['migrate'] });
  await create('of-queue', { deployment: 'shop', component: 'queue', command: ['migrate'] });
  expect(await until('of-off', 'CANCELLED')).toMatchObject({ reason: 'DeploymentOff' });
  expect(await until('of-queue', 'FAILED')).toMatchObject({ reason: 'ComponentNotFound' });
});

test('rejects a change of the spec, a long name and a negative timeout', async () => {
  await create('fixed', { deployment: 'shop', command: ['migrate'] });
  const patch = (spec: object) =>
    world.kubectl('patch', 'mtask', 'fixed', '--type=merge', '-p', JSON.stringify({ spec }));
  await expect(patch({ command: ['other'] })).rejects.toThrow(/spec of a task cannot be changed/);
  await expect(patch({ timeoutSeconds: 5 })).rejects.toThrow(/spec of a task cannot be changed/);
  await expect(create('x'.repeat(58), { deployment: 'shop', command: ['a'] })).rejects.toThrow(/at most 57/);
  await expect(create('none', { deployment: 'shop', command: [] })).rejects.toThrow(/command/);
  await expect(
    create('negative', { deployment: 'shop', command: ['a'], timeoutSeconds: -1 }),
  ).rejects.toThrow(/timeoutSeconds/);
});

/** Installs the policy of the chart under another name, for the namespace of this file. */
async function installOrigins(): Promise<() => Promise<string>> {
  const policyName = `origins-${world.namespace}`;
  const objects = manifestObjects('ha')
    .filter(({ metadata }) => metadata.name === 'berth-task-origins')
    .map((object) => ({ ...object, metadata: { name: policyName } }));
  expect(objects).toHaveLength(2);
  const matchResources = {
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': world.namespace } },
  };
  const own = objects.map((object) =>
    object.kind === 'ValidatingAdmissionPolicyBinding'
      ? { ...object, spec: { policyName, validationActions: ['Deny'], matchResources } }
      : object,
  );
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: own });
  await kubectlAsAdmin(['apply', '-f', '-'], list);
  return () => kubectlAsAdmin(['delete', '-f', '-'], list);
}

test('lets only accounts with a right of Berth name another origin than custom-resource', async () => {
  const remove = await installOrigins();
  const inside = `--namespace=${world.namespace}`;
  const run = '--clusterrole=berth-deploymenttasks-run';
  await kubectlAsAdmin([inside, 'create', 'rolebinding', 'runs-tasks', run, '--user=user']);
  const asUser = (name: string, spec: object, ...more: string[]) =>
    kubectlAsAdmin(
      [inside, '--as=user', 'create', ...more, '-f', '-'],
      JSON.stringify({ apiVersion: 'berth.dev/v1alpha1', kind: 'DeploymentTask', metadata: { name }, spec }),
    );
  const honest = { deployment: 'shop', command: ['migrate'] };
  const refusal = /only Berth may set spec.origin/;
  const isRefused = async () => {
    const said = await asUser('forged', { ...honest, origin: 'api' }, '--dry-run=server').then(
      () => '',
      String,
    );
    return refusal.test(said) ? true : undefined;
  };
  await waitFor('another origin to be rejected', isRefused, { timeoutMs: 30_000, intervalMs: 300 });
  await expect(asUser('forged', { ...honest, taskId: 'x' })).rejects.toThrow(refusal);
  await asUser('honest', honest);
  await until('honest', 'SUCCEEDED');
  const status = JSON.stringify({ status: { state: 'FAILED' } });
  const patch = ['patch', 'mtask', 'honest', '--subresource=status', '--type=merge', '-p', status];
  await expect(kubectlAsAdmin([inside, '--as=user', ...patch])).rejects.toThrow(/forbidden/);
  await remove();
});

test('ends with its deployment, with Job and pod', async () => {
  await world.apply('leaving', APP);
  await world.ready('leaving');
  await create('of-leaving', { deployment: 'leaving', command: ['sleep'] });
  await until('of-leaving', 'RUNNING');
  await world.kubectl('delete', 'mdep', 'leaving');
  await world.gone('mtask', 'of-leaving');
  await world.gone('job', 'of-leaving');
  const pods = async () =>
    (await world.names('pods', 'batch.kubernetes.io/job-name=of-leaving')).length === 0;
  await waitFor('the pod to be gone', pods, { timeoutMs: 60_000 });
});

test('continues tasks after a restart of the operator, without a second Job', async () => {
  await create('survives', { deployment: 'shop', command: ['sleep'] });
  const { jobUid } = await until('survives', 'RUNNING');
  await operator.stop();
  operator = await startOperator(world.another('second'));
  await world.kubectl('annotate', 'mtask', 'survives', 'berth.dev/cancel=true');
  expect(await until('survives', 'CANCELLED')).toMatchObject({ jobUid });
  const jobs = JSON.parse(await world.kubectl('get', 'jobs', '-o', 'json')) as { items: UntypedObject[] };
  expect(jobs.items.filter(({ metadata }) => metadata.name === 'survives')).toEqual([]);
});
