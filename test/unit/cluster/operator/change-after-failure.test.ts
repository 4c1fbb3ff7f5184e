import { describe, expect, test } from 'vitest';
import {
  CONFIG,
  NAMESPACE,
  RESOURCE_ID,
  resource,
  scaled,
  revised as spec,
  steps,
  template,
  World,
} from './fixtures.ts';

/** After a revision has failed, other numbers of pods are for what serves, and bring nothing else of what failed. */

const labelled = (team: string) => ({ podTemplate: { labels: { team } } });
/** Kubernetes before 1.35 knows no restartPolicy Never of a container. */
const tooNew = {
  podTemplate: {
    labels: { team: 'bad' },
    sidecars: [{ name: 'once', image: 'o:1', restartPolicy: 'Never' }],
  },
};

async function serving(): Promise<World> {
  const world = new World(spec('web:1', 1, { generation: 1, ...labelled('good') }));
  world.restart({ ...CONFIG, kubernetesVersion: '1.34' });
  await world.converge();
  return world;
}

/** Revision 2 fails, each time in another way, with the source_config that it came with. */
const FAILURES: [how: string, reason: string, failed: object, fail: (world: World) => Promise<void>][] = [
  ['whose image does not exist', 'ImageNotFound', labelled('bad'), failMissing],
  ['that the cluster is too old for', 'Refused', tooNew, fail],
  ['whose failure only the hub knew of', 'CrashLoop', labelled('bad'), failLost],
  ['whose stored templates somebody deleted', 'InvalidImageName', labelled('bad'), failDeleted],
];

async function fail(world: World, failed: object = tooNew): Promise<void> {
  world.change(spec('web:2', 2, { generation: 2, ...failed }));
  await steps(world, 3);
}

async function failMissing(world: World): Promise<void> {
  world.looks = {
    resolve: (_key, asked) => (asked?.image === 'web:2' ? { kind: 'absent', why: 'gone' } : undefined),
    forget: () => undefined,
  };
  world.restart();
  await fail(world, labelled('bad'));
}

async function failLost(world: World): Promise<void> {
  const { activeRevision } = world.status;
  world.cluster.remove(RESOURCE_ID);
  const record = { reason: 'CrashLoop', message: 'api: it crashes', observedGeneration: 1 };
  const failed = { ...record, activeRevision: { id: activeRevision?.id, number: 1 } };
  const again = resource(spec('web:2', 2, { generation: 2, failed, ...labelled('bad') }));
  world.cluster.put({ ...again, metadata: { name: 'web', namespace: NAMESPACE, uid: 'another' } } as never);
  world.restart();
}

async function failDeleted(world: World): Promise<void> {
  world.cluster.stuck.set('api', 'InvalidImageName');
  await fail(world, labelled('bad'));
  world.cluster.stuck.clear();
  await world.converge();
  world.cluster.remove(`ControllerRevision/${NAMESPACE}/web-2`);
}

describe.each(FAILURES)('a revision %s', (_how, reason, failed, makeFail) => {
  async function afterwards(): Promise<World> {
    const world = await serving();
    await makeFail(world);
    await world.converge();
    expect(world.status).toMatchObject({
      activeRevision: { number: 1 },
      failedRevision: { number: 2, reason },
    });
    return world;
  }
  const change = async (world: World, generation: number, more: object) => {
    world.change(spec('web:2', 2, { generation, ...more }));
    await world.converge();
  };

  test('another number of pods changes nothing else of what serves, also after a restart', async () => {
    const world = await afterwards();
    const before = template(world, 'api');
    const { templates } = world.status.activeRevision ?? {};
    for (const [generation, pods] of [
      [3, 3],
      [4, 2],
    ] as const) {
      await change(world, generation, { ...failed, components: { api: scaled(pods, pods) } });
      world.restart();
      expect(world.replicas('api')).toBe(pods);
      expect(template(world, 'api')).toEqual(before);
    }
    expect(world.status).toMatchObject({
      activeRevision: { number: 1, templates },
      failedRevision: { number: 2, reason },
    });
    expect(world.status.failedChange).toBeUndefined();
  });

  test('a true change is rolled out of what serves; so is one back to what the failed revision came with', async () => {
    const world = await afterwards();
    await change(world, 3, { ...labelled('next'), components: { api: scaled(2, 2) } });
    expect(template(world, 'api')).toMatchObject({ metadata: { labels: { team: 'next' } } });
    expect(world.images('api')).toEqual(['web:1']);
    await change(world, 4, labelled('bad'));
    expect(template(world, 'api')).toMatchObject({ metadata: { labels: { team: 'bad' } } });
    expect(world.images('api')).toEqual(['web:1']);
    expect(world.status).toMatchObject({
      activeRevision: { number: 1 },
      failedRevision: { number: 2, reason },
    });
  });
});
