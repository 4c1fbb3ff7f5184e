/** What benches of the cluster have: a Berth, watches, a load; and their end, however far the start came. */
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
 * What nothing of Berth looks at, and what takes Kubernetes the longer the more there is in a namespace: of thousands, most
 * of the time that they take to come about.
 */
const NOT_LOOKED_AT = [
  'endpoints-controller',
  'endpointslice-controller',
  'endpointslice-mirroring-controller',
  'persistentvolume-binder-controller',
];

export interface OwnOptions {
  /** For thousands of deployments: without the controllers of `NOT_LOOKED_AT`. */
  readonly isLarge?: boolean;
}

/** What benches beside a filled world have alike: their goals are for 5,000 deployments. */
export const BESIDE_MANY = {
  floor: null,
  n: 20,
  goalsFrom: 5000,
  runs: 1,
  warmedUp: true,
  besideMany: true,
} as const;

/** MiB of a role beside so many, whatever goes on. */
export const MEMORY_GOAL = { of: 'value', is: 'at most', limit: 320 } as const;

const FILLED = 'filled: ';
export const isFilledWorld = (name: string) => name.startsWith(FILLED);

/** How long a filled world is looked at, in seconds: the longest at the size of the goals, in proportion below it. */
export const secondsBeside = (count: number, [shortest, longest]: readonly [number, number]): number =>
  Math.min(longest, Math.max(shortest, (count * longest) / BESIDE_MANY.goalsFrom));

/** A world that was filled, with how that went. */
export interface FilledWorld extends World {
  readonly growth: Growth;
  stop(): Promise<void>;
}

/**
 * A world with many deployments, switched off, and all roles behind the proxy. It takes minutes to make, so the benches of
 * one run share it (`besideMany`); the frame stops it after the last of them.
 * @param beforeStep what takes turns with its steps; not called of a world that is filled already
 */
export async function filledWorld(
  context: BenchContext,
  count: number,
  beforeStep: (step: FillStep) => Promise<void> = async () => undefined,
): Promise<FilledWorld> {
  // What it stands on is started, and so stopped at the end, around it.
  await postgresOf(context);
  return context.shared(`${FILLED}${count} of ${sideOf(context)}`, async () => {
    const stack = new AsyncDisposableStack();
    try {
      const cluster = ownCluster(context);
      stack.defer(() => cluster.stop());
      await clusterOf(cluster.context, NOT_LOOKED_AT);
      const berth = await prepareClusterBerth(cluster.context, `filled-${count}`, COLLECTING);
      stack.defer(() => berth.stop());
      await berth.start('api');
      const world = await parts(berth, stack, true);
      context.log(`creating ${count} deployments`);
      const { log } = context;
      const growth = await fillInSteps(world, count, log, beforeStep);
      // Its second look makes what tells of its Secrets, and comes after the first looks of all.
      log('waiting until nothing is left to do');
      await untilQuiet(berth.proxy, undefined, patience(count)).catch((error: Error) => log(error.message));
      return { ...world, growth, stop: () => stack.disposeAsync() };
    } catch (error) {
      await stack.disposeAsync();
      throw error;
    }
  });
}

/**
 * Runs `task` in a Kubernetes and a Berth of their own, which are thrown away afterwards: a round of many deployments
 * neither finds what others have left behind nor takes its own away. Nothing is warm yet: see `WARM`.
 * @param prepare what runs there before
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
  if (isLarge) await clusterOf(cluster.context, NOT_LOOKED_AT);
  const berth = await prepareClusterBerth(cluster.context, name);
  stack.defer(() => berth.stop());
  return await task(await prepare(berth, stack));
}

/** Deployments that are created before a round in a world of its own counts. */
export const WARM = 20;

/** Runs `task` in a world of its own, with all roles. */
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

/** Runs `task` beside a Berth of which no role runs: for floors. */
export const besideNothing = <T>(
  context: BenchContext,
  name: string,
  task: (berth: ClusterBerth) => Promise<T>,
  options: OwnOptions = {},
): Promise<T> => inOwn(context, name, async (berth) => berth, task, options);

/** What a creation writes, seen in a world of its own. */
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
