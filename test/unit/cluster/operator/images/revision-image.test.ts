import { describe, expect, test } from 'vitest';
import type { ImageLookup, ImageQuery } from '../../../../../src/cluster/operator/images/image-lookup.ts';
import { message, type Spec, scaled, settled, steps, World } from '../fixtures.ts';

/** Which image a revision runs, decided once. */

const digest = (character: string) => `sha256:${character.repeat(64)}`;

/** A registry: what each image is at present. */
class Registry {
  readonly answers = new Map<string, ImageLookup>();
  readonly asked: ImageQuery[] = [];
  #known = new Map<string, ImageLookup>();

  tag(image: string, character: string): void {
    this.answers.set(image, { kind: 'resolved', image: `${image}@${digest(character)}` });
  }

  /** Answers at once, once a question, as a look does. */
  resolve(_key: string, asked: ImageQuery | null): ImageLookup | undefined {
    if (asked === null) {
      this.#known.clear();
      return undefined;
    }
    const known = this.#known.get(asked.id);
    if (known !== undefined && known.kind !== 'pending') return known;
    if (known === undefined) this.asked.push(asked);
    const result = this.answers.get(asked.image) ?? { kind: 'pending', until: Number.MAX_SAFE_INTEGER };
    this.#known.set(asked.id, result);
    return result;
  }

  forget(): void {
    this.#known.clear();
  }
}

const spec = (number: number, more: object = {}): Spec => ({
  revision: { id: `r${number}`, number, image: 'web:1' },
  ...more,
});
const labelled = (value: string) => ({ podTemplate: { labels: { team: value } } });

async function running(first: Spec = spec(1)): Promise<{ world: World; registry: Registry }> {
  const world = new World(first);
  const registry = new Registry();
  registry.tag('web:1', 'a');
  world.imageResolver = registry;
  world.restart();
  await world.converge();
  return { world, registry };
}

/** Names of the stored templates. */
const templatesOf = ({ cluster }: World) =>
  cluster.ids().flatMap((id) => /^ControllerRevision\/(web-\d.*)$/.exec(id)?.[1] ?? []);

const A = `web:1@${digest('a')}`;
const B = `web:1@${digest('b')}`;

test('keeps workloads without a recorded revision until the next image is known', async () => {
  const { world, registry } = await running();
  world.cluster.edit('Deployment/shop/web-api', ({ metadata }) => {
    delete metadata.ownerReferences;
  });
  world.cluster.edit('ManagedDeployment/shop/web', (object) => {
    delete object['status'];
  });
  world.change({ ...spec(2), revision: { id: 'r2', number: 2, image: 'web:2' } });
  const writes = await steps(world, 3);
  expect(writes.filter((write) => write.startsWith('delete'))).toEqual([]);
  expect(world.images('api')).toEqual([A]);
  registry.tag('web:2', 'b');
  await world.converge();
  expect(world.images('api')).toEqual([`web:2@${digest('b')}`]);
  expect(world.condition('Ready')).toBe('True Converged');
});

describe('a tag', () => {
  test('is resolved when a revision starts, and the digest is used and reported everywhere', async () => {
    const { world, registry } = await running();
    expect(world.images('api')).toEqual([A]);
    expect(world.status.activeRevision).toMatchObject({ number: 1, image: A });
    expect(world.status.image).toEqual({ id: 'r1', number: 1, image: A });
    expect(world.condition('ImageReady')).toBe('True ImageResolved');
    expect(world.condition('Ready')).toBe('True Converged');
    expect(registry.asked).toHaveLength(1);
  });

  test('causes no rollout when it moves, not even with a change in place or after a restart', async () => {
    const { world, registry } = await running();
    registry.tag('web:1', 'b');
    world.restart();
    expect(await world.converge()).toEqual([]);
    world.change(spec(1, labelled('shop')));
    await world.converge();
    expect(world.images('api')).toEqual([A]);
    expect(world.condition('Ready')).toBe('True Converged');
    expect(registry.asked).toHaveLength(1);
  });

  test('is resolved again for the next revision of the same image', async () => {
    const { world, registry } = await running();
    registry.tag('web:1', 'b');
    world.change(spec(2));
    await world.converge();
    expect(world.images('api')).toEqual([B]);
    expect(world.status.image).toEqual({ id: 'r2', number: 2, image: B });
  });

  test('is not resolved again if the hub sends the reported digest instead', async () => {
    const { world, registry } = await running();
    registry.tag('web:1', 'b');
    world.change({ revision: { id: 'r1', number: 1, image: A } });
    const writes = await world.converge();
    expect(writes.filter((write) => !write.startsWith('status'))).toEqual([]);
    world.change({ revision: { id: 'r1', number: 1, image: A }, ...labelled('shop') });
    await world.converge();
    expect(world.images('api')).toEqual([A]);
    expect(templatesOf(world)).toEqual(['web-1', 'web-1-2']);
    expect(registry.asked).toHaveLength(1);
  });

  test('keeps its digest if a user deleted the templates', async () => {
    const { world, registry } = await running();
    registry.tag('web:1', 'b');
    world.cluster.remove('ControllerRevision/shop/web-1');
    await world.converge();
    expect(world.images('api')).toEqual([A]);
    expect(registry.asked).toHaveLength(1);
  });

  test('is not looked up while nothing runs', async () => {
    const { registry } = await running(spec(1, { suspend: true }));
    expect(registry.asked).toEqual([]);
  });

  test('is looked up with the pull Secrets of its pods, the platform’s own first', async () => {
    const podTemplate = { imagePullSecrets: [{ name: 'mine' }, { name: 'web-pull' }] };
    const { registry } = await running(spec(1, { podTemplate }));
    expect(registry.asked).toMatchObject([
      { namespace: 'shop', image: 'web:1', pullSecrets: ['web-pull', 'mine'] },
    ]);
  });
});

describe('a revision of a version that did not resolve digests', () => {
  test('continues unchanged, also when it is changed in place', async () => {
    const world = await settled(spec(1));
    const registry = new Registry();
    registry.tag('web:1', 'a');
    world.imageResolver = registry;
    world.restart();
    expect(await world.converge()).toEqual([]);
    world.change(spec(1, labelled('shop')));
    await world.converge();
    expect(world.images('api')).toEqual(['web:1']);
    expect(registry.asked).toEqual([]);
  });
});

describe('a pending lookup', () => {
  test('keeps the active revision serving, and is reported in the status', async () => {
    const { world, registry } = await running();
    world.change({ revision: { id: 'r2', number: 2, image: 'web:2' } });
    const writes = await world.converge();
    expect(writes.filter((write) => !write.startsWith('status'))).toEqual([]);
    expect(world.condition('ImageReady')).toBe('False ImageResolving');
    expect(world.condition('Serving')).toBe('True Available');
    expect(world.condition('Ready')).toBe('False Reconciling');
    expect(world.status.observedRecordGeneration).toBe(0);
    registry.tag('web:2', 'c');
    await world.converge();
    expect(world.images('api')).toEqual([`web:2@${digest('c')}`]);
  });

  test('does not stop a rollout in progress', async () => {
    const { world } = await running();
    world.cluster.stuck.set('api', 'ContainerCreating');
    world.change(spec(2));
    await world.reconcileOnce();
    await world.reconcileOnce();
    expect(world.status.rollout).toMatchObject({ number: 2 });
    world.now += 10_000;
    world.change({ revision: { id: 'r3', number: 3, image: 'web:3' } });
    await world.reconcileOnce();
    expect(world.status.rollout).toMatchObject({ number: 2 });
    expect(world.condition('ImageReady')).toBe('False ImageResolving');
  });

  test('keeps the pods of the active or rolling revision, including those of a removed component', async () => {
    const scales = (api: number, queue: number, poolSize: number) => ({
      components: { api: scaled(api, api), ...(queue === 0 ? {} : { queue: scaled(queue, queue) }) },
      database: { poolSize },
    });
    const { world, registry } = await running(spec(1, scales(1, 3, 20)));
    const pods = () => [world.replicas('api'), world.replicas('queue')];
    const served = { number: 1, scales: { api: { min: 1, max: 1 }, queue: { min: 3, max: 3 } } };
    world.change({ revision: { id: 'r2', number: 2, image: 'web:2' }, ...scales(10, 0, 3) });
    await world.converge();
    expect(pods()).toEqual([1, 3]);
    expect(world.status.activeRevision).toMatchObject(served);
    registry.tag('web:2', 'b');
    world.cluster.stuck.set('api', 'InvalidImageName');
    await steps(world, 3);
    world.cluster.stuck.clear();
    await world.converge();
    expect(world.status.failedRevision).toMatchObject({ number: 2 });
    expect(pods()).toEqual([1, 3]);
    expect(world.status.activeRevision).toMatchObject(served);
    world.cluster.stuck.set('api', 'ContainerCreating');
    world.change({ revision: { id: 'r3', number: 3, image: 'web:1' }, ...scales(1, 2, 20) });
    await steps(world, 3);
    world.change({ revision: { id: 'r4', number: 4, image: 'web:4' }, ...scales(1, 0, 20) });
    await steps(world, 3);
    expect(world.status.rollout).toMatchObject({ number: 3 });
    expect(pods()).toEqual([1, 2]);
    world.cluster.stuck.clear();
    await steps(world, 3);
    expect(world.status.activeRevision).toMatchObject({ number: 3, scales: { queue: { min: 2, max: 2 } } });
    expect(pods()).toEqual([1, 2]);
  });

  test('does not stop a rollback, whose failure is reported until another revision starts', async () => {
    const two = { components: { api: scaled(2, 2), queue: scaled(1, 1) } };
    const { world, registry } = await running(spec(1, two));
    world.cluster.stuck.set('api', 'ContainerCreating');
    world.cluster.stuck.set('queue', 'InvalidImageName');
    world.change(spec(2, two));
    await steps(world, 1);
    await world.reconcileOnce();
    expect(await world.reconcileOnce()).toEqual(['apply Deployment/web-queue']);
    world.change({ revision: { id: 'r3', number: 3, image: 'web:3' }, ...two });
    expect(await world.reconcileOnce()).toEqual(['status ManagedDeployment/web']);
    expect(world.condition('Progressing')).toBe('False RolloutFailed');
    expect(message(world, 'Progressing')).toContain('revision 1 is being restored: api');
    world.cluster.stuck.clear();
    await world.converge();
    expect(world.condition('Progressing')).toBe('False RolledBack');
    expect(world.status).toMatchObject({ activeRevision: { number: 1 }, failedRevision: { number: 2 } });
    expect(world.events.filter(({ reason }) => reason === 'RolloutComplete')).toHaveLength(1);
    registry.tag('web:3', 'c');
    await world.converge();
    expect(world.status.activeRevision).toMatchObject({ number: 3 });
    expect(world.status.failedRevision).toBeUndefined();
  });

  test('leaves the active revision unchanged if its stored templates were deleted', async () => {
    const { world, registry } = await running(spec(1, { routing: { url: 'https://a.example.com' } }));
    world.cluster.remove('ControllerRevision/shop/web-1');
    world.change({
      revision: { id: 'r2', number: 2, image: 'web:2' },
      routing: { url: 'https://a.example.com' },
    });
    const writes = await world.converge();
    expect(writes.filter((write) => !write.startsWith('status'))).toEqual([]);
    expect(world.images('api')).toEqual([A]);
    expect(world.condition('Serving')).toBe('True Available');
    registry.tag('web:2', 'c');
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
  });

  test('does not block the creation of data services', async () => {
    const world = new World({ revision: { id: 'r1', number: 1, image: 'slow:1' } });
    world.imageResolver = new Registry();
    world.restart();
    await world.converge();
    expect(world.cluster.ids()).toContain('StatefulSet/web-db');
    expect(templatesOf(world)).toEqual([]);
    expect(world.status.deploymentStatus).toBe('READY');
  });

  test('keeps the pods of a first revision that has failed', async () => {
    const world = new World(spec(1));
    const registry = new Registry();
    registry.tag('web:1', 'a');
    world.imageResolver = registry;
    world.restart();
    world.cluster.stuck.set('api', 'InvalidImageName');
    await world.converge();
    expect(world.status.failedRevision).toMatchObject({ number: 1 });
    world.change({ revision: { id: 'r2', number: 2, image: 'web:2' } });
    await world.converge();
    expect(world.images('api')).toEqual([A]);
    expect(world.status.failedRevision).toMatchObject({ number: 1 });
  });
});

describe('an image that cannot be looked up', () => {
  const why = 'r.example did not respond within 5 s';

  test('is used as given, which is reported, recorded, and not retried', async () => {
    const { world, registry } = await running();
    registry.answers.set('web:2', { kind: 'unresolved', why });
    world.change({ revision: { id: 'r2', number: 2, image: 'web:2' } });
    await world.converge();
    expect(world.images('api')).toEqual(['web:2']);
    expect(world.condition('ImageReady')).toBe('True ImageUnresolved');
    expect(world.condition('Ready')).toBe('True Converged');
    expect(world.status.image).toBeUndefined();
    registry.tag('web:2', 'c');
    world.restart();
    expect(await world.converge()).toEqual([]);
    world.change({ revision: { id: 'r2', number: 2, image: 'web:2' }, ...labelled('shop') });
    await world.converge();
    expect(world.images('api')).toEqual(['web:2']);
    expect(world.condition('ImageReady')).toBe('True ImageUnresolved');
    const message = world.status.conditions?.find(({ type }) => type === 'ImageReady')?.message;
    expect(message).toContain(why);
    expect(registry.asked).toHaveLength(2);
  });
});

describe('an image that does not exist any more', () => {
  const gone = { kind: 'absent', why: `the registry says that ${B} does not exist` } as const;

  test('fails its revision at once, and changes no running workload', async () => {
    const { world, registry } = await running();
    registry.answers.set(B, gone);
    world.change({ revision: { id: 'r2', number: 2, image: B } });
    const writes = await world.converge();
    expect(writes.filter((write) => !write.startsWith('status'))).toEqual([]);
    expect(world.status.failedRevision).toMatchObject({
      number: 2,
      reason: 'ImageNotFound',
      message: gone.why,
    });
    expect(world.status.activeRevision).toMatchObject({ number: 1 });
    expect(world.images('api')).toEqual([A]);
    expect(world.condition('Ready')).toBe('False ImageNotFound');
    world.restart();
    expect(await world.converge()).toEqual([]);
    expect(registry.asked).toHaveLength(2);
  });

  test('fails a first revision too, and the next one runs', async () => {
    const world = new World({ revision: { id: 'r1', number: 1, image: B } });
    const registry = new Registry();
    registry.answers.set(B, gone);
    world.imageResolver = registry;
    world.restart();
    await world.converge();
    expect(world.status.failedRevision).toMatchObject({ number: 1, reason: 'ImageNotFound' });
    registry.tag('web:1', 'a');
    world.change(spec(2));
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
    expect(world.images('api')).toEqual([A]);
  });
});

test('returns to the digest after a failed change in place or a failed revision', async () => {
  const { world, registry } = await running();
  registry.tag('web:1', 'b');
  world.change(spec(1, labelled('bad')));
  world.cluster.stuck.set('api', 'InvalidImageName');
  await world.converge();
  world.cluster.stuck.clear();
  await world.converge();
  expect(world.images('api')).toEqual([A]);
  world.cluster.stuck.set('api', 'InvalidImageName');
  world.change(spec(2, labelled('bad')));
  await world.converge();
  world.cluster.stuck.clear();
  await world.converge();
  expect(world.status.failedRevision).toMatchObject({ number: 2 });
  expect(world.images('api')).toEqual([A]);
  // A later change applies to what serves, by its digest.
  world.change(spec(2, labelled('good')));
  await world.converge();
  expect(world.images('api')).toEqual([A]);
  expect(world.status.activeRevision).toMatchObject({ number: 1, image: A });
});

test('looks an image up again if the operator is killed before the templates are stored, but not after', async () => {
  const world = new World(spec(1));
  const registry = new Registry();
  registry.tag('web:1', 'a');
  world.imageResolver = registry;
  world.restart();
  world.cluster.faults = [{ when: ({ id }) => id === 'ControllerRevision/web-1', error: 'server' }];
  for (let round = 0; round < 5 && registry.asked.length < 1; round += 1)
    await world.reconcileOnce().catch(() => []);
  while (world.cluster.faults.length > 0) {
    await world.reconcileOnce().catch(() => []);
    world.cluster.settle();
    world.now += 2_000;
  }
  registry.forget();
  registry.tag('web:1', 'b');
  world.restart();
  await world.converge();
  expect(world.images('api')).toEqual([B]);
  expect(world.status.image).toMatchObject({ image: B });
  registry.tag('web:1', 'c');
  registry.forget();
  world.restart();
  expect(await world.converge()).toEqual([]);
});
