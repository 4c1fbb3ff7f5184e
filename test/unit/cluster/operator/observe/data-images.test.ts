import { describe, expect, test } from 'vitest';
import { CONFIG, NAMESPACE, RESOURCE_ID, resource, type Spec, settled, World } from '../fixtures.ts';

/** What a new default image of the operator means for the data services that are there, and for new ones. */

const spec = (more: object = {}): Spec => ({
  deploymentId: '0197a000-0000-7000-8000-00000000abcd',
  revision: { id: '0197a000-0000-7000-8000-000000000001', number: 1, image: 'web:1' },
  ...more,
});
const CACHE = `Deployment/${NAMESPACE}/web-cache`;
const NEWER = { ...CONFIG, cacheImage: 'valkey:9', databaseImage: 'postgres:19' };

interface Workload {
  template: { spec: { containers: { image: string }[] } };
}
const template = (world: World, id = CACHE) =>
  (world.cluster.get(id)?.['spec'] as Workload | undefined)?.template;
const imageOf = (world: World, id?: string) => template(world, id)?.spec.containers[0]?.image;

describe('a new default image of the cache', () => {
  test('changes no existing cache, and nothing is written', async () => {
    const world = await settled(spec());
    const before = template(world);
    world.restart(NEWER);
    expect(await world.converge()).toEqual([]);
    expect(template(world)).toEqual(before);
    expect(world.status.dataImages).toEqual({ cache: 'valkey:8', database: 'postgres:18' });
  });

  test('does not apply to a cache whose other settings change or that is created again after a deletion', async () => {
    const world = await settled(spec());
    world.restart(NEWER);
    world.change(spec({ cache: { maxMemoryMb: 64 } }));
    expect(await world.converge()).toContain('apply Deployment/web-cache');
    expect(imageOf(world)).toBe('valkey:8');
    world.cluster.remove(CACHE);
    expect(await world.converge()).toContain('create Deployment/web-cache');
    expect(imageOf(world)).toBe('valkey:8');
    expect(imageOf(world, `StatefulSet/${NAMESPACE}/web-db`)).toBe('postgres:18');
  });

  test('is used for the cache of a new deployment and for one that replaces an external cache', async () => {
    const external = spec({ cache: { external: true } });
    const world = await settled(external);
    expect(world.status.dataImages).toEqual({ database: 'postgres:18' });
    world.restart(NEWER);
    world.change(spec());
    await world.converge();
    expect(imageOf(world)).toBe('valkey:9');
    expect(world.status.dataImages).toEqual({ cache: 'valkey:9', database: 'postgres:18' });

    const fresh = new World(spec());
    fresh.restart(NEWER);
    await fresh.converge();
    expect(fresh.status.dataImages).toEqual({ cache: 'valkey:9', database: 'postgres:19' });
  });

  test('is used for the cache of a recreated resource, while its database keeps its image', async () => {
    const world = await settled(spec());
    world.cluster.remove(RESOURCE_ID);
    world.restart(NEWER);
    const again = resource(spec());
    world.cluster.put({ ...again, metadata: { ...again.metadata, uid: 'another' } });
    await world.converge();
    expect(world.status.dataImages).toEqual({ cache: 'valkey:9', database: 'postgres:18' });
    expect(imageOf(world)).toBe('valkey:9');
  });
});
