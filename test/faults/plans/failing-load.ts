/**
 * Many deployments that fail repeatedly: memory is bounded, and healthy deployments are not slowed. The work of API
 * server, scheduler and simulated nodes for failing pods uses two processors fully and slows everything, regardless of
 * who created the pods. So the plan compares with an equal load of Deployments that Berth does not manage.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { appName } from '../../../src/contract/resource/names.ts';
import { waitFor } from '../../cluster/wait.ts';
import { isReady } from '../../integration/harness/berth-setup.ts';
import type { AddFigure, FaultPlan, Violation } from '../plan.ts';
import type { FaultWorld } from '../world.ts';
import {
  checkCrashes,
  checkFailed,
  failures,
  makeFailing,
  whileCrashing,
  whileFailing,
} from './failing-deployments.ts';
import { checkGrowth, SLACK_BYTES } from './load-steps.ts';
import { Checks, changeImage, numberFromEnvironment, serving } from './steps.ts';
import { withUnmanagedDeployments } from './unmanaged-deployments.ts';
import { COLLECTING, liveUsage, MIB } from './usage.ts';

/** Each deployment has about twenty objects. On two processors, 1,000 of them take more than five minutes to create. */
const FAILING = numberFromEnvironment('FAULTS_FAILING', 60);
const HEALTHY = 5;
/** Rollouts of each healthy deployment: with five deployments, one or two lie above the 99th percentile. */
const ROLLOUTS = 30;
/** The first rollouts of a deployment take longer, so they are not measured. */
const WARM_UP_ROLLOUTS = 5;
/** Pause between the starts of two changes of one deployment, so that the processors are not fully used. */
const EVERY_MS = 6_000;
/** Poll interval of a deployment during a rollout. It is long, so that polls do not slow down the rollout. */
const POLL_EVERY_MS = 250;
const READY_WITHIN_MS = 60_000;
const MAX_SLOWDOWN = 1.5;
/** Maximum slowdown by the unmanaged Deployments. On a machine that is slowed more, the plan cannot measure Berth. */
const MAX_SLOWDOWN_BY_UNMANAGED = 2;
/** Time for each failing deployment on two processors: it is created twice with all its objects, and removed once. */
const EACH_SECONDS = 15;
/** Memory for each added deployment: its objects in the caches of listener and operator. */
const EACH_BYTES = MIB / 4;

/** Times in milliseconds since the epoch, as the client measures them. */
interface Rollout {
  readonly from: number;
  readonly ready: number;
}

interface Healthy {
  readonly id: string;
  readonly name: string;
}

async function rollout(world: FaultWorld, { id, name }: Healthy, tag: string): Promise<Rollout> {
  const from = Date.now();
  await changeImage(world, id, tag);
  const isServing = async () => isReady((await world.call('GET', `/v2/deployments/${id}`)).body);
  await waitFor(`${name} to be READY`, isServing, { timeoutMs: READY_WITHIN_MS, intervalMs: POLL_EVERY_MS });
  return { from, ready: Date.now() };
}

/** Changes each healthy deployment `each` times. The deployments start one after the other within `EVERY_MS`. */
async function rollouts(
  world: FaultWorld,
  healthy: readonly Healthy[],
  prefix: string,
  each = ROLLOUTS,
): Promise<Rollout[]> {
  const all: Rollout[] = [];
  await Promise.all(
    healthy.map(async (one, index) => {
      await sleep((index * EVERY_MS) / healthy.length);
      for (let number = 0; number < each; number += 1) {
        const pause = sleep(EVERY_MS);
        all.push(await rollout(world, one, `${prefix}-${number}`));
        await pause;
      }
    }),
  );
  return all;
}

/** Nearest-rank percentile. @param part from 0 to 1 */
function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? 0;
}

/** Adds a figure, and returns the p99 in milliseconds. */
function rolloutFigure(where: string, rollouts: readonly Rollout[], addFigure: AddFigure): number {
  const times = rollouts.map(({ from, ready }) => ready - from);
  const [p50, p99] = [percentile(times, 0.5), percentile(times, 0.99)];
  addFigure(
    `${rollouts.length} rollouts of ${HEALTHY} healthy deployments ${where}: p50 ${p50} ms, p99 ${p99} ms`,
  );
  return p99;
}

export const failingLoad: FaultPlan = {
  name: 'load/failing',
  alone: true,
  settings: COLLECTING,
  deadlineSeconds: 900 + FAILING * EACH_SECONDS,
  says: `${FAILING} deployments crash repeatedly (FAULTS_FAILING), and some are changed to another failing image, next to ${HEALTHY} healthy ones: the p99 of ${HEALTHY * ROLLOUTS} healthy rollouts is at most ${MAX_SLOWDOWN} times that next to as many failing Deployments that Berth does not manage, and memory is bounded.`,
  run: async (world, addFigure): Promise<Violation[]> => {
    const checks = new Checks();
    const names = Array.from({ length: HEALTHY }, (_, index) => `healthy-${index}`);
    const healthy = await Promise.all(names.map(async (name) => ({ name, id: await serving(world, name) })));
    await rollouts(world, healthy, 'warm', WARM_UP_ROLLOUTS);
    const model = `${appName(names[0] ?? '', healthy[0]?.id ?? '')}-api`;
    const alone = rolloutFigure('alone', await rollouts(world, healthy, 'alone'), addFigure);
    const withUnmanaged = await withUnmanagedDeployments(world, model, FAILING, async (load) => {
      const [rolled, crashed] = await whileCrashing(world, load, () => rollouts(world, healthy, 'others'));
      checkCrashes(crashed, checks, addFigure);
      return rolloutFigure(`next to ${FAILING} failing unmanaged Deployments`, rolled, addFigure);
    });
    checks.that(
      withUnmanaged <= MAX_SLOWDOWN_BY_UNMANAGED * alone,
      `p99 is ${withUnmanaged} ms next to ${FAILING} failing unmanaged Deployments, ${alone} ms alone: the machine is too slow for this plan`,
    );
    await world.quiet();
    const before = await liveUsage(world);
    const failing = await makeFailing(world, FAILING);
    await waitFor('all to have failed', async () => (await failures(world)) === FAILING, {
      timeoutMs: 900_000,
      intervalMs: 500,
    });
    const [rolled, failed] = await whileFailing(world, failing, () => rollouts(world, healthy, 'berths'));
    const p99 = rolloutFigure(`next to ${FAILING} failing deployments of Berth`, rolled, addFigure);
    checks.that(
      p99 <= MAX_SLOWDOWN * withUnmanaged,
      `p99 is ${p99} ms next to ${FAILING} failing deployments of Berth, ${withUnmanaged} ms next to as many unmanaged ones`,
    );
    checkCrashes(failed, checks, addFigure);
    checkFailed(failed, checks, addFigure);
    await world.quiet();
    checkGrowth(before, await liveUsage(world), SLACK_BYTES + FAILING * EACH_BYTES, checks, addFigure);
    return checks.violations;
  },
};
