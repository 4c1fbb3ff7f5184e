/** Records the effects of every workload without a fault, for the kill plans. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Effect, hubEffect, kubernetesEffect, Occurrences, Transactions } from './effects.ts';
import type { Given, Workload } from './plan.ts';
import type { FaultRole, FaultWorld, OwnedWorld } from './world.ts';

const PATH = fileURLToPath(new URL('recorded-effects.json', import.meta.url));

/** Quiet time between the preparation and the change of a workload, so that late reports do not count as effects of the change. */
export const SETTLED_MS = 1_500;

/** Effects, by the name of the workload. */
export type Recording = Readonly<Record<string, readonly Effect[]>>;

/** An effect in the file: `operator apply services shop-x`, with `#2` for its second occurrence. */
const LINE = /^(api|listener|operator) (.*?)(?: #(\d+))?$/;

function parseEffect(line: string): Effect {
  const [, role, what, occurrence = 1] = LINE.exec(line) ?? [];
  if (role === undefined || what === undefined) throw new Error(`${PATH}: "${line}" is not an effect`);
  return { role: role as FaultRole, what, occurrence: Number(occurrence) };
}

/** The committed recording. `npm run faults -- --record` updates it. */
export function readRecording(): Recording {
  const lines = JSON.parse(readFileSync(PATH, 'utf8')) as Record<string, string[]>;
  return Object.fromEntries(Object.entries(lines).map(([workload, all]) => [workload, all.map(parseEffect)]));
}

/** Replaces the committed recording. */
export function writeRecording(recording: Recording): void {
  const lineOf = ({ role, what, occurrence }: Effect) =>
    `${role} ${what}${occurrence === 1 ? '' : ` #${occurrence}`}`;
  const lines = Object.entries(recording).map(([workload, all]) => [workload, all.map(lineOf)]);
  writeFileSync(PATH, `${JSON.stringify(Object.fromEntries(lines), null, 2)}\n`);
}

/** Effects that the proxies have seen since `from` (milliseconds since the epoch), in order. */
function effectsSince({ kubernetes, hub, postgres }: FaultWorld, from: number): Effect[] {
  const transactions = new Transactions();
  const seen = [
    ...kubernetes.exchanges().map((exchange) => ({ ...exchange, what: kubernetesEffect(exchange) })),
    ...hub.exchanges().map((exchange) => ({ ...exchange, what: hubEffect(exchange) })),
    ...postgres.messages().map((message) => ({ ...message, what: transactions.commits(message) })),
  ]
    .filter(({ at }) => at >= from)
    .sort((left, right) => left.at - right.at);
  const occurrences = new Occurrences();
  return seen.flatMap(({ client, what }) => {
    if (what === undefined) return [];
    return [{ role: client as FaultRole, what, occurrence: occurrences.next(`${client} ${what}`) }];
  });
}

const same = (left: Effect) => (right: Effect) =>
  left.role === right.role && left.what === right.what && left.occurrence === right.occurrence;

/** Effects that occur once per observation. A busy machine combines several observations into one effect. */
const COALESCED =
  /^(?:post (?:task-)?reports|tell events|update (?:manageddeployments|deploymenttasks)-status |commit (?:tasks$|deployments.*listeners))/;
const MAX_COALESCED = 2;

const isSteady = ({ what, occurrence }: Effect) => occurrence <= MAX_COALESCED || !COALESCED.test(what);

/** The effects of a run of the workload without a fault, and the state of the workload after it. */
export async function runForEffects(
  world: FaultWorld,
  workload: Workload,
): Promise<{ effects: Effect[]; now: Given }> {
  const given = await workload.prepare(world);
  await world.quiet({ forMs: SETTLED_MS });
  const from = Date.now();
  const now = await workload.run(world, given);
  await workload.end(world, now);
  await world.quiet();
  return { effects: effectsSince(world, from), now };
}

/** The effects that occurred in every run. */
export function inEveryRun(runs: readonly (readonly Effect[])[]): Effect[] {
  const [first = [], ...more] = runs;
  return first.filter((effect) => isSteady(effect) && more.every((run) => run.some(same(effect))));
}

/**
 * Effects that the recording of the workload lacks, so no plan kills a process at them. The number of repeated observations
 * and the tables of their transactions depend on the speed of pod starts. Such an effect may be recorded for any workload.
 */
export function unrecorded(recording: Recording, workload: string, found: readonly Effect[]): Effect[] {
  const everywhere = Object.values(recording).flat();
  const own = recording[workload] ?? [];
  return found.filter((effect) =>
    COALESCED.test(effect.what)
      ? !everywhere.some(({ role, what }) => role === effect.role && what === effect.what)
      : !own.some(same(effect)),
  );
}

/**
 * The effects that occur in each of several runs of the workload. The number of intermediate statuses depends on the speed of
 * pod starts, and a plan needs an effect that always occurs.
 */
export async function recordWorkload(world: OwnedWorld, workload: Workload, times = 3): Promise<Effect[]> {
  const runs: Effect[][] = [];
  for (let run = 0; run < times; run += 1) {
    world.begin();
    runs.push((await runForEffects(world, workload)).effects);
    await world.reset();
  }
  return inEveryRun(runs);
}
