/** Runs benches one after the other, prints the results and stores them. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type Bench,
  type BenchContext,
  type BenchResult,
  isAtSize,
  runBench,
  sharedThings,
} from './bench.ts';
import { isFilledWorld } from './cluster/sides.ts';
import { type Asked, messageOf } from './command-line.ts';
import { compareBench } from './compare.ts';
import { busyWarning, describeMachine, type Machine, untilIdle } from './machine.ts';
import { summarizeProfiles } from './profiles.ts';
import {
  CELL_NAMES,
  COMPARED_NAMES,
  columns,
  type Entry,
  measureCells,
  readEntries,
  writeReport,
} from './report.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Prevents that a smaller result replaces a larger one.
 * @param entries the stored results
 * @throws Error that states the difference and the necessary option
 */
export function assertWorthWriting(
  bench: Bench,
  { n, runs }: Pick<Asked, 'n' | 'runs'>,
  entries: readonly Entry[],
): void {
  const reject = (what: string, next: string) => {
    throw new Error(`failed to write ${bench.name}: ${what}; next: ${next}, or --force`);
  };
  const { goalsFrom = 0 } = bench;
  if (!isAtSize(bench, n ?? bench.n))
    reject(`its goals are for ${goalsFrom}`, `run it with --n ${goalsFrom}`);
  const stored = entries.find(({ result }) => result.name === bench.name);
  const rounds = stored?.result.measures[0]?.ours.rounds ?? 0;
  if (!bench.startIsMeasured && (runs ?? bench.runs) < rounds)
    reject(`the stored result has ${rounds} rounds`, `run it with --runs ${rounds}`);
}

function print({ name, measures, notes, failure }: BenchResult, cellNames: readonly string[]): void {
  console.log(`\n${name}\n${columns([cellNames, ...measures.map(measureCells)])}`);
  for (const note of notes) console.log(`- ${note}`);
  if (failure !== undefined) console.log(`- A round after these failed: ${failure}`);
}

/** Stores a result, unless a round failed and the stored result has more rounds. */
function write(entry: Entry, bench: Bench, all: readonly Bench[], { n, force }: Asked): void {
  const { result } = entry;
  if (result.failure !== undefined && !force)
    assertWorthWriting(bench, { n, runs: result.measures[0]?.ours.rounds ?? 0 }, readEntries(root));
  writeReport(root, entry, all);
}

/** Progress goes to standard error, because results go to standard output. */
export const log = (line: string) => console.error(line);

/** The machine before a bench. With --write, waits until the processors are idle after earlier work. */
async function machineFor({ write }: Pick<Asked, 'write'>): Promise<Machine> {
  const machine = write ? await untilIdle(log) : describeMachine();
  const warning = busyWarning(machine);
  if (warning !== null) log(`Warning: ${warning}.`);
  return machine;
}

/** Stops the filled worlds after the last bench that shares them, or if a bench has failed and may have left them incomplete. */
async function stopFilled(
  things: ReturnType<typeof sharedThings>,
  [done, ...left]: readonly Bench[],
  hasFailed: boolean,
): Promise<void> {
  if (done?.besideMany && (hasFailed || !left.some(({ besideMany }) => besideMany)))
    await things.stop(isFilledWorld);
}

/** Measures the benches. @param all all existing benches, whose goals the page contains @throws Error if a bench fails */
export async function measure(
  asked: Asked,
  benches: readonly Bench[],
  { all, typed }: { readonly all: readonly Bench[]; readonly typed: string },
): Promise<void> {
  let machine = await machineFor(asked);
  const things = sharedThings();
  const contextOf = (folder: string, profiles = asked.profile): BenchContext => ({
    root: folder,
    n: asked.n,
    profiles,
    log,
    shared: things.shared,
  });
  const sideOf = (folder: string, side: string) =>
    contextOf(folder, asked.profile === null ? null : join(asked.profile, side));
  const date = new Date().toISOString().slice(0, 10);
  const command = `npm run bench -- ${typed}`.trim();
  const results: BenchResult[] = [];
  const resultOf = (bench: Bench): Promise<BenchResult> => {
    const runs = asked.runs ?? undefined;
    if (asked.checkouts === null) return runBench(bench, contextOf(root), runs);
    const [a, b] = asked.checkouts;
    return compareBench(bench, [sideOf(a, 'A'), sideOf(b, 'B')], runs);
  };
  const failures: string[] = [];
  const failed = (bench: Bench, message: string) => {
    failures.push(`${bench.name}: ${message}`);
    log(`${bench.name}: failed: ${message}`);
  };
  const runOne = async (bench: Bench): Promise<void> => {
    const result = await resultOf(bench);
    results.push(result);
    if (!asked.json) print(result, asked.checkouts === null ? CELL_NAMES : COMPARED_NAMES);
    if (result.failure !== undefined) failed(bench, result.failure);
    if (asked.write) write({ result, machine, date, command }, bench, all, asked);
  };
  try {
    for (const [index, bench] of benches.entries()) {
      if (index > 0 && asked.write) machine = await machineFor(asked);
      const before = failures.length;
      // The results of the other benches should not be lost.
      await runOne(bench).catch((error: unknown) => failed(bench, messageOf(error)));
      await stopFilled(things, benches.slice(index), failures.length > before);
    }
  } finally {
    await things.stop();
    if (asked.json) console.log(JSON.stringify({ machine, date, results }, null, 2));
  }
  for (const text of asked.profile === null ? [] : summarizeProfiles(asked.profile)) log(`\n${text}`);
  if (failures.length > 0) throw new Error(`failed to measure ${failures.join('; ')}`);
}
