/** Very many deployments that fail, again and again: memory is bounded, and the others do not feel it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../cluster/wait.ts';
import type { FaultPlan, TellFigure, Violation } from '../plan.ts';
import type { FaultWorld } from '../world.ts';
import { Checks, changeImage, numberFromEnvironment, serving } from './checks.ts';
import { checkFailed, failures, makeFailing, whileFailing } from './failing.ts';
import { checkGrowth, SLACK_BYTES } from './growth.ts';
import { COLLECTING, liveUsage, MIB } from './usage.ts';

/** Each has some twenty objects; 1,000 take more than five minutes to make on two processors. */
const FAILING = numberFromEnvironment('FAULTS_FAILING', 60);
const HEALTHY = 5;
/** Of each healthy one, so that two of a hundred lie above the 99th percentile of all. */
const ROLLOUTS = 40;
/** The first of a deployment take longer than those after. */
const WARMING = 5;
/** From the begin of one change to that of the next, of each: so the machine is not full, whose full processors slow all alike. */
const EVERY_MS = 4_000;
const MOST_SLOWER = 1.5;
/** For each deployment that is there and was not before: its objects in caches of listener and operator. */
const EACH_BYTES = MIB / 4;

/** Milliseconds from the request to READY of each change: one after another of each healthy one, these by turns. */
async function rollouts(
  world: FaultWorld,
  ids: readonly string[],
  prefix: string,
  each = ROLLOUTS,
): Promise<number[]> {
  const all: number[] = [];
  await Promise.all(
    ids.map(async (id, index) => {
      await sleep((index * EVERY_MS) / ids.length);
      for (let number = 0; number < each; number += 1) {
        const from = performance.now();
        await changeImage(world, id, `${prefix}-${number}`);
        await world.ready(id);
        const took = performance.now() - from;
        all.push(took);
        await sleep(Math.max(0, EVERY_MS - took));
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

function checkSlower(
  without: readonly number[],
  beside: readonly number[],
  checks: Checks,
  tell: TellFigure,
): void {
  const [alone = 0, crowded = 0] = [without, beside].map((values) => Math.round(percentile(values, 0.99)));
  const [p50, crowded50] = [without, beside].map((values) => Math.round(percentile(values, 0.5)));
  tell(
    `${HEALTHY * ROLLOUTS} rollouts of ${HEALTHY} healthy ones: p50 ${p50} ms, p99 ${alone} ms; beside ${FAILING} that fail p50 ${crowded50} ms, p99 ${crowded} ms`,
  );
  checks.that(
    crowded <= MOST_SLOWER * alone,
    `p99 is ${crowded} ms beside ${FAILING} that fail, ${alone} ms without`,
  );
}

export const crowdOfFailing: FaultPlan = {
  name: 'crowd/failing',
  kind: 'crowd',
  alone: true,
  settings: COLLECTING,
  deadlineSeconds: 1800,
  says: `${FAILING} deployments in a crash loop that goes on (FAULTS_FAILING), now and then one of them changed to another image that fails, beside ${HEALTHY} healthy ones: p99 of ${HEALTHY * ROLLOUTS} rollouts of these at most ${MOST_SLOWER} times that without, memory bounded.`,
  run: async (world, tell): Promise<Violation[]> => {
    const checks = new Checks();
    const names = Array.from({ length: HEALTHY }, (_, index) => `healthy-${index}`);
    const healthy = await Promise.all(names.map((name) => serving(world, name)));
    await rollouts(world, healthy, 'warm', WARMING);
    const without = await rollouts(world, healthy, 'without');
    const before = await liveUsage(world);
    const failing = await makeFailing(world, FAILING);
    await waitFor('all to have failed', async () => (await failures(world)) === FAILING, {
      timeoutMs: 900_000,
      intervalMs: 500,
    });
    const [beside, failed] = await whileFailing(world, failing, () => rollouts(world, healthy, 'beside'));
    checkSlower(without, beside, checks, tell);
    checkFailed(failed, checks, tell);
    await world.quiet();
    checkGrowth(before, await liveUsage(world), SLACK_BYTES + FAILING * EACH_BYTES, checks, tell);
    return checks.violations;
  },
};
