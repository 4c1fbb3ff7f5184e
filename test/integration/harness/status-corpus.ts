/** Custom resources in every kind of state, with the statuses that the operator derives in a simulated cluster. */
import { formerSpec } from '../../../src/contract/resource/former-names.ts';
import type { ManagedDeploymentStatus } from '../../../src/contract/resource/managed-deployment.ts';
import { buildName } from '../../../src/contract/resource/names.ts';
import {
  NAMESPACE,
  RESOURCE_ID,
  resource,
  revised,
  type Spec,
  scaled,
  settled,
  steps,
  World,
} from '../../unit/cluster/operator/fixtures.ts';
import { STATES_FOR_PERSON } from '../../unit/cluster/operator/status/states-for-person.ts';

/** What a tool must conclude. */
export interface Expected {
  /** The row of the table in docs/custom-resource.md, by the start of its first cell. */
  readonly row: string;
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

const UNOBSERVED: Expected = { row: 'not observed yet', kstatus: 'InProgress', argocd: 'Progressing' };
const CURRENT: Expected = { row: 'as requested', kstatus: 'Current', argocd: 'Healthy' };
const IN_PROGRESS: Expected = { row: 'a rollout, a repair', kstatus: 'InProgress', argocd: 'Progressing' };
const FAILED: Expected = { row: 'a rollout has failed', kstatus: 'Failed', argocd: 'Degraded' };
const OFF: Expected = { row: 'switched off', kstatus: 'Current', argocd: 'Healthy' };
const PAUSED_PENDING: Expected = {
  row: 'paused, with pending changes',
  kstatus: 'InProgress',
  argocd: 'Suspended',
};

const good = revised('web:1', 1);
const MINIMAL = { revision: { image: 'web:1' } };
const PRIVILEGED = revised('web:2', 2, {
  podTemplate: {
    sidecars: [{ name: 'helper', image: 'helper:1', securityContext: { privileged: true } }],
  },
});
/** The spec of a git source. The simulated operator runs no builds, so each build fails. */
const git = (more: object): Spec => ({
  deploymentId: good['deploymentId'],
  source: 'git_host',
  revision: {},
  ...more,
});
const build = (number: number) => ({
  revisionId: `r${number}`,
  number,
  repoUrl: 'https://git.example/shop/web',
  configPath: 'app.json',
  repository: 'registry.example/web',
  secretName: buildName({ namespace: NAMESPACE, name: 'web' }, `r${number}`),
});
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

function unparsable(world: World): World {
  world.cluster.edit(RESOURCE_ID, (object) => {
    object['spec'] = { ...(object['spec'] as object), podTemplate: { unknown: 1 } };
  });
  return world;
}

const isService = ({ verb, id }: { verb: string; id: string }) => verb === 'create' && id === 'Service/web';

const STATES: readonly State[] = [
  { name: 'without a status', world: () => new World(good), ...UNOBSERVED },
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
    ...UNOBSERVED,
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
      const world = unparsable(await settled(good));
      await world.reconcileOnce();
      return world;
    },
    ...FAILED,
  },
  { name: 'with a revision that the policy rejects', world: () => converged(changed(PRIVILEGED)), ...FAILED },
  {
    name: 'with a database that the policy rejects',
    world: () => settled({ ...MINIMAL, database: { image: 'sha256:3f' } }),
    ...FAILED,
  },
  {
    name: 'with an object that the API server rejects',
    world: async () => {
      const world = new World(good);
      const fault = { when: isService, error: 'invalid', message: 'spec.ports: is not valid' } as const;
      world.cluster.faults = [fault, fault, fault];
      await steps(world, 2);
      return world;
    },
    ...FAILED,
  },
  ...STATES_FOR_PERSON.map(({ name, world }) => ({ name, world, ...FAILED })),
  {
    name: 'with an image that does not exist',
    world: async () => {
      const world = new World(good);
      world.imageResolver = {
        resolve: () => ({ kind: 'absent', why: 'the registry has no such image' }),
        forget: () => undefined,
      };
      world.restart();
      return await converged(world);
    },
    ...FAILED,
  },
  {
    name: 'with the identity of another resource',
    world: async () => {
      const world = new World({ ...MINIMAL, deploymentId: 'uid-of-another' });
      const { metadata, ...other } = resource(MINIMAL);
      world.cluster.put({ ...other, metadata: { ...metadata, name: 'another', uid: 'uid-of-another' } });
      await world.reconcileOnce();
      return world;
    },
    ...FAILED,
  },
  { name: 'with a first build that has failed', world: () => settled(git({ build: build(1) })), ...FAILED },
  {
    name: 'with a first build that has failed, when the hub requests nothing',
    world: async () => {
      const world = await settled(git({ build: build(1) }));
      world.change(git({ suspend: true }));
      return await converged(world);
    },
    ...FAILED,
  },
  {
    name: 'with a failed build, while the former revision serves',
    world: async () => {
      const world = await settled(git(good));
      world.change(git({ ...good, build: build(2) }));
      await world.converge();
      world.change(git(good));
      return await converged(world);
    },
    ...FAILED,
  },
  { name: 'of a git source, without an image and without a build', world: () => settled(git({})), ...FAILED },
  {
    name: 'ready, with the names of the previous version',
    world: async () => {
      const world = await settled(good);
      world.cluster.edit(RESOURCE_ID, (object) => {
        object['spec'] = formerSpec(object['spec']);
      });
      await world.reconcileOnce();
      return world;
    },
    ...CURRENT,
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
  { name: 'switched off', world: () => converged(changed({ ...good, suspend: true })), ...OFF },
  {
    name: 'switched off from the start',
    world: () => settled({ ...MINIMAL, suspend: true }),
    ...OFF,
  },
  {
    name: 'never deployed',
    world: () => settled({ revision: {}, source: 'internal_image' }),
    ...OFF,
  },
  {
    name: 'paused, and as requested',
    world: () => paused(settled(good)),
    row: 'paused, and as requested',
    kstatus: 'Current',
    argocd: 'Suspended',
  },
  {
    name: 'paused, with a change that waits',
    world: () => paused(changed(revised('web:2', 2))),
    ...PAUSED_PENDING,
  },
  {
    name: 'paused, with a spec that cannot be parsed',
    world: async () => paused(unparsable(await paused(settled(good)))),
    ...PAUSED_PENDING,
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
    row: 'being deleted',
    kstatus: 'Terminating',
    argocd: 'Progressing',
  },
];

/** The API server adds this status to a resource that has none. */
const NO_STATUS: ManagedDeploymentStatus = { observedGeneration: -1 };

export async function statusCorpus(): Promise<CorpusRow[]> {
  const rows: CorpusRow[] = [];
  for (const { name, world: create, unobserved, row, kstatus, argocd } of STATES) {
    const world = await create();
    unobserved?.(world);
    const object = world.cluster.get(RESOURCE_ID);
    if (object === undefined) throw new Error(`there is no resource for "${name}"`);
    rows.push({ name, row, kstatus, argocd, object: { status: NO_STATUS, ...object } });
  }
  return rows;
}
