import { describe, expect, test } from 'vitest';
import {
  CONFIG,
  message,
  NAMESPACE,
  scaled,
  settled,
  revised as spec,
  steps,
  template,
  World,
} from './fixtures.ts';

const FOUR = {
  components: { api: scaled(2, 2), queue: scaled(2, 2), orchestrator: scaled(1, 1), executor: scaled(1, 1) },
};

describe('a revision that fails', () => {
  test('is recorded, and then all components return to the active templates', async () => {
    const world = await settled(spec('web:1', 1, FOUR));
    const before = Object.keys(FOUR.components).map((component) => template(world, component));
    world.change(spec('web:2', 2, FOUR));
    world.cluster.stuck.set('queue', 'InvalidImageName');
    await steps(world, 1);
    const writes = await world.reconcileOnce();
    expect(writes).toEqual(['status ManagedDeployment/web']);
    expect(world.status.failedRevision).toEqual({
      id: '0197a000-0000-7000-8000-000000000002',
      number: 2,
      templates: 'web-2',
      recordGeneration: 0,
      inputsHash: expect.stringMatching(/^[0-9a-f]+$/),
      serving: 'web-1',
      reason: 'InvalidImageName',
      message:
        'queue: pod web-queue-0, container app: InvalidImageName; it is not retried: redeploy creates a new revision with the same content',
      failureSource: {
        component: 'queue',
        kind: 'Pod',
        object: 'web-queue-0',
        container: 'app',
        containerKind: 'app',
      },
    });
    expect(world.condition('Progressing')).toBe('False RolloutFailed');
    world.cluster.stuck.clear();
    expect(await world.reconcileOnce()).toEqual([
      'apply Deployment/web-api',
      'apply Deployment/web-queue',
      'apply Deployment/web-orchestrator',
      'apply Deployment/web-executor',
    ]);
    await world.converge();
    expect(Object.keys(FOUR.components).map((component) => template(world, component))).toEqual(before);
    expect(world.condition('Progressing')).toBe('False RolledBack');
    expect(world.condition('Ready')).toBe('False InvalidImageName');
    expect(world.condition('Serving')).toBe('True Available');
    expect(world.status.activeRevision).toMatchObject({ number: 1, templates: 'web-1' });
    expect(
      world.events.filter(({ reason }) => reason === 'RolloutFailed' || reason === 'RolledBack'),
    ).toEqual([
      {
        type: 'Warning',
        reason: 'RolloutFailed',
        message: expect.stringMatching(/^revision 2 failed: queue: /),
      },
      { type: 'Normal', reason: 'RolledBack', message: expect.stringMatching(/^revision 1 runs again: /) },
    ]);
  });

  test('is not retried by this operator, by its successor or after a change of source_config', async () => {
    const world = await settled(spec('web:1', 1));
    world.change(spec('web:2', 2));
    world.cluster.stuck.set('api', 'InvalidImageName');
    await steps(world, 2);
    world.cluster.stuck.clear();
    await world.converge();
    world.restart({ ...CONFIG, otlpEndpoint: 'http://collector:4318' });
    expect(await world.reconcileOnce()).toEqual([]);
    world.change(spec('web:2', 2, { podTemplate: { labels: { team: 'a' } } }));
    await world.converge();
    expect(world.images('api')).toEqual(['web:1']);
    expect(message(world, 'Ready')).toMatch(/redeploy/);
    world.change(spec('web:2', 2, { components: { api: scaled(3, 3) } }));
    await world.converge();
    expect([world.images('api'), world.replicas('api')]).toEqual([['web:1'], 3]);
    world.change(spec('web:2', 3));
    await world.converge();
    expect(world.status.activeRevision).toMatchObject({ number: 3, image: 'web:2' });
    expect(world.status.failedRevision).toBeUndefined();
  });

  test('is reported until a newer revision is active', async () => {
    const world = await settled(spec('web:1', 1));
    world.change(spec('web:2', 2));
    world.cluster.stuck.set('api', 'InvalidImageName');
    await steps(world, 2);
    world.cluster.stuck.set('api', 'ContainerCreating');
    world.change(spec('web:3', 3));
    await steps(world, 2);
    expect(world.status).toMatchObject({ rollout: { number: 3 }, failedRevision: { number: 2 } });
    expect(world.condition('Progressing')).toBe('True RolloutInProgress');
  });

  test('is recorded as failed revision, not as failed change, when a newer one waits after an earlier failure', async () => {
    const world = await settled(spec('web:1', 1));
    world.cluster.stuck.set('api', 'InvalidImageName');
    world.change(spec('web:2', 2));
    await steps(world, 3);
    world.change(spec('web:3', 3));
    await world.reconcileOnce();
    world.cluster.settle();
    world.now += 1000;
    world.change(spec('web:4', 4));
    await world.reconcileOnce();
    expect(world.status.failedRevision).toMatchObject({ number: 3, templates: 'web-3' });
    expect(world.status.failedChange).toBeUndefined();
    await world.reconcileOnce();
    expect(world.status).toMatchObject({ rollout: { number: 4 }, failedRevision: { number: 3 } });
  });

  test('stays failed as a change in place after a suspension that changes the share of connections', async () => {
    const change = (poolSize: number, more: object = {}) =>
      spec('web:1', 1, { podTemplate: { labels: { team: 'b' } }, database: { poolSize }, ...more });
    const world = await settled(spec('web:1', 1, { database: { poolSize: 10 } }));
    world.change(change(10));
    world.cluster.stuck.set('api', 'InvalidImageName');
    await steps(world, 2);
    world.cluster.stuck.clear();
    world.change(change(99, { suspend: true }));
    await world.converge();
    world.change(change(10));
    await world.converge();
    expect(world.condition('Progressing')).toBe('False RolledBack');
    world.change(change(11));
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
  });

  test('stays failed after a suspension', async () => {
    const world = await settled(spec('web:1', 1));
    world.change(spec('web:2', 2));
    world.cluster.stuck.set('api', 'InvalidImageName');
    await steps(world, 2);
    world.cluster.stuck.clear();
    world.change(spec('web:2', 2, { suspend: true }));
    await world.converge();
    expect(world.condition('Ready')).toBe('True SwitchedOff');
    world.change(spec('web:2', 2));
    await world.converge();
    expect(world.images('api')).toEqual(['web:1']);
    expect(world.condition('Progressing')).toBe('False RolledBack');
  });

  test('loses a component that only it had, and a component that it had dropped returns with its pods', async () => {
    const world = await settled(spec('web:1', 1, { components: { api: scaled(1, 1), queue: scaled(3, 3) } }));
    world.change(spec('web:2', 2, { components: { api: scaled(1, 1), executor: scaled(1, 1) } }));
    world.cluster.stuck.set('executor', 'InvalidImageName');
    await world.converge();
    expect(world.cluster.ids().filter((id) => id.startsWith('Deployment/'))).toEqual([
      'Deployment/web-api',
      'Deployment/web-cache',
      'Deployment/web-queue',
    ]);
    expect(world.replicas('queue')).toBe(3);
  });

  test('keeps one pod of each component, without an autoscaler, when no revision was active before', async () => {
    const world = new World(spec('web:1', 1, { components: { api: scaled(2, 9) } }));
    world.cluster.stuck.set('api', 'InvalidImageName');
    await world.converge();
    expect([world.replicas('api'), world.images('api')]).toEqual([1, ['web:1']]);
    expect(world.cluster.list('HorizontalPodAutoscaler')).toEqual([]);
    expect(world.condition('Progressing')).toBe('False RolloutFailed');
    expect(world.condition('Serving')).toBe('False Unavailable');
    world.cluster.stuck.clear();
    world.change(spec('web:2', 2, { components: { api: scaled(2, 9) } }));
    await world.converge();
    expect(world.status.activeRevision).toMatchObject({ number: 2 });
    expect(world.replicas('api')).toBe(2);
  });

  test('fails at once with the message of the cluster when its Deployment is rejected', async () => {
    const world = await settled(spec('web:1', 1));
    world.change(spec('web:2', 2));
    world.cluster.faults.push({
      when: ({ verb, id }) => verb === 'apply' && id === 'Deployment/web-api',
      error: 'invalid',
      message: 'Deployment web-api: spec.template.spec.volumes[0].name: Duplicate value',
    });
    await world.converge();
    expect(world.status.failedRevision).toMatchObject({
      number: 2,
      reason: 'AdmissionRefused',
      failureSource: { component: 'api', kind: 'Deployment', object: 'web-api' },
    });
    expect(world.status.failedRevision?.message).toMatch(/^api: .*Duplicate value/);
    expect(world.images('api')).toEqual(['web:1']);
  });
});

test('returns to the number of pods that was set after the first failure when a later revision fails', async () => {
  const scales = (pods: number, poolSize: number, team: string) => ({
    components: { api: scaled(pods, pods) },
    database: { poolSize },
    podTemplate: { labels: { team } },
  });
  const dropped = { components: { api: scaled(1, 1), queue: scaled(3, 3) }, database: { poolSize: 10 } };
  const world = await settled(spec('web:1', 1, { ...scales(1, 10, 'a'), ...dropped }));
  const failing = async (more: object) => {
    world.cluster.stuck.set('api', 'InvalidImageName');
    world.change(spec('web:2', 2, more));
    await steps(world, 3);
    world.cluster.stuck.clear();
    await world.converge();
  };
  await failing(scales(1, 10, 'a'));
  world.change(spec('web:2', 2, { ...scales(5, 10, 'a'), recordGeneration: 3 }));
  await world.converge();
  expect(world.replicas('api')).toBe(5);
  await failing({ ...scales(6, 8, 'bad'), recordGeneration: 4 });
  expect(world.status.failedChange).toBeDefined();
  expect([world.replicas('api'), world.replicas('queue')]).toEqual([5, 3]);
  expect(world.status.activeRevision?.scales).toEqual({
    api: { min: 5, max: 5 },
    queue: { min: 3, max: 3 },
  });
});

test('keeps the active revision when its stored templates are deleted after a failed revision', async () => {
  const two = { components: { api: scaled(2, 2), queue: scaled(1, 3) } };
  const world = await settled(spec('web:1', 1, two));
  world.cluster.stuck.set('api', 'InvalidImageName');
  world.change(spec('web:2', 2, { components: { api: scaled(2, 2) } }));
  await steps(world, 3);
  world.cluster.stuck.clear();
  await world.converge();
  world.cluster.remove(`ControllerRevision/${NAMESPACE}/web-1`);
  const writes = await world.converge();
  expect(writes.filter((write) => !write.startsWith('status'))).toEqual([]);
  expect([world.images('api'), world.images('queue')]).toEqual([['web:1'], ['web:1']]);
  expect(world.status).toMatchObject({ activeRevision: { number: 1 }, failedRevision: { number: 2 } });
  expect([world.condition('Serving'), world.condition('Progressing')]).toEqual([
    'True Available',
    'False RolloutFailed',
  ]);
  expect(message(world, 'Progressing')).toContain('the stored templates of revision 1 are gone');
  world.change(spec('web:3', 3));
  await world.converge();
  expect(world.status).toMatchObject({ activeRevision: { number: 3 } });
  expect(world.condition('Ready')).toBe('True Converged');
});

describe('a failed change of the active revision after a failed revision', () => {
  const labelled = (team: string) => ({ podTemplate: { labels: { team } } });
  /** The eleventh revision after the active one has failed, and then a change of the active one has failed. */
  async function failedTwice(): Promise<World> {
    const world = await settled(spec('web:1', 1, labelled('a')));
    const failing = async (number: number, more: object) => {
      world.cluster.stuck.set('api', 'InvalidImageName');
      world.change({ ...revision(number), ...more });
      await steps(world, 3);
      world.cluster.stuck.clear();
      await world.converge();
    };
    for (let number = 2; number <= 12; number += 1) await failing(number, labelled('a'));
    await failing(12, labelled('bad'));
    expect(world.status).toMatchObject({
      activeRevision: { number: 1 },
      failedChange: { templates: 'web-1-2' },
    });
    return world;
  }
  const revision = (number: number) => {
    const id = `0197a000-0000-7000-8000-0000000000${String(number).padStart(2, '0')}`;
    return { ...spec('web:1', 1), revision: { id, number, image: `web:${number}` } };
  };

  test.each([
    ['keeps its templates, so the next change gets another name', () => {}],
    [
      'is not mistaken for the next change when its templates were deleted',
      (world: World) => world.cluster.remove(`ControllerRevision/${NAMESPACE}/web-1-2`),
    ],
  ])('%s', async (_name, meanwhile) => {
    const world = await failedTwice();
    meanwhile(world);
    world.change({ ...revision(12), ...labelled('good') });
    expect(await world.converge()).toContain('create ControllerRevision/web-1-3');
    expect(world.status).toMatchObject({ activeRevision: { number: 1, templates: 'web-1-3' } });
    expect(world.status.failedChange).toBeUndefined();
  });
});

describe('a change in place that fails', () => {
  const labelled = (team: string) => spec('web:1', 1, { podTemplate: { labels: { team } } });

  test('is rolled back, and is tried again after another change', async () => {
    const world = await settled(labelled('a'));
    const before = template(world, 'api');
    world.change(labelled('b'));
    world.cluster.stuck.set('api', 'InvalidImageName');
    await steps(world, 2);
    world.cluster.stuck.clear();
    await world.converge();
    expect(template(world, 'api')).toEqual(before);
    expect(world.status.activeRevision).toMatchObject({ number: 1, templates: 'web-1' });
    expect(world.status.failedRevision).toMatchObject({ number: 1, templates: 'web-1-2' });
    expect(message(world, 'Progressing')).toMatch(
      /^what ran before runs again: the change of revision 1 failed: .*until source_config changes$/,
    );
    world.change(labelled('a'));
    await world.converge();
    expect(world.status.failedRevision).toBeUndefined();
    expect(world.condition('Ready')).toBe('True Converged');
    world.change(labelled('b'));
    await world.converge();
    expect(world.status.activeRevision).toMatchObject({ number: 1, templates: 'web-1-2' });
  });

  test('does not fail because of pods of the former templates', async () => {
    const world = await settled(labelled('a'));
    const pod = world.cluster.list('Pod').find(({ metadata }) => metadata.name === 'web-api-0');
    world.change(labelled('b'));
    await world.reconcileOnce();
    world.cluster.put({
      ...pod,
      metadata: { ...pod?.metadata, name: 'web-api-old' },
      status: {
        conditions: [{ type: 'Ready', status: 'False' }],
        containerStatuses: [
          { name: 'app', restartCount: 9, state: { waiting: { reason: 'CrashLoopBackOff' } } },
        ],
      },
    } as never);
    await world.reconcileOnce();
    expect(world.status.failedRevision).toBeUndefined();
    expect(world.status.rollout).toMatchObject({ templates: 'web-1-2' });
  });
});

describe('a component without a symptom, in the middle of its rollout', () => {
  const TWO = { components: { api: scaled(2, 2), queue: scaled(1, 1) } };
  const failing = async () => {
    const world = await settled(spec('web:1', 1, TWO));
    world.cluster.stuck.set('api', 'ContainerCreating');
    world.cluster.stuck.set('queue', 'InvalidImageName');
    world.change(spec('web:2', 2, TWO));
    await steps(world, 1);
    await world.reconcileOnce();
    expect(world.status.failedRevision).toMatchObject({ number: 2 });
    return world;
  };

  test('finishes its rollout before it is rolled back, while the failed component is rolled back at once', async () => {
    const world = await failing();
    expect(await world.reconcileOnce()).toEqual(['apply Deployment/web-queue']);
    world.restart();
    expect(await steps(world, 3)).not.toContain('apply Deployment/web-api');
    expect(message(world, 'Progressing')).toMatch(/revision 1 is being restored/);
    world.cluster.stuck.clear();
    world.cluster.settle();
    expect(await world.reconcileOnce()).toContain('apply Deployment/web-api');
    await world.converge();
    expect([world.images('api'), world.condition('Progressing')]).toEqual([['web:1'], 'False RolledBack']);
  });

  test('is rolled back half a minute after the failure, or as soon as it has a symptom', async () => {
    const world = await failing();
    await world.reconcileOnce();
    const outcome = await world.reconcile();
    expect(outcome).toMatchObject({ kind: 'requeue' });
    expect((outcome as { afterMs: number }).afterMs).toBeLessThanOrEqual(30_000);
    world.now += 29_000;
    expect(await world.reconcileOnce()).not.toContain('apply Deployment/web-api');
    world.now += 1_000;
    expect(await world.reconcileOnce()).toContain('apply Deployment/web-api');
    const troubled = await failing();
    await troubled.reconcileOnce();
    troubled.cluster.stuck.set('api', 'CreateContainerError');
    troubled.cluster.settle();
    expect(await troubled.reconcileOnce()).toContain('apply Deployment/web-api');
  });
});

test('a component that is only starting is rolled back at once when the deadline has passed', async () => {
  const world = await settled(spec('web:1', 1));
  world.cluster.stuck.set('api', 'ContainerCreating');
  world.change(spec('web:2', 2));
  await steps(world, 2);
  world.now += 600_000;
  await world.reconcileOnce();
  expect(world.status.failedRevision).toMatchObject({ reason: 'RolloutDeadlineExceeded' });
  expect(await world.reconcileOnce()).toContain('apply Deployment/web-api');
});

describe('a failure', () => {
  test('is not derived from stale caches, because the Deployments are read first', async () => {
    const world = await settled(spec('web:1', 1));
    world.change(spec('web:2', 2));
    world.cluster.stuck.set('api', 'CreateContainerError');
    await steps(world, 2);
    const { view } = world.cluster;
    const stale = view.children('Deployment', 'shop/web').map((object) => structuredClone(object));
    const children = view.children;
    view.children = (kind, key) => (kind === 'Deployment' ? stale : children(kind, key));
    world.cluster.stuck.clear();
    world.cluster.settle();
    world.now += 600_000;
    await world.reconcileOnce();
    expect(world.status.failedRevision).toBeUndefined();
    expect(world.status.activeRevision).toMatchObject({ number: 2 });
  });

  test('fits into the status with a message of any length', async () => {
    const world = await settled(spec('web:1', 1));
    world.change(spec('web:2', 2));
    world.cluster.faults.push({
      when: ({ verb, id }) => verb === 'apply' && id === 'Deployment/web-api',
      error: 'invalid',
      message: 'x'.repeat(10_000),
    });
    await world.reconcileOnce();
    const failed = world.status.failedRevision;
    expect(failed?.message.length).toBeLessThan(1_200);
    expect(failed?.failureSource?.detail?.length).toBeLessThan(1_200);
    expect(failed?.message).toMatch(/redeploy/);
  });
});
