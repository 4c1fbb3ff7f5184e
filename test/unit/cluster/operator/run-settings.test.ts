import type { V1Container } from '@kubernetes/client-node';
import { describe, expect, test } from 'vitest';
import type { RunSettings } from '../../../../src/domain/run-settings/run-settings.ts';
import {
  CONFIG,
  message,
  NAMESPACE,
  RESOURCE_ID,
  revised,
  settled,
  steps,
  template,
  World,
} from './fixtures.ts';

/** Run settings belong to a revision: each revision keeps its own, whatever happens to the next one. */

const ISOLATED = { ...CONFIG, networkIsolation: true };
const MINE = { port: 80, commands: { api: { args: ['mine'] } }, env: [{ name: 'A', value: 'mine' }] };
const NEXT = { port: 3000, commands: { api: { args: ['next'] } }, env: [{ name: 'B', value: 'next' }] };

const revision = (number: number, podTemplate: RunSettings & { labels?: object }, more: object = {}) =>
  revised(`web:${number}`, number, { recordGeneration: number, podTemplate, ...more });

/** The run settings of the app container of a component. */
function runs(world: World, component = 'api') {
  const { spec } = template(world, component) as { spec: { containers: V1Container[] } };
  const app = spec.containers.find(({ name }) => name === 'app');
  const own = app?.env?.filter(({ name }) => ['A', 'B', 'PORT'].includes(name)) ?? [];
  return {
    args: app?.args,
    port: app?.ports?.[0]?.containerPort,
    env: Object.fromEntries(own.map(({ name, value }) => [name, value])),
  };
}
const RUN_MINE = { args: ['mine'], port: 80, env: { PORT: '80', A: 'mine' } };
const RUN_NEXT = { args: ['next'], port: 3000, env: { PORT: '3000', B: 'next' } };

function openPorts(world: World): number[] {
  const { spec } = world.cluster.get(`NetworkPolicy/${NAMESPACE}/web`) as unknown as {
    spec: { ingress: { ports?: { port: number }[] }[] };
  };
  return spec.ingress.flatMap(({ ports = [] }) => ports.map(({ port }) => port));
}

async function isolated(first: RunSettings): Promise<World> {
  const world = new World(revision(1, first));
  world.restart(ISOLATED);
  await world.converge();
  return world;
}

describe('the port of an isolated app', () => {
  test('is open together with the former port until the rollout is complete', async () => {
    const world = await isolated({});
    expect(openPorts(world)).toEqual([8000]);
    world.change(revision(2, MINE));
    await world.reconcileOnce();
    expect(openPorts(world)).toEqual([80, 8000]);
    await world.converge();
    expect(world.status.activeRevision?.number).toBe(2);
    expect(openPorts(world)).toEqual([80]);
    expect(await world.reconcileOnce()).toEqual([]);
  });

  test('is that of the active revision when the next revision has failed', async () => {
    const world = await isolated(MINE);
    world.cluster.stuck.set('api', 'InvalidImageName');
    world.change(revision(2, NEXT));
    await steps(world, 1);
    expect(openPorts(world)).toEqual([80, 3000]);
    await world.converge();
    expect(world.status.failedRevision?.number).toBe(2);
    expect(openPorts(world)).toEqual([80]);
  });
});

describe('a failed revision with other run settings', () => {
  async function failed(first: object, next: object): Promise<World> {
    const world = await settled(first);
    world.cluster.stuck.set('api', 'InvalidImageName');
    world.change(next);
    await world.converge();
    world.cluster.stuck.clear();
    await world.converge();
    expect(world.status).toMatchObject({ activeRevision: { number: 1 }, failedRevision: { number: 2 } });
    return world;
  }

  test('leaves those of the active revision, also after a change in place and a restart', async () => {
    const world = await failed(revision(1, MINE), revision(2, NEXT));
    expect(runs(world)).toEqual(RUN_MINE);
    world.restart();
    world.change({ ...revision(2, { ...NEXT, labels: { team: 'a' } }), recordGeneration: 3 });
    await world.converge();
    expect(runs(world)).toEqual(RUN_MINE);
    expect(template(world, 'api')).toMatchObject({ metadata: { labels: { team: 'a' } } });
    world.change(revision(3, NEXT));
    await world.converge();
    expect(runs(world)).toEqual(RUN_NEXT);
  });

  test('creates no component for the active revision, and removes none from it', async () => {
    const queue = { scale: { min: 1, max: 1 }, byCommand: true };
    const worker = { commands: { queue: { args: ['work'] } } };
    const withQueue = (number: number, labels: object) =>
      revision(number, { ...worker, labels }, { components: { api: {}, queue } });
    const components = (world: World) =>
      ['api', 'queue'].filter((each) => template(world, each) !== undefined);

    const added = await failed(revision(1, {}), withQueue(2, {}));
    expect(components(added)).toEqual(['api']);
    added.change({ ...withQueue(2, { team: 'a' }), recordGeneration: 3 });
    await added.converge();
    expect(components(added)).toEqual(['api']);
    expect(template(added, 'api')).toMatchObject({ metadata: { labels: { team: 'a' } } });

    const removed = await failed(withQueue(1, {}), revision(2, {}));
    expect(components(removed)).toEqual(['api', 'queue']);
    removed.change({ ...revision(2, { labels: { team: 'a' } }), recordGeneration: 3 });
    await removed.converge();
    expect(components(removed)).toEqual(['api', 'queue']);
    expect(runs(removed, 'queue').args).toEqual(['work']);
    expect(template(removed, 'queue')).toMatchObject({ metadata: { labels: { team: 'a' } } });
  });
});

test('an unknown field of the pod template is rejected and changes no pod, because it may be a run setting of a later version', async () => {
  const world = await settled(revision(1, MINE));
  const before = template(world, 'api');
  world.cluster.edit(RESOURCE_ID, (object) => {
    const spec = object['spec'] as { podTemplate: object };
    object['spec'] = { ...spec, podTemplate: { ...spec.podTemplate, laterSetting: true } };
  });
  await world.reconcileOnce().catch(() => []);
  expect(world.condition('Ready')).toBe('False Refused');
  expect(message(world, 'Ready')).toContain('laterSetting');
  expect(template(world, 'api')).toEqual(before);
});
