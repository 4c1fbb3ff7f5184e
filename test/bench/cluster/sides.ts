/** Common parts of benches with a cluster: a Berth, watches and a load, which are stopped even if the start fails. */
import { COLLECTING } from '../../faults/plans/usage.ts';
import { postgresOf } from '../api/hub.ts';
import type { BenchContext } from '../bench.ts';
import { type Load, startLoad } from '../load/load.ts';
import { Apps } from './apps.ts';
import { CLUSTER_ROLES, type ClusterBerth, prepareClusterBerth } from './berth.ts';
import { clusterOf, ownCluster, sideOf } from './cluster.ts';
import { patience } from './fill.ts';
import { type FillStep, fillInSteps, type Growth } from './fill-steps.ts';
import { type Recording, recordCreation, untilQuiet } from './recording.ts';

/** A running Berth, watches and a load. */
export interface World {
  readonly berth: ClusterBerth;
  readonly apps: Apps;
  readonly load: Load;
}

async function parts(berth: ClusterBerth, stack: AsyncDisposableStack, behindProxy: boolean): Promise<World> {
  await Promise.all(CLUSTER_ROLES.map((role) => berth.start(role, behindProxy)));
  const apps = await Apps.start(berth.admin, berth.namespace);
  stack.defer(() => apps.stop());
  const load = startLoad();
  stack.defer(() => load.stop());
  return { berth, apps, load };
}

/**
 * Controllers that Berth does not need. Their work grows with the number of objects in a namespace: with thousands of
 * deployments, it is most of the time of their creation.
 */
const NEEDLESS_CONTROLLERS = [
  'endpoints-controller',
  'endpointslice-controller',
  'endpointslice-mirroring-controller',
  'persistentvolume-binder-controller',
];

export interface OwnOptions {
  /** Whether it is for thousands of deployments. Then `NEEDLESS_CONTROLLERS` do not run. */
  readonly isLarge?: boolean;
}

/** Common properties of benches with a filled world. Their goals are for 5,000 deployments. */
export const BESIDE_MANY = {
  floor: null,
  n: 20,
  goalsFrom: 5000,
  runs: 1,
  warmedUp: true,
  besideMany: true,
} as const;

/** Maximum memory of a role in MiB. */
export const MEMORY_GOAL = { of: 'value', is: 'at most', limit: 320 } as const;

const FILLED = 'filled: ';
export const isFilledWorld = (name: string) => name.startsWith(FILLED);

/** Duration in seconds in proportion to the number of deployments, between the shortest and the longest. */
export const secondsBeside = (count: number, [shortest, longest]: readonly [number, number]): number =>
  Math.min(longest, Math.max(shortest, (count * longest) / BESIDE_MANY.goalsFrom));

/** A filled world, and the costs of filling it. */
export interface FilledWorld extends World {
  readonly growth: Growth;
  stop(): Promise<void>;
}

/**
 * A world with `count` deployments that are switched off, and all roles behind the proxy. It takes minutes to create, so the
 * benches of one run share it (`besideMany`). It is stopped after the last of them.
 * @param beforeStep awaited before each step; not called if the world exists already
 */
export async function filledWorld(
  context: BenchContext,
  count: number,
  beforeStep: (step: FillStep) => Promise<void> = async () => undefined,
): Promise<FilledWorld> {
  // Started before the world, so that it is stopped after the world.
  await postgresOf(context);
  return context.shared(`${FILLED}${count} of ${sideOf(context)}`, async () => {
    const stack = new AsyncDisposableStack();
    try {
      const cluster = ownCluster(context);
      stack.defer(() => cluster.stop());
      await clusterOf(cluster.context, NEEDLESS_CONTROLLERS);
      const berth = await prepareClusterBerth(cluster.context, `filled-${count}`, COLLECTING);
      stack.defer(() => berth.stop());
      await berth.start('api');
      const world = await parts(berth, stack, true);
      context.log(`creating ${count} deployments`);
      const { log } = context;
      const growth = await fillInSteps(world, count, log, beforeStep);
      // The secret sentinels are created after the first reconciles of all deployments.
      log('waiting until no work is left');
      await untilQuiet(berth.proxy, undefined, patience(count)).catch((error: Error) => log(error.message));
      return { ...world, growth, stop: () => stack.disposeAsync() };
    } catch (error) {
      await stack.disposeAsync();
      throw error;
    }
  });
}

/**
 * Runs `task` with a new Kubernetes and a new Berth, which are deleted afterwards. So a round of many deployments finds no
 * leftovers, and does not have to delete its own objects. Nothing is warmed up: see `WARM`.
 * @param prepare runs before the task
 */
async function inOwn<Prepared, T>(
  context: BenchContext,
  name: string,
  prepare: (berth: ClusterBerth, stack: AsyncDisposableStack) => Promise<Prepared>,
  task: (prepared: Prepared) => Promise<T>,
  { isLarge = false }: OwnOptions = {},
): Promise<T> {
  await using stack = new AsyncDisposableStack();
  const cluster = ownCluster(context);
  stack.defer(() => cluster.stop());
  if (isLarge) await clusterOf(cluster.context, NEEDLESS_CONTROLLERS);
  const berth = await prepareClusterBerth(cluster.context, name);
  stack.defer(() => berth.stop());
  return await task(await prepare(berth, stack));
}

/** Number of deployments for the warm-up of a round with a new world. */
export const WARM = 20;

/** Runs `task` in a new world, with all roles. */
export const inOwnWorld = <T>(
  context: BenchContext,
  name: string,
  task: (world: World) => Promise<T>,
): Promise<T> =>
  inOwn(
    context,
    name,
    async (berth, stack) => {
      await berth.start('api');
      return parts(berth, stack, false);
    },
    task,
  );

/** Runs `task` with a prepared Berth of which no role runs. For floors. */
export const besideNothing = <T>(
  context: BenchContext,
  name: string,
  task: (berth: ClusterBerth) => Promise<T>,
  options: OwnOptions = {},
): Promise<T> => inOwn(context, name, async (berth) => berth, task, options);

/** Records the writes of a creation in a new world. */
export const recordingOf = (
  context: BenchContext,
  name: string,
  bodyOf: (name: string) => object,
): Promise<Recording> =>
  inOwn(
    context,
    name,
    async (berth) => {
      context.log('recording what a creation writes');
      await berth.start('api');
      return berth;
    },
    (berth) => recordCreation(berth, bodyOf),
  );
