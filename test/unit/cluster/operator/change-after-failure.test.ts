import { describe, expect, test } from 'vitest';
import type { ManagedDeployment } from '../../../../src/contract/resource/managed-deployment.ts';
import { templateInputsHash, writtenInputsHash } from '../../../../src/workloads/template-inputs.ts';
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

/** After a failure, a change of the scale applies to the active revision, without other changes of the failed one. */

const labelled = (team: string) => ({ podTemplate: { labels: { team } } });
/** Kubernetes before 1.35 does not support restartPolicy Never for a container. */
const tooNew = {
  podTemplate: {
    labels: { team: 'bad' },
    sidecars: [{ name: 'once', image: 'o:1', restartPolicy: 'Never' }],
  },
};

async function serving(): Promise<World> {
  const world = new World(spec('web:1', 1, { recordGeneration: 1, ...labelled('good') }));
  world.restart({ ...CONFIG, kubernetesVersion: '1.34' });
  await world.converge();
  return world;
}

/** Ways in which revision 2 fails, together with its source_config. */
const FAILURES: [how: string, reason: string, failed: object, fail: (world: World) => Promise<void>][] = [
  ['whose image does not exist', 'ImageNotFound', labelled('bad'), failMissing],
  ['that needs a newer cluster', 'Refused', tooNew, fail],
  ['whose failure only the hub has recorded', 'CrashLoop', labelled('bad'), failLost],
  ['whose stored templates were deleted', 'InvalidImageName', labelled('bad'), failDeleted],
];

async function fail(world: World, failed: object = tooNew): Promise<void> {
  world.change(spec('web:2', 2, { recordGeneration: 2, ...failed }));
  await steps(world, 3);
}

async function failMissing(world: World): Promise<void> {
  world.imageResolver = {
    resolve: (_key, asked) => (asked?.image === 'web:2' ? { kind: 'absent', why: 'gone' } : undefined),
    forget: () => undefined,
  };
  world.restart();
  await fail(world, labelled('bad'));
}

async function failLost(world: World): Promise<void> {
  const { activeRevision } = world.status;
  world.cluster.remove(RESOURCE_ID);
  const record = { reason: 'CrashLoop', message: 'api: it crashes', observedRecordGeneration: 1 };
  const failed = { ...record, activeRevision: { id: activeRevision?.id, number: 1 } };
  const again = resource(spec('web:2', 2, { recordGeneration: 2, failed, ...labelled('bad') }));
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

describe.each(FAILURES)('a failed revision %s', (_how, reason, failed, makeFail) => {
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
  const change = async (world: World, recordGeneration: number, more: object) => {
    world.change(spec('web:2', 2, { recordGeneration, ...more }));
    await world.converge();
  };

  test('changes only the number of pods of the active revision, also after a restart', async () => {
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

  test('allows a later change of the active revision, even one back to the source_config of the failed revision', async () => {
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

describe('a failed revision whose request equals its limit', () => {
  const sized = (cpu: string) => ({
    podTemplate: { labels: { team: 'bad' } },
    components: { api: { ...scaled(1, 1), resources: { requests: { cpu }, limits: { cpu } } } },
  });

  async function failedWith(cpu: string, more: object = {}): Promise<World> {
    const world = await serving();
    world.cluster.stuck.set('api', 'InvalidImageName');
    world.change(spec('web:2', 2, { recordGeneration: 2, ...sized(cpu), ...more }));
    await steps(world, 3);
    world.cluster.stuck.clear();
    await world.converge();
    expect(world.status).toMatchObject({ activeRevision: { number: 1 }, failedRevision: { number: 2 } });
    return world;
  }
  const hashes = (world: World) => {
    const live = world.cluster.get(RESOURCE_ID) as unknown as ManagedDeployment;
    return { inputsHash: writtenInputsHash(live), normalInputsHash: templateInputsHash(live) };
  };

  test.each([
    ['after its rollout', {}],
    ['before its rollout', tooNew],
  ])('records the hash that the previous version compares when it failed %s', async (_when, more) => {
    const world = await failedWith('0.5', more);
    const { inputsHash, normalInputsHash } = hashes(world);
    expect(inputsHash).not.toBe(normalInputsHash);
    expect(world.status.failedRevision).toMatchObject({ inputsHash, normalInputsHash });
  });

  test('is not rolled out in place when the hub writes the quantities in another way', async () => {
    const world = await failedWith('0.5');
    const before = template(world, 'api');
    world.change(spec('web:2', 2, { recordGeneration: 3, ...sized('500m') }));
    await world.converge();
    expect(template(world, 'api')).toEqual(before);
    expect(world.status.failedRevision?.number).toBe(2);
  });
});
