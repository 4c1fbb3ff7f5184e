/** Runs one plan in a world, or a workload without a fault, and returns the violations. */
import { waitFor } from '../cluster/wait.ts';
import { reasonOf, within } from './deadline.ts';
import { lastEffect } from './oracles/convergence.ts';
import type { ObjectCounts } from './oracles/object-counts.ts';
import { type Compared, look, type Reference, unlike } from './oracles/oracles.ts';
import type { Regressions } from './oracles/regressions.ts';
import { stateOf } from './oracles/state.ts';
import type { AddFigure, FaultPlan, Violation, Workload } from './plan.ts';
import { EffectDidNotOccur } from './plans/kill.ts';
import { SETTLED_MS } from './record.ts';
import { openFiles } from './role-process.ts';
import type { FaultRole, OwnedWorld } from './world.ts';

const DEADLINE_SECONDS = 180;
/** A world is as new, or a run without a fault at its end, by then: what hangs must not keep the other plans back. */
const AGAIN_SECONDS = 300;
/** A lease that somebody who was killed has left runs out by then. */
const WATCHING_SECONDS = 60;
/** The oracles wait at most this long for what they ask. */
const ORACLES_SECONDS = 120;
/** What is told of a plan that is broken anyway is not waited for long. */
const STATES_SECONDS = 20;
/** Of each process, the last that it said. */
const LOG_LINES = 8;

/** A world, and what watches it. */
export interface Stage {
  readonly world: OwnedWorld;
  readonly regressions: Regressions;
  readonly objectCounts: ObjectCounts;
}

export const deadlineOf = ({ deadlineSeconds = DEADLINE_SECONDS }: FaultPlan) => deadlineSeconds;

/** @throws EffectDidNotOccur where the plan may be tried again */
export async function playOnce(
  plan: FaultPlan,
  { world, regressions, objectCounts }: Stage,
  { reference, tell }: { reference: Reference | undefined; tell: AddFigure },
): Promise<readonly Violation[]> {
  await regressions.seen();
  world.begin();
  objectCounts.clear();
  await untilWatching(world);
  const files = new Map(world.processes().map(({ name, pid }) => [name, openFiles(pid)]));
  const before = { at: new Date(), files, regressions, objectCounts };
  const own = await ownViolations(plan, world, tell);
  // What the plan itself tells explains the rest.
  const violations =
    own.length > 0
      ? own
      : await within(
          ORACLES_SECONDS,
          'looking at the oracles',
          look({ world, plan, before, reference, tell }),
        );
  const told = [...world.failedRules().map(brokenRule), ...violations];
  return own.length > 0 ? withStates(told, { world, before, reference }) : told;
}

/** Watches have a connection of their own, which a process that has just begun may not have yet. */
async function untilWatching({ kubernetes }: OwnedWorld): Promise<void> {
  const watching = (role: FaultRole) => kubernetes.openWatches(role).length > 0;
  const bound = { timeoutMs: WATCHING_SECONDS * 1000, intervalMs: 50 };
  await waitFor(
    'operator and listener to watch',
    async () => watching('operator') && watching('listener'),
    bound,
  );
}

async function ownViolations(
  plan: FaultPlan,
  world: OwnedWorld,
  tell: AddFigure,
): Promise<readonly Violation[]> {
  try {
    return await within(deadlineOf(plan), 'the plan', plan.run(world, tell));
  } catch (error) {
    if (error instanceof EffectDidNotOccur) throw error;
    return [brokenOff(error, world)];
  }
}

/** A plan that did not come to its end, with what the processes said last. */
export function brokenOff(error: unknown, world: OwnedWorld | undefined): Violation {
  const violation: Violation = { oracle: 'plan', message: reasonOf(error) };
  return world === undefined ? violation : { ...violation, logs: endOfLogs(world) };
}

/** The first tells beside what it found itself how the states differ: whatever was waited for, they say what is missing. */
async function withStates(
  [first, ...more]: readonly Violation[],
  compared: Compared,
): Promise<readonly Violation[]> {
  if (first === undefined) return [];
  const states = await statesNow(compared);
  return [{ ...first, diff: [...(first.diff ?? []), ...states] }, ...more];
}

/** Once, as it is now, however much is under way; empty: they are alike. */
async function statesNow(compared: Compared): Promise<readonly string[]> {
  const { reference } = compared;
  const sides = reference === undefined ? 'unlike what is wanted' : 'without a fault (-) and here (+)';
  try {
    const lines = await within(STATES_SECONDS, 'comparing the states', unlike(compared));
    return lines.length === 0 ? [] : [`states when it broke, ${sides}:`, ...lines];
  } catch (error) {
    return [`states when it broke: failed to compare: ${reasonOf(error)}`];
  }
}

/** It comes first: the plan may have gone on without its fault. */
const brokenRule = (message: string): Violation => ({ oracle: 'plan', message });

export const referenceFrom = (workload: Workload, stage: Stage) =>
  within(AGAIN_SECONDS, `${workload.name} without a fault`, runWithout(workload, stage));

async function runWithout(workload: Workload, { world, objectCounts }: Stage): Promise<Reference> {
  world.begin();
  objectCounts.clear();
  const at = new Date();
  const given = await workload.prepare(world);
  await world.quiet({ forMs: SETTLED_MS });
  const begun = Date.now();
  await workload.end(world, await workload.run(world, given));
  await world.quiet();
  const tookMs = Math.max(0, (lastEffect(world) ?? begun) - begun);
  const reference = { state: await stateOf(world, at), counts: objectCounts.counts(), tookMs };
  await asNew(world);
  return reference;
}

/** Nothing of what was done in it is left or under way. */
export async function asNew(world: OwnedWorld): Promise<void> {
  const made = world.reset().then(() => world.quiet({ forMs: SETTLED_MS }));
  await within(AGAIN_SECONDS, 'making it as new', made);
}

/** For whoever looks into a plan that did not end. */
function endOfLogs(world: OwnedWorld): string[] {
  return [...world.logs()].flatMap(([name, log]) =>
    log
      .trimEnd()
      .split('\n')
      .slice(-LOG_LINES)
      .map((line) => `${name}: ${line.slice(0, 400)}`),
  );
}
