/** What every bench of the cluster has: a Berth, watches, a load; and their end, however far the start came. */
import type { BenchContext, Sides } from '../bench.ts';
import { type Load, startLoad } from '../load/load.ts';
import { Apps } from './apps.ts';
import { CLUSTER_ROLES, type ClusterBerth, prepareClusterBerth } from './berth.ts';
import { type Recording, recordCreation } from './recording.ts';
import { body } from './samples.ts';

export interface World {
  readonly berth: ClusterBerth;
  readonly apps: Apps;
  readonly load: Load;
}

export interface WorldOptions {
  /** Requests of listener and operator to the API server are noted. */
  readonly behindProxy?: boolean;
}

type Made = Omit<Sides, 'stop'>;

async function startWorld(
  context: BenchContext,
  name: string,
  prepare: (berth: ClusterBerth, stack: AsyncDisposableStack) => Promise<Made>,
): Promise<Sides> {
  const stack = new AsyncDisposableStack();
  try {
    const berth = await prepareClusterBerth(context, name);
    stack.defer(() => berth.stop());
    await berth.start('api');
    const sides = await prepare(berth, stack);
    return { notes: () => [berth.note], ...sides, stop: () => stack.disposeAsync() };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

async function parts(berth: ClusterBerth, stack: AsyncDisposableStack, behindProxy: boolean): Promise<World> {
  await Promise.all(CLUSTER_ROLES.map((role) => berth.start(role, behindProxy)));
  const apps = await Apps.start(berth.admin, berth.namespace);
  stack.defer(() => apps.stop());
  const load = startLoad();
  stack.defer(() => load.stop());
  return { berth, apps, load };
}

/** Starts a Berth, and a bench's sides on it. */
export const withWorld = (
  context: BenchContext,
  name: string,
  make: (world: World) => Promise<Made>,
  { behindProxy = false }: WorldOptions = {},
): Promise<Sides> =>
  startWorld(context, name, async (berth, stack) => make(await parts(berth, stack, behindProxy)));

/** As `withWorld`, after it was seen what a creation writes. @param pods of each component */
export const withRecording = (
  context: BenchContext,
  name: string,
  pods: 0 | 1,
  make: (world: World, recording: Recording) => Promise<Made>,
): Promise<Sides> =>
  startWorld(context, name, async (berth, stack) => {
    context.log('recording what a creation writes');
    const recording = await recordCreation(berth, (app) => body(app, pods));
    return make(await parts(berth, stack, false), recording);
  });
