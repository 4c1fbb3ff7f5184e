/** The oracles O1 to O9, which are checked after every plan. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AddFigure, FaultPlan, OracleName, Violation } from '../plan.ts';
import { type OpenFiles, openFiles } from '../role-process.ts';
import type { FaultRole, OwnedWorld } from '../world.ts';
import { lostWrites } from './acknowledged-writes.ts';
import { allowedMs, convergedFigure, lastEffect, lastEffects } from './convergence.ts';
import { differencesFromDesired } from './desired-state.ts';
import { checkForeignFields } from './foreign-fields.ts';
import { type Counts, countDifferences, type ObjectCounts } from './object-counts.ts';
import { orphans } from './orphans.ts';
import { activity, linesSince, QUIET_MS, tooOften, withoutPeriodicChecks } from './quiescence.ts';
import type { Regressions } from './regressions.ts';
import { differences, type State, stateOf } from './state.ts';
import type { TaskWatch } from './task-watch.ts';
import { unhandledLines } from './unhandled-errors.ts';

/** Maximum time until all processes have no more work after the end of a plan. */
const QUIET_WITHIN_MS = 30_000;
/** Minimum time for which O1 waits for the final state, even if the fault was long ago. */
const MIN_WAIT_MS = 5_000;
const POLL_MS = 250;
/** Idle connections that are kept for the next call are closed within this time. */
const SOCKETS_WITHIN_MS = 15_000;

/** The end of a workload's run without a fault. */
export interface Reference {
  readonly state: State;
  readonly counts: Counts;
  /** From the change to the last write for it, in milliseconds. */
  readonly tookMs: number;
}

/** What existed when the plan began. */
export interface Before {
  readonly at: Date;
  readonly files: ReadonlyMap<string, OpenFiles>;
  readonly regressions: Regressions;
  readonly objectCounts: ObjectCounts;
  readonly taskWatch: TaskWatch;
}

export interface OracleInput {
  readonly world: OwnedWorld;
  readonly plan: FaultPlan;
  readonly before: Before;
  readonly reference: Reference | undefined;
  readonly addFigure: AddFigure;
}

/** The input of a comparison of states. */
export type Compared = Pick<OracleInput, 'world' | 'before' | 'reference'>;

type Oracle = (input: OracleInput) => Promise<{ message: string; diff?: readonly string[] } | undefined>;

const listed = (what: string, lines: readonly string[]) =>
  lines.length === 0 ? undefined : { message: `${what}: ${lines[0]}`, diff: lines };

/** Deployments whose desired state the operator has not yet observed, and deletions that are due. */
const UNSETTLED = `
SELECT name || ': generation ' || generation || ', observed ' || coalesce(observed_generation::text, 'none') ||
  ', acknowledged ' || acknowledged_generation AS line
FROM deployments WHERE delete_requested_at IS NOT NULL AND purge_after <= now()
  OR generation > acknowledged_generation OR observed_generation IS DISTINCT FROM generation`;

/** One line for each current difference from the expected state. Empty if there is no difference. */
export async function stateDifferences({ world, before, reference }: Compared): Promise<string[]> {
  if (reference !== undefined) return differences(reference.state, await stateOf(world, before.at));
  const unsettled = (await world.sql<{ line: string }>(UNSETTLED)).map(({ line }) => line);
  return unsettled.length > 0 ? unsettled : differencesFromDesired(world);
}

/**
 * O1. If the final state is reached once and no writes follow (O5), it is permanent. A plan may have reached it long
 * before the oracle starts. Therefore, if the first comparison finds no difference, the last write tells when.
 */
const converged: Oracle = async (input) => {
  const { world, plan, reference, addFigure } = input;
  const fault = world.lastFault();
  const allowed = allowedMs(plan, reference?.tookMs);
  const until = Math.max(fault.at + allowed, Date.now() + MIN_WAIT_MS);
  for (let isFirst = true; ; isFirst = false) {
    const from = Date.now();
    const lines = await stateDifferences(input);
    if (lines.length === 0) {
      const reachedAt = isFirst ? Math.min(from, lastEffect(world) ?? fault.at) : from;
      const took = Math.max(0, reachedAt - fault.at);
      const figure = convergedFigure(took / 1000, fault.what);
      addFigure(figure);
      if (took <= allowed) return undefined;
      const message = `${figure}; ${allowed / 1000} s are allowed`;
      return { message, diff: lastEffects(world, fault.at) };
    }
    if (from > until) {
      const what =
        reference === undefined ? 'differs from the desired state' : 'differs from the run without a fault';
      const seconds = Math.round((from - fault.at) / 1000);
      return listed(`${what} ${seconds} s after the last fault (${fault.what})`, lines);
    }
    await sleep(POLL_MS);
  }
};

/** O2. If there is no run without a fault, no desired object may have been deleted, except by the plan itself. */
const counted: Oracle = async ({ world, before, plan, reference }) => {
  if (reference === undefined || plan.countsDiffer !== undefined)
    return listed(
      'deleted and created again',
      before.objectCounts.recreated(world.deletedByHand(), plan.recreates ?? []),
    );
  return listed(
    'other creations or deletions',
    countDifferences(reference.counts, before.objectCounts.counts()),
  );
};

/** O3. */
const forward: Oracle = async ({ before, plan: { removesStatus = false } }) => {
  const seen = await before.regressions.seen();
  return listed('went back', removesStatus ? seen.filter((line) => !REMOVED_STATUS.test(line)) : seen);
};
/** The definition of the custom resource sets -1 in a status without an observed generation. */
const REMOVED_STATUS = / status\.observedGeneration \d+ -> -1$/;

/** O4. */
const owned: Oracle = async ({ world }) => listed('orphan', await orphans(world));

/**
 * O5. When O1 holds, no work is left, so any further write or request is needless, and so is a heartbeat above its
 * maximum rate. In plans with `quietSeconds`, the check lasts longer, to find retries that occur every half minute.
 */
const quiet: Oracle = async ({ world, plan: { quietSeconds = 0 } }) => {
  const deadline = Date.now() + QUIET_WITHIN_MS;
  for (;;) {
    const from = Date.now();
    await sleep(QUIET_MS);
    const seen = [...activity(world, from), ...tooOften(world, from, QUIET_MS)];
    if (seen.length > 0 && Date.now() < deadline) continue;
    if (seen.length > 0 || quietSeconds === 0) return listed('not quiet', linesSince(from, seen));
    await sleep(quietSeconds * 1000 - QUIET_MS);
    const disturbances = [
      ...withoutPeriodicChecks(activity(world, from)),
      ...tooOften(world, from, quietSeconds * 1000),
    ];
    return listed(`not quiet for ${quietSeconds} s`, linesSince(from, disturbances));
  }
};

/** O6. */
const kept: Oracle = async ({ world }) => listed('acknowledged and lost', await lostWrites(world));

/** O7. */
const untouched: Oracle = async ({ world, addFigure }) => {
  const { marked, checked, lost } = await checkForeignFields(world);
  // The oracle also holds if there are no marks to check, so the figures say so.
  if (marked === 0) addFigure('O7: no object has a mark');
  else if (checked === 0) addFigure(`O7: all ${marked} marked objects were deleted`);
  return listed('lost the mark of another manager', lost);
};

const unhandled = (world: OwnedWorld): string[] =>
  [...world.logs()].flatMap(([name, log]) => unhandledLines(log).map((line) => `${name}: ${line}`));

/** Open files, and sockets beyond those of the pools, which keep their connections for a minute. */
function leaked({ world, before }: OracleInput): string[] {
  return world.processes().flatMap(({ name, role, pid }) => {
    const then = before.files.get(name);
    if (then === undefined) return [];
    const now = openFiles(pid);
    const pooled = POOLED[role];
    return [
      ...(now.sockets > then.sockets + pooled
        ? [`${name}: ${now.sockets} sockets, before ${then.sockets}`]
        : []),
      ...(now.others > then.others ? [`${name}: ${now.others} open files, before ${then.others}`] : []),
    ];
  });
}

/**
 * Connections that a role may keep for its next call, although they were not open before the plan. API: the default of
 * BERTH_DATABASE_POOL. Listener: one for each kind of call to the hub (lease, work, logs, reports, inventory). Operator:
 * none in addition, because it uses one HTTP/2 connection.
 */
const POOLED: Readonly<Record<FaultRole, number>> = { api: 10, listener: 5, operator: 0 };

/** O8. */
const clean: Oracle = async (input) => {
  const lines = [...input.world.takeUnexpectedExits(), ...unhandled(input.world)];
  if (lines.length > 0) return listed('unhandled', lines);
  const until = Date.now() + SOCKETS_WITHIN_MS;
  for (;;) {
    const found = leaked(input);
    if (found.length === 0 || Date.now() > until) return listed('not closed', found);
    await sleep(POLL_MS);
  }
};

/** O9. */
const startedOnce: Oracle = async ({ world, before }) =>
  listed('tasks', await before.taskWatch.problems(world));

/** O5 comes before the oracles that read through the proxies, because their requests would count as activity. */
const ORACLES: readonly (readonly [OracleName, Oracle])[] = [
  ['O1', converged],
  ['O5', quiet],
  ['O2', counted],
  ['O3', forward],
  ['O4', owned],
  ['O6', kept],
  ['O7', untouched],
  ['O8', clean],
  ['O9', startedOnce],
];

/** Checks all oracles, and returns those that do not hold, sorted by name. */
export async function checkOracles(input: OracleInput): Promise<Violation[]> {
  const violations: Violation[] = [];
  for (const [oracle, holds] of ORACLES) {
    const problem = await holds(input).catch((error: unknown) => ({
      message: `failed to check: ${String(error instanceof Error ? error.message : error)}`,
    }));
    if (problem !== undefined) violations.push({ oracle, ...problem });
  }
  return violations.sort((left, right) => (left.oracle < right.oracle ? -1 : 1));
}
