/** The oracles O1 to O8, which are checked after every plan. */
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
import { activity, QUIET_MS, toldSince, tooOften, unrepeatedLooksLeftOut } from './quiescence.ts';
import type { Regressions } from './regressions.ts';
import { differences, type State, stateOf } from './state.ts';
import { unhandledLines } from './unhandled-errors.ts';

/** Whoever is at work when the plan ends has come to its end by then. */
const QUIET_WITHIN_MS = 30_000;
/** The oracle looks for so long at least, however long ago the fault was. */
const LEAST_LOOKING_MS = 5_000;
const LOOK_MS = 250;
/** Connections that are kept for the next call are let go after a while. */
const SOCKETS_WITHIN_MS = 15_000;

/** The end of a workload's run without a fault. */
export interface Reference {
  readonly state: State;
  readonly counts: Counts;
  /** From the change to the last that was written for it. */
  readonly tookMs: number;
}

/** What was there when the plan began. */
export interface Before {
  readonly at: Date;
  readonly files: ReadonlyMap<string, OpenFiles>;
  readonly regressions: Regressions;
  readonly objectCounts: ObjectCounts;
}

export interface OracleInput {
  readonly world: OwnedWorld;
  readonly plan: FaultPlan;
  readonly before: Before;
  readonly reference: Reference | undefined;
  readonly tell: AddFigure;
}

/** What a comparison of states needs. */
export type Compared = Pick<OracleInput, 'world' | 'before' | 'reference'>;

type Oracle = (looked: OracleInput) => Promise<{ message: string; diff?: readonly string[] } | undefined>;

const listed = (what: string, lines: readonly string[]) =>
  lines.length === 0 ? undefined : { message: `${what}: ${lines[0]}`, diff: lines };

/** Every deployment is where it was to go; what has failed for good has told it. */
const UNSETTLED = `
SELECT name || ': generation ' || generation || ', observed ' || coalesce(observed_generation::text, 'none') ||
  ', acknowledged ' || acknowledged_generation AS line
FROM deployments WHERE delete_requested_at IS NOT NULL AND purge_after <= now()
  OR generation > acknowledged_generation OR observed_generation IS DISTINCT FROM generation`;

/** A line for each difference, as it is now; empty: they are alike. */
export async function unlike({ world, before, reference }: Compared): Promise<string[]> {
  if (reference !== undefined) return differences(reference.state, await stateOf(world, before.at));
  const unsettled = (await world.sql<{ line: string }>(UNSETTLED)).map(({ line }) => line);
  return unsettled.length > 0 ? unsettled : differencesFromDesired(world);
}

/**
 * As soon as it is so once, and quiet follows (O5), it stays. A plan looks at more than this, so that it may have come
 * long before its end: where it is there at the first look, the last that was written for it says when it came.
 */
const converged: Oracle = async (looked) => {
  const { world, plan, reference, tell } = looked;
  const fault = world.lastFault();
  const allowed = allowedMs(plan, reference?.tookMs);
  const until = Math.max(fault.at + allowed, Date.now() + LEAST_LOOKING_MS);
  for (let isFirst = true; ; isFirst = false) {
    const from = Date.now();
    const lines = await unlike(looked);
    if (lines.length === 0) {
      const came = isFirst ? Math.min(from, lastEffect(world) ?? fault.at) : from;
      const took = Math.max(0, came - fault.at);
      const figure = convergedFigure(took / 1000, fault.what);
      tell(figure);
      if (took <= allowed) return undefined;
      const message = `${figure}; ${allowed / 1000} s are allowed`;
      return { message, diff: lastEffects(world, fault.at) };
    }
    if (from > until) {
      const what = reference === undefined ? 'unlike what is made anew' : 'unlike the run without a fault';
      const seconds = Math.round((from - fault.at) / 1000);
      return listed(`${what} ${seconds} s after the last fault (${fault.what})`, lines);
    }
    await sleep(LOOK_MS);
  }
};

/** Where no run without a fault is to compare with: nothing that is wanted was ever deleted, but by the plan itself. */
const counted: Oracle = async ({ world, before, plan, reference }) => {
  if (reference === undefined || plan.countsDiffer !== undefined)
    return listed(
      'deleted and made again',
      before.objectCounts.recreated(world.deletedByHand(), plan.recreates ?? []),
    );
  return listed(
    'other creations or deletions',
    countDifferences(reference.counts, before.objectCounts.counts()),
  );
};

const forward: Oracle = async ({ before }) => listed('went back', await before.regressions.seen());

const owned: Oracle = async ({ world }) => listed('orphan', await orphans(world));

/**
 * What was still to be done has been done when O1 held; whatever comes now comes for nothing. So is
 * what goes by the clock where it goes faster than its clock. Where it is looked at for long, nothing may come any more once it is quiet: so what is tried again each half minute is seen.
 */
const quiet: Oracle = async ({ world, plan: { quietSeconds = 0 } }) => {
  const deadline = Date.now() + QUIET_WITHIN_MS;
  for (;;) {
    const from = Date.now();
    await sleep(QUIET_MS);
    const seen = [...activity(world, from), ...tooOften(world, from, QUIET_MS)];
    if (seen.length > 0 && Date.now() < deadline) continue;
    if (seen.length > 0 || quietSeconds === 0) return listed('not quiet', toldSince(from, seen));
    await sleep(quietSeconds * 1000 - QUIET_MS);
    const disturbances = [
      ...unrepeatedLooksLeftOut(activity(world, from)),
      ...tooOften(world, from, quietSeconds * 1000),
    ];
    return listed(`not quiet for ${quietSeconds} s`, toldSince(from, disturbances));
  }
};

const kept: Oracle = async ({ world }) => listed('acknowledged and lost', await lostWrites(world));

const untouched: Oracle = async ({ world, tell }) => {
  const { marked, looked, lost } = await checkForeignFields(world);
  // It holds as well where there is nothing to look at: that has to show.
  if (marked === 0) tell('O7: nothing marked');
  else if (looked === 0) tell(`O7: none of ${marked} objects that were marked is there any more`);
  return listed('lost the mark of another manager', lost);
};

const unhandled = (world: OwnedWorld): string[] =>
  [...world.logs()].flatMap(([name, log]) => unhandledLines(log).map((line) => `${name}: ${line}`));

/** Sockets beyond those of pools, which hold their connections for a minute, and files. */
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
 * Connections that a role keeps for its next call, and may not have needed before: the API as many as
 * BERTH_DATABASE_POOL says, the listener one for each of its kinds of calls to the hub (lease, work, logs, reports,
 * inventory); the operator has one, with HTTP/2.
 */
const POOLED: Readonly<Record<FaultRole, number>> = { api: 10, listener: 5, operator: 0 };

const clean: Oracle = async (looked) => {
  const lines = [...looked.world.takeUnexpectedExits(), ...unhandled(looked.world)];
  if (lines.length > 0) return listed('unhandled', lines);
  const until = Date.now() + SOCKETS_WITHIN_MS;
  for (;;) {
    const found = leaked(looked);
    if (found.length === 0 || Date.now() > until) return listed('not let go', found);
    await sleep(LOOK_MS);
  }
};

/** O5 is looked at before what only reads, which would not be quiet. */
const ORACLES: readonly (readonly [OracleName, Oracle])[] = [
  ['O1', converged],
  ['O5', quiet],
  ['O2', counted],
  ['O3', forward],
  ['O4', owned],
  ['O6', kept],
  ['O7', untouched],
  ['O8', clean],
];

/** All that does not hold. */
export async function look(looked: OracleInput): Promise<Violation[]> {
  const violations: Violation[] = [];
  for (const [oracle, holds] of ORACLES) {
    const problem = await holds(looked).catch((error: unknown) => ({
      message: `failed to look: ${String(error instanceof Error ? error.message : error)}`,
    }));
    if (problem !== undefined) violations.push({ oracle, ...problem });
  }
  return violations.sort((left, right) => (left.oracle < right.oracle ? -1 : 1));
}
