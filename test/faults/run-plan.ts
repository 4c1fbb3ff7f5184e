/** Runs one plan in a world, or a workload without a fault, and returns the violations. */
import { waitFor } from '../cluster/wait.ts';
import { reasonOf, within } from './deadline.ts';
import { lastEffect } from './oracles/convergence.ts';
import type { ObjectCounts } from './oracles/object-counts.ts';
import { type Compared, checkOracles, type Reference, stateDifferences } from './oracles/oracles.ts';
import type { Regressions } from './oracles/regressions.ts';
import { stateOf } from './oracles/state.ts';
import type { TaskWatch } from './oracles/task-watch.ts';
import type { AddFigure, FaultPlan, Violation, Workload } from './plan.ts';
import { EffectDidNotOccur } from './plans/kill.ts';
import { SETTLED_MS } from './record.ts';
import { openFiles } from './role-process.ts';
import type { FaultRole, OwnedWorld } from './world.ts';

/** Default deadline of a plan. */
const DEADLINE_SECONDS = 180;
/** Limit for a run without a fault, and for the cleanup of a world. A hanging world must not delay the other plans. */
const WORLD_SECONDS = 300;
/** Longer than a lease: a killed process may have left one. */
const WATCHING_SECONDS = 60;
/** Limit for the check of all oracles. */
const ORACLES_SECONDS = 120;
/** Limit for the comparison of states in a plan that is broken anyway. */
const STATES_SECONDS = 20;
/** Number of log lines of each process that are reported. */
const LOG_LINES = 8;

/** A world, and the watches that oracles need. */
export interface Stage {
  readonly world: OwnedWorld;
  readonly regressions: Regressions;
  readonly objectCounts: ObjectCounts;
  readonly taskWatch: TaskWatch;
}

/** The deadline of a plan in seconds. */
export const deadlineOf = ({ deadlineSeconds = DEADLINE_SECONDS }: FaultPlan) => deadlineSeconds;

/** Runs a plan once, and checks the oracles. @throws EffectDidNotOccur if the plan may be repeated */
export async function runOnce(
  plan: FaultPlan,
  { world, regressions, objectCounts, taskWatch }: Stage,
  { reference, addFigure }: { reference: Reference | undefined; addFigure: AddFigure },
): Promise<readonly Violation[]> {
  await regressions.seen();
  world.begin();
  objectCounts.clear();
  taskWatch.clear();
  await untilWatching(world);
  const files = new Map(world.processes().map(({ name, pid }) => [name, openFiles(pid)]));
  const before = { at: new Date(), files, regressions, objectCounts, taskWatch };
  const own = await ownViolations(plan, world, addFigure);
  // Violations of the plan itself explain the others, so the oracles are not checked.
  const violations =
    own.length > 0
      ? own
      : await within(
          ORACLES_SECONDS,
          'checking the oracles',
          checkOracles({ world, plan, before, reference, addFigure }),
        );
  const all = [...world.failedRules().map(brokenRule), ...violations];
  return own.length > 0 ? withStates(all, { world, before, reference }) : all;
}

/** Waits until operator and listener have open watches, which a process that has just started may not have yet. */
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
  addFigure: AddFigure,
): Promise<readonly Violation[]> {
  try {
    return await within(deadlineOf(plan), 'the plan', plan.run(world, addFigure));
  } catch (error) {
    if (error instanceof EffectDidNotOccur) throw error;
    return [failedPlan(error, world)];
  }
}

/** The violation of a plan that threw an error, with the last output of the processes. */
export function failedPlan(error: unknown, world: OwnedWorld | undefined): Violation {
  const violation: Violation = { oracle: 'plan', message: reasonOf(error) };
  return world === undefined ? violation : { ...violation, logs: endOfLogs(world) };
}

/** Adds the differences of the states to the first violation. They show what the plan was waiting for. */
async function withStates(
  [first, ...more]: readonly Violation[],
  compared: Compared,
): Promise<readonly Violation[]> {
  if (first === undefined) return [];
  const states = await statesNow(compared);
  return [{ ...first, diff: [...(first.diff ?? []), ...states] }, ...more];
}

/** The differences at this moment, even if work is in progress. Empty if there are no differences. */
async function statesNow(compared: Compared): Promise<readonly string[]> {
  const { reference } = compared;
  const sides =
    reference === undefined ? 'compared with the desired state' : 'without a fault (-) and in this plan (+)';
  try {
    const lines = await within(STATES_SECONDS, 'comparing the states', stateDifferences(compared));
    return lines.length === 0 ? [] : [`states when it broke, ${sides}:`, ...lines];
  } catch (error) {
    return [`states when it broke: failed to compare: ${reasonOf(error)}`];
  }
}

/** Reported first, because the plan may have run without its fault. */
const brokenRule = (message: string): Violation => ({ oracle: 'plan', message });

/** Runs a workload without a fault, and returns its final state. @throws Error after 5 min */
export const referenceFrom = (workload: Workload, stage: Stage) =>
  within(WORLD_SECONDS, `${workload.name} without a fault`, runWithout(workload, stage));

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
  await cleanUp(world);
  return reference;
}

/** Removes everything that a plan has left in the world, and waits until Berth is at rest. */
export async function cleanUp(world: OwnedWorld): Promise<void> {
  const done = world.reset().then(() => world.quiet({ forMs: SETTLED_MS }));
  await within(WORLD_SECONDS, 'the cleanup', done);
}

/** The last log lines of each process, to diagnose a plan that failed. */
function endOfLogs(world: OwnedWorld): string[] {
  return [...world.logs()].flatMap(([name, log]) =>
    log
      .trimEnd()
      .split('\n')
      .slice(-LOG_LINES)
      .map((line) => `${name}: ${line.slice(0, 400)}`),
  );
}
