import { describe, expect, test } from 'vitest';
import { NAMESPACE, RESOURCE_ID, resource, settled, revised as spec, steps, template } from './fixtures.ts';

describe('a custom resource that was lost', () => {
  test('returns to the active revision when it is created again and its revision fails', async () => {
    const world = await settled(spec('web:1', 1));
    const before = template(world, 'api');
    world.change(spec('web:2', 2));
    world.cluster.stuck.set('api', 'InvalidImageName');
    await steps(world, 2);
    world.cluster.stuck.clear();
    await world.converge();
    const lost = world.cluster.get(RESOURCE_ID);
    world.cluster.remove(RESOURCE_ID);
    if (lost) {
      const { status: _, ...fresh } = lost;
      world.cluster.put({ ...fresh, metadata: { name: 'web', namespace: NAMESPACE, uid: 'another' } });
    }
    world.restart();
    world.cluster.stuck.set('api', 'InvalidImageName');
    await steps(world, 4);
    expect(world.status.failedRevision).toMatchObject({ number: 2, reason: 'InvalidImageName' });
    world.cluster.stuck.clear();
    await world.converge();
    expect(template(world, 'api')).toEqual(before);
    expect(world.status.activeRevision).toEqual({
      id: '0197a000-0000-7000-8000-000000000001',
      number: 1,
      templates: 'web-1',
      image: 'web:1',
      scales: { api: { min: 1, max: 1 } },
    });
    expect(world.condition('Progressing')).toBe('False RolledBack');
    expect(await world.reconcileOnce()).toEqual([]);
  });

  test('returns to the active revision without a second attempt when the hub knows of the failure', async () => {
    const world = await settled(spec('web:1', 1, { recordGeneration: 1 }));
    world.change(spec('web:1', 1, { recordGeneration: 2, podTemplate: { labels: { team: 'a' } } }));
    world.cluster.stuck.set('api', 'InvalidImageName');
    await steps(world, 2);
    world.cluster.stuck.clear();
    await world.converge();
    world.change(spec('web:2', 2, { recordGeneration: 3 }));
    world.cluster.stuck.set('api', 'InvalidImageName');
    await steps(world, 2);
    world.cluster.stuck.clear();
    await world.converge();
    const before = template(world, 'api');
    const { activeRevision } = world.status;
    world.cluster.remove(RESOURCE_ID);
    const failed = {
      reason: 'CrashLoop',
      message: 'api: it crashes',
      activeRevision: { id: activeRevision?.id, number: 1 },
      observedRecordGeneration: 1,
    };
    const again = resource(spec('web:2', 2, { recordGeneration: 3, failed }));
    world.cluster.put({ ...again, metadata: { name: 'web', namespace: NAMESPACE, uid: 'another' } } as never);
    world.restart();
    const images: string[] = [];
    const reported: unknown[] = [];
    for (let step = 0; step < 12; step += 1) {
      await world.reconcileOnce();
      images.push(...world.images('api'));
      const { observedRecordGeneration, failedRevision } = world.status;
      reported.push([observedRecordGeneration, failedRevision?.number, failedRevision?.reason]);
      world.cluster.settle();
      world.now += 2_000;
    }
    await world.converge();
    expect([new Set(images), new Set(reported.map(String))]).toEqual([
      new Set(['web:1']),
      new Set(['1,2,CrashLoop']),
    ]);
    expect(template(world, 'api')).toEqual(before);
    expect(world.status.activeRevision).toEqual(activeRevision);
    expect(world.condition('Progressing')).toBe('False RolledBack');
    world.change(spec('web:3', 3, { recordGeneration: 4 }));
    await world.converge();
    expect(world.status).toMatchObject({ activeRevision: { number: 3 }, observedRecordGeneration: 4 });
  });
});
