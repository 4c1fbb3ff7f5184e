/** Custom resources in every kind of state, with the statuses that the operator derives in a simulated cluster. */
import type { ManagedDeploymentStatus } from '../../../src/contract/resource/managed-deployment.ts';
import { RESOURCE_ID, revised, scaled, settled, steps, World } from '../../unit/cluster/operator/fixtures.ts';

/** What a tool must conclude. */
export interface Expected {
  readonly kstatus: 'Current' | 'InProgress' | 'Failed' | 'Terminating';
  readonly argocd: 'Healthy' | 'Progressing' | 'Degraded' | 'Suspended';
}

export interface CorpusRow extends Expected {
  readonly name: string;
  readonly object: object;
}

interface State extends Expected {
  readonly name: string;
  readonly world: () => Promise<World> | World;
  /** A change after the last reconcile, which the operator has not observed. */
  readonly unobserved?: (world: World) => void;
}

const CURRENT: Expected = { kstatus: 'Current', argocd: 'Healthy' };
const IN_PROGRESS: Expected = { kstatus: 'InProgress', argocd: 'Progressing' };
const FAILED: Expected = { kstatus: 'Failed', argocd: 'Degraded' };

const good = revised('web:1', 1);
const MINIMAL = { revision: { image: 'web:1' } };
const TIMES = { requestTime: '2026-01-01T00:00:00Z', restorableUntilTime: '2026-01-08T00:00:00Z' };

async function changed(spec: Parameters<World['change']>[0]): Promise<World> {
  const world = await settled(good);
  world.change(spec);
  return world;
}

async function converged(world: World | Promise<World>): Promise<World> {
  const made = await world;
  await made.converge();
  return made;
}

/** The second revision has failed. `rolledBack`: the first revision serves again. */
async function failed({ rolledBack }: { rolledBack: boolean }): Promise<World> {
  const world = await changed(revised('web:2', 2));
  world.cluster.stuck.set('api', 'InvalidImageName');
  await steps(world, 1);
  await world.reconcileOnce();
  world.cluster.stuck.clear();
  if (rolledBack) await world.converge();
  return world;
}

function annotated(world: World, annotations: Record<string, string>): World {
  world.cluster.edit(RESOURCE_ID, ({ metadata }) => {
    metadata.annotations = annotations;
  });
  return world;
}

async function paused(from: World | Promise<World>): Promise<World> {
  const world = annotated(await from, { 'berth.dev/paused': 'true' });
  await world.reconcileOnce();
  return world;
}

const STATES: readonly State[] = [
  { name: 'without a status', world: () => new World(good), ...IN_PROGRESS },
  {
    name: 'created, and waiting for data services',
    world: async () => {
      const world = new World(good);
      await world.reconcileOnce();
      return world;
    },
    ...IN_PROGRESS,
  },
  { name: 'ready', world: () => settled(good), ...CURRENT },
  { name: 'ready, applied by hand', world: () => settled(MINIMAL), ...CURRENT },
  {
    name: 'ready, with a change that was not observed',
    world: () => settled(good),
    unobserved: (world) => world.change(revised('web:2', 2)),
    ...IN_PROGRESS,
  },
  {
    name: 'in a rollout',
    world: async () => {
      const world = await changed(revised('web:2', 2));
      await world.reconcileOnce();
      return world;
    },
    ...IN_PROGRESS,
  },
  {
    name: 'scaling up',
    world: async () => {
      const world = await changed({ ...good, components: { api: scaled(3, 3) } });
      await world.reconcileOnce();
      return world;
    },
    ...IN_PROGRESS,
  },
  { name: 'failed, and being rolled back', world: () => failed({ rolledBack: false }), ...FAILED },
  { name: 'failed, while the former revision serves', world: () => failed({ rolledBack: true }), ...FAILED },
  {
    name: 'failed at the first revision',
    world: async () => {
      const world = new World(good);
      world.cluster.stuck.set('api', 'InvalidImageName');
      await steps(world, 4);
      await world.reconcileOnce();
      return world;
    },
    ...FAILED,
  },
  {
    name: 'ready after a failed revision',
    world: async () => {
      const world = await failed({ rolledBack: true });
      world.change(revised('web:3', 3));
      return await converged(world);
    },
    ...CURRENT,
  },
  {
    name: 'with a spec that cannot be parsed',
    world: async () => {
      const world = await settled(good);
      world.cluster.edit(RESOURCE_ID, (object) => {
        object['spec'] = { ...(object['spec'] as object), podTemplate: { unknown: 1 } };
      });
      await world.reconcileOnce();
      return world;
    },
    ...FAILED,
  },
  {
    name: 'being switched off',
    world: async () => {
      const world = await changed({ ...good, suspend: true });
      await world.reconcileOnce();
      return world;
    },
    ...IN_PROGRESS,
  },
  { name: 'switched off', world: () => converged(changed({ ...good, suspend: true })), ...CURRENT },
  {
    name: 'switched off from the start',
    world: () => settled({ ...MINIMAL, suspend: true }),
    ...CURRENT,
  },
  {
    name: 'never deployed',
    world: () => settled({ revision: {}, source: 'internal_image' }),
    ...CURRENT,
  },
  {
    name: 'paused, and as requested',
    world: () => paused(settled(good)),
    kstatus: 'Current',
    argocd: 'Suspended',
  },
  {
    name: 'paused, with a change that waits',
    world: () => paused(changed(revised('web:2', 2))),
    kstatus: 'InProgress',
    argocd: 'Suspended',
  },
  {
    name: 'in the grace period of a deletion',
    world: () => converged(changed({ ...good, suspend: true, deletion: TIMES })),
    ...IN_PROGRESS,
  },
  {
    name: 'being deleted',
    world: async () => {
      const world = await settled(good);
      world.cluster.edit(RESOURCE_ID, ({ metadata }) => {
        metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
      });
      await world.reconcileOnce();
      return world;
    },
    kstatus: 'Terminating',
    argocd: 'Progressing',
  },
];

/** The API server adds this status to a resource that has none. */
const UNOBSERVED: ManagedDeploymentStatus = { observedGeneration: -1 };

export async function statusCorpus(): Promise<CorpusRow[]> {
  const rows: CorpusRow[] = [];
  for (const { name, world: build, unobserved, kstatus, argocd } of STATES) {
    const world = await build();
    unobserved?.(world);
    const object = world.cluster.get(RESOURCE_ID);
    if (object === undefined) throw new Error(`there is no resource for "${name}"`);
    rows.push({ name, kstatus, argocd, object: { status: UNOBSERVED, ...object } });
  }
  return rows;
}
