/**
 * Changes under which faults are injected: create, update, rollback, delete, autoscaler on and off, storage growth, the
 * removal of a database with its volume, a revision with a release command, and a task.
 */
import { RESOURCES } from '../../src/cluster/kube/client/resources.ts';
import { appName } from '../../src/contract/resource/names.ts';
import { waitFor } from '../cluster/wait.ts';
import { smallDeployment } from '../integration/harness/samples.ts';
import { markForeign } from './oracles/foreign-fields.ts';
import type { Given, Workload } from './plan.ts';
import { callUntilSuccess } from './retrying-client.ts';
import type { FaultWorld } from './world.ts';

const NAME = 'shop';
const GONE_MS = 90_000;

const body = (resource_spec: object = {}) =>
  smallDeployment(NAME, {
    source_config: { resource_spec },
    secrets: [{ name: 'TOKEN', value: 'first' }],
  });

/** Creates a deployment without a fault. All its objects have the marks of another manager. */
async function running(world: FaultWorld, resource_spec: object = {}): Promise<Required<Given>> {
  const { id } = await world.create(body(resource_spec));
  await world.ready(id);
  await markForeign(world, id);
  return { id };
}

function idOf({ id }: Given): string {
  if (id === undefined) throw new Error('the workload has not created a deployment');
  return id;
}

/** Resolves when the desired state is reached. */
async function converged(world: FaultWorld, given: Given): Promise<void> {
  await world.ready(idOf(given));
}

const patch =
  (what: object): Workload['run'] =>
  async (world, given) => {
    await callUntilSuccess(world, 'PATCH', `/v2/deployments/${idOf(given)}`, what);
    return given;
  };

const spec = (resource_spec: object) => patch({ source_config: { resource_spec } });

interface Revisions {
  resources: { id: string; number: number }[];
}

const create: Workload = {
  name: 'create',
  prepare: async () => ({}),
  run: async (world) => ({ id: (await callUntilSuccess(world, 'POST', '/v2/deployments', body())).id }),
  end: converged,
};

const update: Workload = {
  name: 'update',
  prepare: (world) => running(world),
  run: patch({
    source_revision_config: { image_uri: 'registry.example/shop/web:2.0.0' },
    secrets: [{ name: 'TOKEN', value: 'second' }],
  }),
  end: converged,
};

const rollback: Workload = {
  name: 'rollback',
  prepare: async (world) => {
    const given = await running(world);
    await update.run(world, given);
    await world.ready(given.id);
    return given;
  },
  run: async (world, given) => {
    const path = `/v2/deployments/${idOf(given)}/revisions`;
    const { resources } = await callUntilSuccess<Revisions>(world, 'GET', path);
    const first = resources.find(({ number }) => number === 1);
    await callUntilSuccess(world, 'POST', `${path}/${first?.id}/rollback`);
    return given;
  },
  end: converged,
};

/** Ends when the deployment is gone in database and cluster. */
const remove: Workload = {
  name: 'delete',
  prepare: (world) => running(world),
  run: async (world, given) => {
    await callUntilSuccess(world, 'DELETE', `/v2/deployments/${idOf(given)}`);
    return given;
  },
  end: async (world, given) => {
    await waitFor(
      'the deployment to be gone',
      async () => (await world.call('GET', `/v2/deployments/${idOf(given)}`)).status === 404,
      { timeoutMs: GONE_MS, intervalMs: 200 },
    );
  },
};

const autoscalerOn: Workload = {
  name: 'autoscaler-on',
  prepare: (world) => running(world),
  run: spec({ min_scale: 1, max_scale: 3 }),
  end: converged,
};

const autoscalerOff: Workload = {
  name: 'autoscaler-off',
  prepare: (world) => running(world, { min_scale: 1, max_scale: 3 }),
  run: spec({ min_scale: 2, max_scale: 2 }),
  end: converged,
};

const storage: Workload = {
  name: 'storage',
  prepare: (world) => running(world, { db_storage_gi: 10 }),
  run: spec({ db_storage_gi: 20 }),
  end: converged,
};

/** Whether the record confirms that the volume of the database is removed. */
export async function confirmsRemoval(world: FaultWorld, id: string): Promise<boolean> {
  const { body: found } = await world.call('GET', `/v2/deployments/${id}`);
  const { database } = found.source_config as { database?: { remove_volume?: boolean } };
  return database?.remove_volume === true;
}

/** Switches the database off, and removes its volume. Ends when the claim is gone and the record confirms nothing. */
const databaseRemoval: Workload = {
  name: 'database-removal',
  prepare: (world) => running(world),
  run: patch({ source_config: { database: { enabled: false, remove_volume: true } } }),
  end: async (world, given) => {
    const claim = { namespace: world.namespace, name: `${appName(NAME, idOf(given))}-db` };
    await waitFor(
      'the volume claim to be gone',
      async () => (await world.admin.find(RESOURCES.PersistentVolumeClaim, claim, {})) === undefined,
      { timeoutMs: GONE_MS, intervalMs: 200 },
    );
    await waitFor('the record to confirm nothing', async () => !(await confirmsRemoval(world, idOf(given))), {
      timeoutMs: GONE_MS,
      intervalMs: 200,
    });
    await converged(world, given);
  },
};

interface Tasks {
  resources: { origin: string; revision_number: number | null; state: string }[];
}

/** Waits until the newest task of this origin has succeeded. */
async function hasSucceeded(world: FaultWorld, id: string, origin: 'api' | 'release'): Promise<void> {
  const succeeded = async () => {
    const { body: found } = await world.call<Tasks>('GET', `/v2/deployments/${id}/tasks`);
    return found.resources.find((task) => task.origin === origin)?.state === 'SUCCEEDED';
  };
  await waitFor(`the task of origin ${origin} to succeed`, succeeded, {
    timeoutMs: GONE_MS,
    intervalMs: 200,
  });
}

/** Ends when the command has succeeded and the new revision is active. */
const release: Workload = {
  name: 'release',
  prepare: (world) => running(world),
  run: patch({
    source_revision_config: {
      image_uri: 'registry.example/shop/web:2.0.0',
      release_command: ['migrate', 'up'],
    },
  }),
  end: async (world, given) => {
    await converged(world, given);
    await hasSucceeded(world, idOf(given), 'release');
  },
};

const task: Workload = {
  name: 'task',
  prepare: (world) => running(world),
  run: async (world, given) => {
    await callUntilSuccess(world, 'POST', `/v2/deployments/${idOf(given)}/tasks`, { command: ['clean'] });
    return given;
  },
  end: (world, given) => hasSucceeded(world, idOf(given), 'api'),
};

export const WORKLOADS: readonly Workload[] = [
  create,
  update,
  rollback,
  remove,
  autoscalerOn,
  autoscalerOff,
  storage,
  databaseRemoval,
  release,
  task,
];

/** The workload with this name. @throws Error if no workload has this name */
export function workloadNamed(name: string): Workload {
  const found = WORKLOADS.find((workload) => workload.name === name);
  if (found === undefined) throw new Error(`there is no workload "${name}"`);
  return found;
}
