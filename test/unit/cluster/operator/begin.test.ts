import { describe, expect, test } from 'vitest';
import { type Spec, scaled, settled } from './fixtures.ts';

/** The status names a rollout before any running object changes. */

const spec = (number: number, more: object = {}): Spec => ({
  revision: { id: `r${number}`, number, image: `web:${number}` },
  ...more,
});
const STATUS = 'status ManagedDeployment/web';
const API = 'apply Deployment/web-api';

describe('a rollout', () => {
  test('is written to the status after its templates are stored and before a pod runs them', async () => {
    const world = await settled(spec(1));
    world.change(spec(2));
    expect((await world.reconcileOnce()).slice(0, 3)).toEqual([
      'create ControllerRevision/web-2',
      STATUS,
      API,
    ]);
    expect(world.status.rollout).toMatchObject({ number: 2, templates: 'web-2' });
  });

  test('does not begin, and is not reported, when the desired state has changed meanwhile', async () => {
    const world = await settled(spec(1));
    world.change(spec(2));
    world.cluster.faults = [{ when: ({ verb }) => verb === 'status', error: 'conflict' }];
    expect(await world.reconcileOnce()).toEqual(['create ControllerRevision/web-2']);
    expect(world.status.rollout).toBeUndefined();
    world.change(spec(3));
    expect(await world.reconcileOnce()).toContain(API);
    expect(world.status.rollout).toMatchObject({ number: 3 });
    expect(world.images('api')).toEqual(['web:3']);
  });

  test('is in the status after a kill at any call', async () => {
    for (let calls = 0; calls < 5; calls += 1) {
      const world = await settled(spec(1));
      world.change(spec(2));
      let left = calls;
      const when = () => {
        left -= 1;
        return left < 0;
      };
      world.cluster.faults = Array.from({ length: 20 }, () => ({ when, error: 'server' as const }));
      await world.reconcileOnce().catch(() => []);
      world.cluster.faults = [];
      world.restart();
      if (world.images('api')[0] === 'web:2') expect(world.status.rollout).toMatchObject({ number: 2 });
    }
  });
});

describe('a scale-up from zero', () => {
  test.each([
    ['a fixed number of pods', { components: { api: scaled(2, 2) } }],
    ['an autoscaled number of pods', { components: { api: scaled(2, 5) } }],
  ])('applies the new template before it scales to %s', async (_, more) => {
    const world = await settled(spec(1, more));
    world.change(spec(1, { ...more, suspend: true }));
    await world.converge();
    world.change(spec(2, more));
    world.cluster.stuck.set('api', 'ContainerCreating');
    // The second of the two writes fails.
    let seen = 0;
    world.cluster.faults = [
      {
        when: ({ verb, id }) => {
          seen += verb === 'apply' && id.endsWith('/web-api') && id.startsWith('Deployment') ? 1 : 0;
          return seen === 2;
        },
        error: 'server',
      },
    ];
    for (let round = 0; round < 8 && seen < 2; round += 1) {
      await world.reconcileOnce().catch(() => []);
      world.cluster.settle();
      world.now += 2_000;
    }
    expect([world.images('api'), world.replicas('api')]).toEqual([['web:2'], 0]);
    world.cluster.stuck.clear();
    await world.converge();
    expect([world.images('api'), world.replicas('api')]).toEqual([['web:2'], 2]);
    expect(world.condition('Ready')).toBe('True Converged');
  });
});

test('a suspension does not restart the database with a new template before it ends', async () => {
  const world = await settled(spec(1, { database: { maxConnections: 200 } }));
  world.change(spec(1, { suspend: true, database: { maxConnections: 100 } }));
  expect(await world.reconcileOnce()).not.toContain('apply StatefulSet/web-db');
  world.cluster.settle();
  const writes = await world.converge();
  expect(writes.filter((write) => write === 'apply StatefulSet/web-db').length).toBeGreaterThan(0);
  expect(world.status).toMatchObject({ suspended: true });
});
