/** Checkouts whose listener and operator take turns in one filled world: how two transports are compared (decision 0074). */
import { setTimeout as sleep } from 'node:timers/promises';
import { MIB, mib, type Usage } from '../../faults/plans/usage.ts';
import type { BenchContext, Sample } from '../bench.ts';
import { summarise } from '../statistics.ts';
import { CLUSTER_ROLES, type ClusterBerth, type ClusterRole } from './berth.ts';
import { untilQuiet } from './recording.ts';

export interface Turns {
  readonly checkouts: readonly string[];
  /** Of each turn. The roles warm up in its first third. */
  readonly seconds: number;
}

export interface Measuring {
  measured(seconds: number): Promise<Sample>;
  /** Of the last measurement. */
  lines(): ReadonlyMap<ClusterRole, readonly Usage[]>;
}

const DEFAULT_SECONDS = 1500;
/** A new operator reads all objects first. */
const START_MS = 30_000;
const QUIET_MS = 1_500;

/** `BENCH_SOAK_TURNS`: checkouts, with commas. `BENCH_SOAK_TURN_SECONDS`: the length of each turn. */
export function turnsFromEnvironment(): Turns | undefined {
  const { BENCH_SOAK_TURNS: checkouts, BENCH_SOAK_TURN_SECONDS: seconds } = process.env;
  if (checkouts === undefined) return undefined;
  return { checkouts: checkouts.split(','), seconds: Number(seconds ?? DEFAULT_SECONDS) };
}

/** @returns the sample of the last turn; each turn is logged, as one line of JSON with a value of every cycle */
export async function takeTurns(
  { log }: Pick<BenchContext, 'log'>,
  berth: ClusterBerth,
  { checkouts, seconds }: Turns,
  { measured, lines }: Measuring,
): Promise<Sample> {
  let sample: Sample = {};
  for (const [index, checkout] of checkouts.entries()) {
    log(`turn ${index + 1} of ${checkouts.length}: ${checkout}, ${seconds} s`);
    for (const role of CLUSTER_ROLES) await berth.end(role);
    for (const role of CLUSTER_ROLES) await berth.start(role, true, checkout);
    await sleep(START_MS);
    await untilQuiet(berth.proxy, QUIET_MS).catch((error: Error) => log(error.message));
    sample = await measured(seconds);
    for (const [role, line] of lines()) log(`${role}: ${betweenThirds(line)}`);
    log(
      JSON.stringify({
        checkout,
        seconds,
        breaks: sample['breaks'],
        roles: Object.fromEntries(rounded(lines())),
      }),
    );
  }
  return sample;
}

/** How much more there is in the last third than in the second: by the median of each. */
function betweenThirds(line: readonly Usage[]): string {
  const third = Math.floor(line.length / 3);
  const median = (from: number, bytes: (usage: Usage) => number) =>
    summarise(line.slice(from, from + third).map(bytes)).median;
  const change = (bytes: (usage: Usage) => number) =>
    mib(median(line.length - third, bytes) - median(line.length - 2 * third, bytes));
  return `live heap ${change(({ heap }) => heap)}, resident ${change(({ rss }) => rss)} more in the last third than in the second`;
}

const rounded = (lines: ReadonlyMap<ClusterRole, readonly Usage[]>) =>
  [...lines].map(([role, line]) => {
    const inMib = (bytes: (usage: Usage) => number) =>
      line.map((usage) => Number((bytes(usage) / MIB).toFixed(2)));
    const heap = inMib((usage) => usage.heap);
    return [
      role,
      { heap, rss: inMib(({ rss }) => rss), sockets: line.map(({ sockets }) => sockets) },
    ] as const;
  });
