import { describe, expect, test } from 'vitest';
import { message, NAMESPACE, RESOURCE_ID, revised, settled, template, World } from './fixtures.ts';

const URL = { routing: { url: 'https://web.example.com' } };

function edit(world: World, change: (spec: Record<string, Record<string, unknown>>) => void): void {
  world.cluster.edit(RESOURCE_ID, (object) => {
    change(object['spec'] as Record<string, Record<string, unknown>>);
  });
}

describe('a spec that cannot be parsed', () => {
  test('still shows the running workloads, and reports as unknown what depends on the spec', async () => {
    const world = await settled(revised('web:1', 1, URL));
    const { activeRevision, routes } = world.status;
    edit(world, (spec) => {
      spec['routing'] = { url: 'https://web.example.com:8443' };
    });
    await world.reconcileOnce().catch(() => []);
    expect(world.condition('Ready')).toBe('False Refused');
    expect(message(world, 'Ready')).toContain('spec.routing.url');
    expect(world.condition('Serving')).toBe('True Available');
    expect(world.condition('DatabaseReady')).toBe('True DatabaseAvailable');
    expect(world.condition('RouteReady')).toBe('Unknown Refused');
    expect(world.condition('Progressing')).toBe('Unknown Refused');
    expect(world.status).toMatchObject({ deploymentStatus: 'READY', activeRevision, routes });
    expect(world.status.url).toBeUndefined();
    expect(world.status.components).toBeUndefined();
    for (const id of world.cluster.ids().filter((each) => /^(Deployment|StatefulSet)\//.test(each))) {
      world.cluster.remove(id.replace('/', `/${NAMESPACE}/`));
    }
    world.cluster.settle();
    world.now += 2_000;
    await world.reconcileOnce().catch(() => []);
    expect(world.condition('Serving')).toBe('False Unavailable');
    expect(world.condition('DatabaseReady')).toBe('False DatabaseUnavailable');
    expect(world.status.deploymentStatus).toBe('AWAITING_DATABASE');
  });

  test('recovers with the next spec', async () => {
    const world = await settled(revised('web:1', 1, URL));
    edit(world, (spec) => {
      spec['routing'] = { url: 'no url' };
    });
    await world.reconcileOnce().catch(() => []);
    world.change(revised('web:1', 1, URL));
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
    expect(world.condition('Serving')).toBe('True Available');
    expect(world.status.deploymentStatus).toBe('READY');
  });
});

describe('a spec that cannot be parsed, while the resource is paused', () => {
  const isPaused = (world: World, value: boolean) =>
    world.cluster.edit(RESOURCE_ID, ({ metadata }) => {
      metadata.annotations = value ? { 'berth.dev/paused': 'true' } : {};
    });
  const conditions = (world: World) =>
    ['Ready', 'Paused', 'Stalled', 'Reconciling'].map((type) => world.condition(type));
  const reject = (world: World) =>
    edit(world, (spec) => {
      spec['routing'] = { url: 'no url' };
    });

  test('is reported as paused, and as Stalled when the pause ends', async () => {
    const world = await settled(revised('web:1', 1, URL));
    isPaused(world, true);
    await world.reconcileOnce();
    reject(world);
    await world.reconcileOnce().catch(() => []);
    expect(conditions(world)).toEqual(['False Refused', 'True Paused', 'absent', 'absent']);
    expect(message(world, 'Paused')).toContain('kubectl annotate -n shop mdep/web berth.dev/paused-');
    isPaused(world, false);
    await world.reconcileOnce().catch(() => []);
    expect(conditions(world)).toEqual(['False Refused', 'absent', 'True Refused', 'absent']);
    expect(await world.reconcileOnce().catch(() => ['failed'])).toEqual([]);
  });

  test('does not count the time of the pause in the deadline of its rollout', async () => {
    const world = new World(revised('web:1', 1, URL));
    world.cluster.stuck.set('api', 'ContainerCreating');
    for (let step = 0; step < 4; step += 1) {
      await world.reconcileOnce();
      world.cluster.settle();
    }
    isPaused(world, true);
    await world.reconcileOnce();
    reject(world);
    await world.reconcileOnce().catch(() => []);
    world.now += 2 * world.config.progressDeadlineSeconds * 1000;
    isPaused(world, false);
    await world.reconcileOnce().catch(() => []);
    world.change(revised('web:1', 1, URL));
    await world.reconcileOnce();
    expect(world.condition('Progressing')).toMatch(/^True /);
  });
});

describe('a spec that is nested too deeply', () => {
  test.each(['securityContext', 'envFrom'])('is reported as nested too deeply below %s', async (field) => {
    const world = await settled(revised('web:1', 1));
    const deep = JSON.parse(`${'{"a":['.repeat(4_000)}${']}'.repeat(4_000)}`) as object;
    edit(world, (spec) => {
      spec['podTemplate'] = { sidecars: [{ name: 'helper', image: 'helper:1', [field]: deep }] };
    });
    await world.reconcileOnce().catch(() => []);
    expect(world.condition('Ready')).toBe('False Refused');
    expect(message(world, 'Ready')).toContain('spec: is nested more than 64 levels deep');
    expect(world.condition('Serving')).toBe('True Available');
  });
});

describe('fields of a later version', () => {
  test('are ignored without a restart, and changes are applied', async () => {
    const world = await settled(revised('web:1', 1));
    const before = template(world, 'api');
    edit(world, (spec) => {
      spec['priority'] = { level: 1 };
      for (const part of ['revision', 'database', 'cache', 'routing', 'tracing']) {
        spec[part] = { ...spec[part], later: { a: 1 } };
      }
    });
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
    expect(template(world, 'api')).toEqual(before);
    edit(world, (spec) => {
      spec['revision'] = { ...revised('web:2', 2).revision, later: 2 };
    });
    await world.converge();
    expect(world.images('api')[0]).toBe('web:2');
  });

  test('are not ignored in pods, because other pods would run than requested', async () => {
    const world = await settled(revised('web:1', 1));
    edit(world, (spec) => {
      spec['podTemplate'] = { nodeName: 'a' };
    });
    await world.reconcileOnce().catch(() => []);
    expect(world.condition('Ready')).toBe('False Refused');
    expect(message(world, 'Ready')).toContain('nodeName');
  });
});
