/** Records the effects of every workload without a fault, for the kill plans. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Effect, hubEffect, kubernetesEffect, Occurrences, Transactions } from './effects.ts';
import type { Given, Workload } from './plan.ts';
import type { FaultRole, FaultWorld, OwnedWorld } from './world.ts';

const PATH = fileURLToPath(new URL('recorded-effects.json', import.meta.url));

/** Between what a workload begins with and its change: trailing reports are no effects of the change. */
export const SETTLED_MS = 1_500;

/** Effects by the workload's name. */
export type Recording = Readonly<Record<string, readonly Effect[]>>;

/** An effect as the file has it: `operator apply services shop-x`, with `#2` for its second occurrence. */
const LINE = /^(api|listener|operator) (.*?)(?: #(\d+))?$/;

function parseEffect(line: string): Effect {
  const [, role, what, occurrence = 1] = LINE.exec(line) ?? [];
  if (role === undefined || what === undefined) throw new Error(`${PATH}: "${line}" is not an effect`);
  return { role: role as FaultRole, what, occurrence: Number(occurrence) };
}

/** The committed recording, which `npm run faults -- --record` renews. */
export function readRecording(): Recording {
  const lines = JSON.parse(readFileSync(PATH, 'utf8')) as Record<string, string[]>;
  return Object.fromEntries(Object.entries(lines).map(([workload, all]) => [workload, all.map(parseEffect)]));
}

export function writeRecording(recording: Recording): void {
  const lineOf = ({ role, what, occurrence }: Effect) =>
    `${role} ${what}${occurrence === 1 ? '' : ` #${occurrence}`}`;
  const lines = Object.entries(recording).map(([workload, all]) => [workload, all.map(lineOf)]);
  writeFileSync(PATH, `${JSON.stringify(Object.fromEntries(lines), null, 2)}\n`);
}

/** Effects at the proxies since `from` (milliseconds since the epoch), in their order. */
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

/** Told as often as something is seen; what is told in one go on a busy machine comes one by one on an idle one. */
const COALESCED =
  /^(?:post reports|tell events|update manageddeployments-status |commit deployments.*listeners)/;
const MOST_COALESCED = 2;

const isSteady = ({ what, occurrence }: Effect) => occurrence <= MOST_COALESCED || !COALESCED.test(what);

/** The effects of a workload's run without a fault, and what it has made. */
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

/** What was met in each of several runs. */
export function metEachTime(runs: readonly (readonly Effect[])[]): Effect[] {
  const [first = [], ...more] = runs;
  return first.filter((effect) => isSteady(effect) && more.every((run) => run.some(same(effect))));
}

/**
 * What a workload does and its recording has not: nothing is killed there. How often something is told, and what of it
 * goes in one transaction, depends on how fast pods come up: of these it counts that they are recorded anywhere.
 */
export function unrecorded(recording: Recording, workload: string, met: readonly Effect[]): Effect[] {
  const everywhere = Object.values(recording).flat();
  const own = recording[workload] ?? [];
  return met.filter((effect) =>
    COALESCED.test(effect.what)
      ? !everywhere.some(({ role, what }) => role === effect.role && what === effect.what)
      : !own.some(same(effect)),
  );
}

/**
 * Runs a workload some times. What is met each time is its recording: how often a status is written in between depends
 * on how fast pods come up, and a plan needs an effect that it meets.
 */
export async function recordWorkload(world: OwnedWorld, workload: Workload, times = 3): Promise<Effect[]> {
  const runs: Effect[][] = [];
  for (let run = 0; run < times; run += 1) {
    world.begin();
    runs.push((await runForEffects(world, workload)).effects);
    await world.reset();
  }
  return metEachTime(runs);
}
