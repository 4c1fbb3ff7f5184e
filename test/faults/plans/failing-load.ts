/**
 * Very many deployments that fail, again and again: memory is bounded, and the others do not feel it. What API server,
 * scheduler and simulated nodes do for pods that fail fills two processors, whoever has made them, and slows all alike.
 * So the measure is a load that Berth has nothing to do with, as large, and failing as often.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { appName } from '../../../src/contract/resource/names.ts';
import { waitFor } from '../../cluster/wait.ts';
import { isReady } from '../../integration/harness/berth-setup.ts';
import type { AddFigure, FaultPlan, Violation } from '../plan.ts';
import type { FaultWorld } from '../world.ts';
import {
  checkFailed,
  checkGoingOn,
  failures,
  goingOn,
  makeFailing,
  whileFailing,
} from './failing-deployments.ts';
import { checkGrowth, SLACK_BYTES } from './load-steps.ts';
import { Checks, changeImage, numberFromEnvironment, serving } from './steps.ts';
import { withUnmanagedDeployments } from './unmanaged-deployments.ts';
import { COLLECTING, liveUsage, MIB } from './usage.ts';

/** Each has some twenty objects; 1,000 take more than five minutes to make on two processors. */
const FAILING = numberFromEnvironment('FAULTS_FAILING', 60);
const HEALTHY = 5;
/** Of each healthy one, so that one of a hundred lies above the 99th percentile of all. */
const ROLLOUTS = 30;
/** The first of a deployment take longer than those after. */
const WARMING = 5;
/** From the begin of one change to that of the next, of each: so the machine is not full, whose full processors slow all alike. */
const EVERY_MS = 6_000;
/** Between two looks at a deployment that is changed: what takes longer is asked for more often, and must not take longer by that. */
const LOOK_EVERY_MS = 250;
const READY_WITHIN_MS = 60_000;
const MOST_SLOWER = 1.5;
/** What a load of others may do to it: a machine that these slow more tells nothing about Berth's. */
const MOST_SLOWER_BY_OTHERS = 2;
/** For each deployment that fails, on two processors: made twice, with all of its objects and pods, and removed once. */
const EACH_SECONDS = 15;
/** For each deployment that is there and was not before: its objects in caches of listener and operator. */
const EACH_BYTES = MIB / 4;

/** Milliseconds since the epoch, as the client saw it. */
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
  const look = async () => isReady((await world.call('GET', `/v2/deployments/${id}`)).body);
  await waitFor(`${name} to be READY`, look, { timeoutMs: READY_WITHIN_MS, intervalMs: LOOK_EVERY_MS });
  return { from, ready: Date.now() };
}

/** Changes of each healthy one, one after another, these by turns. */
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

/** By nearest rank. */
function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? 0;
}

/** Adds a figure, and returns the p99 in milliseconds. */
function rolloutFigure(where: string, rollouts: readonly Rollout[], tell: AddFigure): number {
  const times = rollouts.map(({ from, ready }) => ready - from);
  const [p50, p99] = [percentile(times, 0.5), percentile(times, 0.99)];
  tell(`${rollouts.length} rollouts of ${HEALTHY} healthy ones ${where}: p50 ${p50} ms, p99 ${p99} ms`);
  return p99;
}

export const failingLoad: FaultPlan = {
  name: 'load/failing',
  alone: true,
  settings: COLLECTING,
  deadlineSeconds: 900 + FAILING * EACH_SECONDS,
  says: `${FAILING} deployments crash repeatedly (FAULTS_FAILING), and some are changed to another failing image, next to ${HEALTHY} healthy ones: the p99 of ${HEALTHY * ROLLOUTS} healthy rollouts is at most ${MOST_SLOWER} times that next to as many failing Deployments that Berth does not manage, and memory is bounded.`,
  run: async (world, tell): Promise<Violation[]> => {
    const checks = new Checks();
    const names = Array.from({ length: HEALTHY }, (_, index) => `healthy-${index}`);
    const healthy = await Promise.all(names.map(async (name) => ({ name, id: await serving(world, name) })));
    await rollouts(world, healthy, 'warm', WARMING);
    const model = `${appName(names[0] ?? '', healthy[0]?.id ?? '')}-api`;
    const alone = rolloutFigure('alone', await rollouts(world, healthy, 'alone'), tell);
    const beside = await withUnmanagedDeployments(world, model, FAILING, async (load) => {
      const [rolled, gone] = await goingOn(world, load, () => rollouts(world, healthy, 'others'));
      checkGoingOn(gone, checks, tell);
      return rolloutFigure(`beside ${FAILING} of others that fail`, rolled, tell);
    });
    checks.that(
      beside <= MOST_SLOWER_BY_OTHERS * alone,
      `p99 is ${beside} ms beside ${FAILING} of others that fail, ${alone} ms alone: no measure for Berth's`,
    );
    await world.quiet();
    const before = await liveUsage(world);
    const failing = await makeFailing(world, FAILING);
    await waitFor('all to have failed', async () => (await failures(world)) === FAILING, {
      timeoutMs: 900_000,
      intervalMs: 500,
    });
    const [rolled, failed] = await whileFailing(world, failing, () => rollouts(world, healthy, 'berths'));
    const p99 = rolloutFigure(`beside ${FAILING} of Berth's that fail`, rolled, tell);
    checks.that(
      p99 <= MOST_SLOWER * beside,
      `p99 is ${p99} ms beside ${FAILING} of Berth's that fail, ${beside} ms beside as many of others`,
    );
    checkGoingOn(failed, checks, tell);
    checkFailed(failed, checks, tell);
    await world.quiet();
    checkGrowth(before, await liveUsage(world), SLACK_BYTES + FAILING * EACH_BYTES, checks, tell);
    return checks.violations;
  },
};
