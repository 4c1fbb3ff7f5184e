import type { V1PodSpec } from '@kubernetes/client-node';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RunSettings } from '../../../../src/domain/run-settings/run-settings.ts';
import { REFERENCED_SECRETS, validRunSettings } from '../../../arbitraries/run-settings.ts';
import { NAMESPACE, type Spec, template, World } from './fixtures.ts';

const scale = fc
  .tuple(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: 4 }))
  .map(([a, b]) => ({ scale: { min: Math.min(a, b), max: Math.max(a, b) } }));

const spec: fc.Arbitrary<Spec> = fc.record({
  revision: fc.integer({ min: 1, max: 4 }).map((number) => ({ number, image: `web:${number}` })),
  suspend: fc.boolean(),
  components: fc.record({ api: scale, queue: scale, executor: fc.constant({}) }, { requiredKeys: ['api'] }),
  database: fc.record({
    external: fc.boolean(),
    volumePolicy: fc.constantFrom('Retain' as const, 'Delete' as const),
  }),
  cache: fc.record({ external: fc.boolean() }),
  // Nothing runs release commands here (releases.test.ts).
  podTemplate: fc
    .tuple(
      fc.constantFrom({}, { team: 'a' }, { team: 'b' }),
      fc.oneof(fc.constant<RunSettings>({}), validRunSettings),
    )
    .map(([labels, { releaseCommand: _, releaseTimeoutSeconds: __, ...settings }]) => ({
      labels,
      ...settings,
    })),
});

/** Creates the Secrets to which `validRunSettings` refers. */
function withExternalSecrets(world: World): World {
  for (const name of REFERENCED_SECRETS.names) {
    const data = Object.fromEntries(REFERENCED_SECRETS.keys.map((key) => [key, 'dmFsdWU=']));
    world.cluster.put({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace: NAMESPACE },
      data,
    } as never);
  }
  return world;
}

/** How the app container of a template runs. */
function runSettings(pod: unknown): object {
  const [app] = (pod as { spec: V1PodSpec } | undefined)?.spec.containers ?? [];
  return { command: app?.command, args: app?.args, env: app?.env, ports: app?.ports };
}

/** The final state depends only on the last spec, apart from the number of pods that an autoscaler has chosen. */
function outcomeOf(world: World): object {
  const { cluster } = world;
  const scaledBy = (name: string) =>
    cluster.get(`HorizontalPodAutoscaler/${NAMESPACE}/web-${name}`) ? 'autoscaler' : world.replicas(name);
  return {
    objects: cluster.ids().filter((id) => !/^(ControllerRevision|Secret|PersistentVolumeClaim)/.test(id)),
    replicas: ['api', 'queue', 'executor', 'cache'].map(scaledBy),
    images: ['api', 'queue', 'executor'].map((name) => world.images(name)),
    runs: ['api', 'queue', 'executor'].map((name) => runSettings(template(world, name))),
  };
}

test('converges to the last spec after any sequence of specs, drift, restarts and failures, and then writes nothing', async () => {
  const disturbance = fc.constantFrom(
    'none',
    'restart',
    'delete',
    'fail',
    'lose the answer',
    'reconcile in between',
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(spec, disturbance, fc.nat()), { minLength: 1, maxLength: 5 }),
      async (steps) => {
        const [first] = steps;
        const world = withExternalSecrets(new World(first?.[0]));
        for (const [wanted, kind, pick] of steps) {
          world.change(wanted);
          await disturb(world, kind, pick);
        }
        world.cluster.faults = [];
        await world.converge(60);
        const last = steps.at(-1)?.[0];
        const off = last?.suspend === true;
        expect(world.condition('Ready')).toBe(off ? 'True SwitchedOff' : 'True Converged');
        expect(world.status.deploymentStatus).toBe(off ? 'UNUSED' : 'READY');
        world.restart();
        expect(await world.reconcileOnce()).toEqual([]);
        if (off) return;
        const fresh = withExternalSecrets(new World(last));
        await fresh.converge();
        expect(outcomeOf(world)).toEqual(outcomeOf(fresh));
      },
    ),
    { numRuns: 60 },
  );
}, 60_000);

/** A reconcile whose calls may fail. */
const tryReconcile = (world: World) => world.reconcileOnce().catch(() => []);

async function disturb(world: World, kind: string, pick: number): Promise<void> {
  const { cluster } = world;
  switch (kind) {
    case 'restart':
      await tryReconcile(world);
      world.restart();
      return;
    case 'delete': {
      await tryReconcile(world);
      const ids = cluster.ids().filter((id) => !/^(Secret|PersistentVolumeClaim)/.test(id));
      const id = ids[pick % Math.max(1, ids.length)];
      const [objectKind, name] = id?.split('/') ?? [];
      if (id !== undefined) cluster.remove(`${objectKind}/${NAMESPACE}/${name}`);
      return;
    }
    case 'fail':
    case 'lose the answer': {
      let countdown = pick % 8;
      cluster.faults = [
        {
          when: () => {
            countdown -= 1;
            return countdown < 0;
          },
          error: 'timeout',
          afterCommit: kind !== 'fail',
        },
      ];
      await tryReconcile(world);
      cluster.settle();
      return;
    }
    case 'reconcile in between':
      await tryReconcile(world);
      cluster.settle();
      world.now += 4_000;
  }
}
