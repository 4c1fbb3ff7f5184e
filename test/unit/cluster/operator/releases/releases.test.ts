import { describe, expect, test } from 'vitest';
import type { DeploymentTaskStatus } from '../../../../../src/contract/resource/deployment-task.ts';
import { ANNOTATIONS, LABELS } from '../../../../../src/contract/resource/names.ts';
import { message, NAMESPACE, RESOURCE_ID, revised, settled, steps, World } from '../fixtures.ts';

/** The release command of a revision, as the operator of the deployment handles it. The tasks are set by hand. */

const WITH_RELEASE = { podTemplate: { releaseCommand: ['migrate'] } };
const released = (number: number, more: object = {}) =>
  revised(`web:${number}`, number, { ...WITH_RELEASE, ...more });
const idOf = (number: number) => `DeploymentTask/${NAMESPACE}/web-${number}-release`;

function setTask(world: World, number: number, status: DeploymentTaskStatus): void {
  world.cluster.edit(idOf(number), (task) => {
    task['status'] = status;
  });
}

const queued = { state: 'QUEUED', jobUid: 'job-1' } as const;
const running = { state: 'RUNNING', jobUid: 'job-1', startTime: '2026-01-01T00:00:10Z' } as const;
const ended = (state: 'SUCCEEDED' | 'FAILED' | 'CANCELLED', more: object = {}): DeploymentTaskStatus => ({
  ...running,
  state,
  completionTime: '2026-01-01T00:01:00Z',
  ...more,
});

/** A deployment whose first revision has no release command, and whose second one waits with this task. */
async function secondWaits(status?: DeploymentTaskStatus): Promise<World> {
  const world = await settled(revised('web:1', 1));
  world.change(released(2));
  await steps(world, 3);
  if (status !== undefined) {
    setTask(world, 2, queued);
    await steps(world, 2);
    setTask(world, 2, status);
    await steps(world, 4);
  }
  return world;
}

describe('the start of a release', () => {
  test('stores the templates, then creates the task, and changes no component', async () => {
    const world = await settled(revised('web:1', 1));
    world.change(released(2));
    const writes = await steps(world, 5);
    expect(writes).toContain('create DeploymentTask/web-2-release');
    expect(writes.filter((write) => write.includes('Deployment/web-api'))).toEqual([]);
    expect(world.images('api')).toEqual(['web:1']);
    expect(world.cluster.get(idOf(2))).toMatchObject({
      metadata: { ownerReferences: [{ kind: 'ManagedDeployment', name: 'web' }] },
      spec: { origin: 'release', revision: 2, component: 'api', command: ['migrate'], timeoutSeconds: 3600 },
    });
    expect([world.condition('Ready'), world.condition('Progressing'), world.condition('Serving')]).toEqual([
      'False ReleaseInProgress',
      'True ReleaseInProgress',
      'True Available',
    ]);
    expect(world.status).toMatchObject({ deploymentStatus: 'READY', awaiting: { number: 2 } });
    expect(world.status).not.toHaveProperty('release');
  });

  test('records the uid of the Job, and the deadline then no longer applies', async () => {
    const world = await secondWaits();
    setTask(world, 2, queued);
    expect(await world.reconcileOnce()).toEqual([`status ManagedDeployment/web`]);
    expect(world.status.release).toMatchObject({ number: 2, task: 'web-2-release', jobUid: 'job-1' });
    expect(world.status).not.toHaveProperty('awaiting');
    setTask(world, 2, running);
    world.now += 3 * 3_600_000;
    await steps(world, 2);
    expect(world.status).not.toHaveProperty('failedRevision');
    expect(message(world, 'Ready')).toBe('revision 2 waits: its release command is running');
  });

  test('waits until database and cache are ready, also for the first revision', async () => {
    const world = new World(released(1));
    world.cluster.stuck.set('database', 'ContainerCreating');
    await steps(world, 6);
    expect(world.cluster.list('DeploymentTask')).toEqual([]);
    world.cluster.stuck.clear();
    await steps(world, 4);
    expect(world.cluster.list('DeploymentTask')).toHaveLength(1);
    expect(world.cluster.get(`Deployment/${NAMESPACE}/web-api`)).toBeUndefined();
  });

  test('does not begin while the operator is paused or the deployment is switched off', async () => {
    const world = await settled(revised('web:1', 1));
    world.change(released(2, { suspend: true }));
    await steps(world, 4);
    expect(world.cluster.list('DeploymentTask')).toEqual([]);
    world.cluster.edit(RESOURCE_ID, ({ metadata }) => {
      metadata.annotations = { [ANNOTATIONS.paused]: 'true' };
    });
    world.change(released(2));
    await steps(world, 4);
    expect(world.cluster.list('DeploymentTask')).toEqual([]);
    world.cluster.edit(RESOURCE_ID, ({ metadata }) => {
      metadata.annotations = {};
    });
    await steps(world, 4);
    expect(world.cluster.list('DeploymentTask')).toHaveLength(1);
  });

  test('records no uid while the operator is paused', async () => {
    const world = await secondWaits();
    setTask(world, 2, queued);
    world.cluster.edit(RESOURCE_ID, ({ metadata }) => {
      metadata.annotations = { [ANNOTATIONS.paused]: 'true' };
    });
    await steps(world, 2);
    expect(world.status).not.toHaveProperty('release');
  });

  test('waits and names the missing definition, and fails at the deadline, in a cluster without tasks', async () => {
    const world = await settled(revised('web:1', 1));
    world.tasksOf = () => null;
    world.change(released(2));
    await steps(world, 3);
    expect(message(world, 'Ready')).toBe('revision 2 waits: the tasks of the cluster have not been read yet');
    world.lacksTasks = true;
    await steps(world, 2);
    expect([world.condition('Ready'), world.condition('Progressing')]).toEqual([
      'False TasksUnavailable',
      'True TasksUnavailable',
    ]);
    expect(message(world, 'Ready')).toContain('CustomResourceDefinition deploymenttasks.berth.dev');
    world.now += 601_000;
    await steps(world, 3);
    expect(world.status.failedRevision).toMatchObject({
      number: 2,
      reason: 'ReleaseFailed',
      message: expect.stringContaining('deploymenttasks.berth.dev'),
    });
    expect(world.images('api')).toEqual(['web:1']);
  });

  test('starts when the definition is installed', async () => {
    const world = await settled(revised('web:1', 1));
    const { tasksOf } = world;
    world.tasksOf = () => null;
    world.lacksTasks = true;
    world.change(released(2));
    await steps(world, 3);
    world.tasksOf = tasksOf;
    world.lacksTasks = false;
    await steps(world, 3);
    expect(world.condition('Ready')).toBe('False ReleaseInProgress');
    expect(world.cluster.list('DeploymentTask')).toHaveLength(1);
  });
});

describe('the end of a release', () => {
  test('rolls the revision out when the command has succeeded, and runs it only once', async () => {
    const world = await secondWaits(ended('SUCCEEDED', { exitCode: 0 }));
    await world.converge();
    expect(world.images('api')).toEqual(['web:2']);
    expect(world.status).toMatchObject({
      activeRevision: { number: 2 },
      release: { number: 2, succeeded: true },
    });
    world.cluster.remove(idOf(2));
    world.change(released(2, { components: { api: { resources: { requests: { cpu: '10m' } } } } }));
    await world.converge();
    world.restart();
    await world.converge();
    expect(world.cluster.list('DeploymentTask')).toEqual([]);
    expect(world.condition('Ready')).toBe('True Converged');
  });

  test('remembers the success before a component changes', async () => {
    const world = await secondWaits();
    setTask(world, 2, queued);
    await steps(world, 1);
    setTask(world, 2, ended('SUCCEEDED'));
    const writes = await world.reconcileOnce();
    const status = writes.indexOf('status ManagedDeployment/web');
    expect(status).toBeGreaterThanOrEqual(0);
    expect(writes.findIndex((write) => write.includes('Deployment/web-api'))).toBeGreaterThan(status);
    expect(world.status.release).toMatchObject({ succeeded: true });
  });

  test.each([
    [
      'a failed command',
      ended('FAILED', { reason: 'CommandFailed', message: 'exit code 3', exitCode: 3 }),
      'exit code 3',
    ],
    [
      'a command that timed out',
      { ...ended('FAILED'), state: 'TIMED_OUT', message: 'did not end' },
      'did not end',
    ],
    [
      'a pod that did not start',
      ended('FAILED', { reason: 'NotStarted', message: 'ErrImagePull' }),
      'ErrImagePull',
    ],
    ['a cancelled command', ended('CANCELLED'), 'it was cancelled'],
    [
      'a deployment that was switched off meanwhile',
      ended('CANCELLED', { reason: 'DeploymentOff' }),
      'switched off',
    ],
  ] as const)(
    'fails the revision for %s, and the active revision still serves',
    async (_what, status, text) => {
      const world = await secondWaits(status as DeploymentTaskStatus);
      expect(world.status).toMatchObject({
        activeRevision: { number: 1 },
        failedRevision: { number: 2, reason: 'ReleaseFailed' },
      });
      expect(world.status.failedRevision?.message).toContain(text);
      expect(world.images('api')).toEqual(['web:1']);
      await world.converge();
      expect(world.cluster.list('DeploymentTask')).toHaveLength(1);
      world.change(released(3));
      await steps(world, 4);
      expect(world.cluster.list('DeploymentTask')).toHaveLength(2);
    },
  );

  test('starts no pod of a first revision whose release command has failed', async () => {
    const world = new World(released(1));
    await steps(world, 8);
    setTask(world, 1, queued);
    await steps(world, 2);
    setTask(world, 1, ended('FAILED', { reason: 'CommandFailed', message: 'exit code 1', exitCode: 1 }));
    await world.converge();
    expect(world.status.failedRevision).toMatchObject({ number: 1, reason: 'ReleaseFailed' });
    expect(world.cluster.get(`Deployment/${NAMESPACE}/web-api`)).toBeUndefined();
    expect(message(world, 'Progressing')).toContain('no pods run');
  });

  test('shows exit code and last lines of the pod of this release', async () => {
    const world = await secondWaits();
    setTask(world, 2, queued);
    await steps(world, 1);
    const uid = world.cluster.get(idOf(2))?.metadata.uid ?? '';
    const labels = {
      [LABELS.instance]: 'web',
      [LABELS.component]: 'task',
      [LABELS.managedBy]: 'berth',
      [LABELS.deploymentId]: '0197a000-0000-7000-8000-00000000abcd',
    };
    const terminated = { exitCode: 3, message: 'relation users does not exist' };
    world.cluster.put({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'r',
        namespace: NAMESPACE,
        labels: { ...labels, [LABELS.taskUid]: uid, 'batch.kubernetes.io/controller-uid': 'job-1' },
      },
      status: { phase: 'Failed', containerStatuses: [{ name: 'app', state: { terminated } }] },
    } as never);
    setTask(world, 2, ended('FAILED', { reason: 'CommandFailed', message: 'exit code 3', exitCode: 3 }));
    await world.reconcileOnce();
    expect(world.status.failedRevision?.failureSource).toEqual({
      component: 'api',
      kind: 'DeploymentTask',
      object: 'web-2-release',
      container: 'app',
      containerKind: 'app',
      exitCode: 3,
      detail: 'relation users does not exist',
    });
  });

  test('is lost when the recorded task or Job no longer exists', async () => {
    const world = await secondWaits(running);
    world.cluster.remove(idOf(2));
    await steps(world, 2);
    expect(world.status.failedRevision).toMatchObject({ number: 2, reason: 'ReleaseLost' });
    const other = await secondWaits(ended('FAILED', { reason: 'JobLost', message: 'its Job was deleted' }));
    expect(other.status.failedRevision).toMatchObject({ number: 2, reason: 'ReleaseLost' });
  });

  test('is not decided by a task that has the name and another Job', async () => {
    const world = await secondWaits(running);
    setTask(world, 2, { ...ended('SUCCEEDED'), jobUid: 'job-of-other' });
    await steps(world, 3);
    expect(world.status.failedRevision).toMatchObject({ reason: 'ReleaseLost' });
    expect(world.images('api')).toEqual(['web:1']);
  });

  test.each(['web', 'another'])(
    'fails for a task of the deployment %s that has the expected name',
    async (deployment) => {
      const world = await settled(revised('web:1', 1));
      world.cluster.put({
        apiVersion: 'berth.dev/v1alpha1',
        kind: 'DeploymentTask',
        metadata: { name: 'web-2-release', namespace: NAMESPACE },
        spec: { deployment, command: ['migrate'], revision: 2 },
        status: ended('SUCCEEDED'),
      } as never);
      world.change(released(2));
      await steps(world, 4);
      expect(world.status.failedRevision?.message).toContain('exists that Berth did not create');
      expect(world.images('api')).toEqual(['web:1']);
    },
  );
});

describe('after the status of the deployment was lost', () => {
  /** Removes the status of the deployment, as a write of another account can. */
  async function loseStatus(world: World): Promise<void> {
    world.cluster.edit(RESOURCE_ID, (resource) => {
      delete resource['status'];
    });
    await steps(world, 6);
  }

  test('records the Job again that runs, and creates no second task', async () => {
    const world = await secondWaits(running);
    await loseStatus(world);
    expect(world.status.release).toMatchObject({ number: 2, jobUid: 'job-1' });
    expect(world.cluster.list('DeploymentTask')).toHaveLength(1);
    setTask(world, 2, ended('SUCCEEDED'));
    await world.converge();
    expect(world.status.activeRevision).toMatchObject({ number: 2 });
  });

  test('uses the result of a Job that ended meanwhile, and does not run the command again', async () => {
    const world = await secondWaits(running);
    setTask(world, 2, ended('SUCCEEDED'));
    await loseStatus(world);
    await world.converge();
    expect(world.cluster.list('DeploymentTask')).toHaveLength(1);
    expect(world.status).toMatchObject({
      activeRevision: { number: 2 },
      release: { number: 2, jobUid: 'job-1', succeeded: true },
    });
    const failed = await secondWaits(running);
    setTask(failed, 2, ended('FAILED', { reason: 'CommandFailed', exitCode: 3, message: 'exit code 3' }));
    await loseStatus(failed);
    expect(failed.status.failedRevision).toMatchObject({
      number: 2,
      reason: 'ReleaseFailed',
      failureSource: { exitCode: 3 },
    });
    expect(failed.images('api')).toEqual(['web:1']);
  });

  test('waits until the task of a former resource of the same name is deleted', async () => {
    const world = await settled(revised('web:1', 1));
    const owner = { apiVersion: 'berth.dev/v1alpha1', kind: 'ManagedDeployment', name: 'web', uid: 'former' };
    world.cluster.put({
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'DeploymentTask',
      metadata: { name: 'web-2-release', namespace: NAMESPACE, ownerReferences: [owner] },
      spec: { deployment: 'web', command: ['migrate'], revision: 2, origin: 'release', component: 'api' },
      status: ended('SUCCEEDED'),
    } as never);
    world.change(released(2));
    await steps(world, 4);
    expect(message(world, 'Ready')).toContain('the task web-2-release is being deleted');
    expect(world.status).not.toHaveProperty('failedRevision');
    world.cluster.remove(idOf(2));
    await steps(world, 3);
    expect(world.cluster.list('DeploymentTask')).toHaveLength(1);
    expect(world.status).not.toHaveProperty('release');
  });
});

describe('several revisions', () => {
  test('a newer revision waits for a command that runs, and the older one is not rolled out', async () => {
    const world = await secondWaits(running);
    world.change(released(3));
    await steps(world, 4);
    expect(world.cluster.list('DeploymentTask')).toHaveLength(1);
    expect(message(world, 'Ready')).toBe('revision 3 waits: the release command of revision 2 has not ended');
    setTask(world, 2, ended('SUCCEEDED'));
    await steps(world, 3);
    expect(world.images('api')).toEqual(['web:1']);
    setTask(world, 3, { ...queued, jobUid: 'job-3' });
    await steps(world, 2);
    setTask(world, 3, { ...ended('SUCCEEDED'), jobUid: 'job-3' });
    await world.converge();
    expect(world.status).toMatchObject({ activeRevision: { number: 3 }, release: { number: 3 } });
  });

  test('a newer revision without a release command does not wait', async () => {
    const world = await secondWaits(running);
    world.change(revised('web:3', 3));
    await world.converge();
    expect(world.status.activeRevision).toMatchObject({ number: 3 });
  });

  test('a change of source_config before the record does not create a second task', async () => {
    const world = await secondWaits();
    setTask(world, 2, { state: 'QUEUED' });
    world.change(released(2, { components: { api: { resources: { requests: { cpu: '10m' } } } } }));
    await steps(world, 4);
    expect(world.cluster.list('DeploymentTask')).toHaveLength(1);
    setTask(world, 2, queued);
    await steps(world, 2);
    setTask(world, 2, ended('SUCCEEDED'));
    await world.converge();
    expect(world.status.activeRevision).toMatchObject({ number: 2 });
  });
});
