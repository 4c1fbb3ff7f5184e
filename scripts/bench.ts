/**
 * Measures Berth beside floors on this machine: npm run bench -- --help
 */
import { existsSync, globSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import {
  type Bench,
  type BenchContext,
  type BenchResult,
  describeBench,
  isAtSize,
  runBench,
  sharedThings,
} from '../test/bench/bench.ts';
import { isFilledWorld } from '../test/bench/cluster/sides.ts';
import { comparable, compareBench } from '../test/bench/compare.ts';
import { busyWarning, describeMachine, type Machine, untilIdle } from '../test/bench/machine.ts';
import { toldProfiles } from '../test/bench/profiles.ts';
import {
  CELL_NAMES,
  COMPARED_NAMES,
  columns,
  type Entry,
  measureCells,
  readEntries,
  writeReport,
} from '../test/bench/report.ts';

const HELP = `usage: npm run bench -- [NAME …] [--n N] [--runs R] [--json] [--write [--force]] [--profile D]
       npm run bench -- compare CHECKOUT_A CHECKOUT_B [NAME …] [--n N] [--runs R] [--json] [--profile D]
       npm run bench -- --list

Measures Berth, beside its floor where there is one, in rounds that take turns. NAME: a bench, or, where none has exactly
that name, the beginning of the names of several; default: all. Use a machine that does nothing else.
--n N       how much there is of what the bench counts (requests, rows, deployments), instead of the bench's own
--runs R    rounds of each side, instead of the bench's own; one whose start is what it measures has one. api-get,
            api-list and api-post restart both sides every few rounds, so that no process's luck decides: more rounds, more starts
--json      results as JSON on standard output, instead of tables; progress, and what --profile tells, is on standard error
            in any case. npm adds lines of its own to the output, unless it runs as npm run --silent bench -- …
--write     puts the results into docs/benchmarks.md, its JSON and its plots, each bench as it ends; benches that were
            not run stay as they are. Not of fewer than goals are judged from, nor of fewer rounds than are written there.
            Before each, up to four minutes are waited for the machine to be idle
--force     with --write: writes those, too
--profile D one start, and Berth and the API's floor run with node --cpu-prof: profiles go to the folder D (an empty one: all that are
            in it are told), named by what the process is, of two checkouts to its folders A and B. What costs most is
            told, with the statements that took PostgreSQL longest (unless DATABASE_URL names one)
--list      the benches: n without --n, from which --n on the goals are judged, and what is measured
compare     the same bench with Berth from two folders in turn, B held against A; each needs its node_modules. Not those
            whose start is what they measure. The same folder twice tells how far two processes of it differ.
            The benches are those of the checkout that this runs in
The exit code is 0 when everything could be measured, whatever came out.`;

const root = fileURLToPath(new URL('..', import.meta.url));

/** Every bench, in the order of their names. */
export async function loadBenches(): Promise<Bench[]> {
  const files = globSync('test/bench/**/*.bench.ts', { cwd: root });
  const modules = await Promise.all(
    files.map((file) => import(pathToFileURL(join(root, file)).href) as Promise<{ bench: Bench }>),
  );
  return modules.map(({ bench }) => bench).toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** @throws Error for a name that no bench begins with */
export function chooseBenches(benches: readonly Bench[], names: readonly string[]): Bench[] {
  const unknown = names.find((name) => !benches.some((bench) => bench.name.startsWith(name)));
  if (unknown !== undefined)
    throw new Error(
      `there is no bench "${unknown}"; there are ${benches.map(({ name }) => name).join(', ')}`,
    );
  const isWhole = (word: string) => benches.some(({ name }) => name === word);
  return benches.filter(
    ({ name }) =>
      names.length === 0 || names.some((word) => (isWhole(word) ? name === word : name.startsWith(word))),
  );
}

function positive(name: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} must be a whole number above 0`);
  return value;
}

export interface Asked {
  readonly names: readonly string[];
  /** Two checkouts to compare; null: this one beside its floors. */
  readonly checkouts: readonly [string, string] | null;
  readonly n: number | null;
  readonly runs: number | null;
  readonly json: boolean;
  readonly write: boolean;
  /** Also what is less than what is written there. */
  readonly force: boolean;
  /** Folder for CPU profiles; null: none are made. */
  readonly profile: string | null;
  readonly list: boolean;
  readonly help: boolean;
}

/** What a checkout has to have, so that its Berth can be started. */
const NEEDED = ['src/main.ts', 'package.json', 'node_modules'];

/** @throws Error that names what is missing */
export function assertCheckout(folder: string): void {
  const missing = NEEDED.find((path) => !existsSync(join(folder, path)));
  if (missing === undefined) return;
  const next = missing === 'node_modules' ? ': run npm ci there' : ': it is no checkout of Berth';
  throw new Error(`failed to compare with ${folder}: there is no ${missing} in it${next}`);
}

export function readArguments(args: readonly string[]): Asked {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      n: { type: 'string' },
      runs: { type: 'string' },
      json: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      force: { type: 'boolean', default: false },
      profile: { type: 'string' },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const compares = positionals[0] === 'compare';
  const [, a, b] = positionals;
  if (compares && (a === undefined || b === undefined)) throw new Error('compare takes two checkouts');
  if (compares && values.write) throw new Error('--write is for the measures of one checkout');
  if (values.profile !== undefined && values.write)
    throw new Error('--write is not for what runs with profiles, which are work themselves');
  return {
    ...values,
    names: compares ? positionals.slice(3) : positionals,
    checkouts: compares ? [resolve(a ?? ''), resolve(b ?? '')] : null,
    profile: values.profile === undefined ? null : resolve(values.profile),
    n: positive('n', values.n),
    runs: positive('runs', values.runs),
  };
}

/**
 * What stands in the report is not replaced by less.
 * @param entries what stands there
 * @throws Error that says what is less, and what to ask for
 */
export function assertWorthWriting(
  bench: Bench,
  { n, runs }: Pick<Asked, 'n' | 'runs'>,
  entries: readonly Entry[],
): void {
  const refuse = (what: string, next: string) => {
    throw new Error(`failed to write ${bench.name}: ${what}; next: ${next}, or --force`);
  };
  const { goalsFrom = 0 } = bench;
  if (!isAtSize(bench, n ?? bench.n))
    refuse(`its goals are for ${goalsFrom}`, `ask for it with --n ${goalsFrom}`);
  const stored = entries.find(({ result }) => result.name === bench.name);
  const rounds = stored?.result.measures[0]?.ours.rounds ?? 0;
  if (!bench.startIsMeasured && (runs ?? bench.runs) < rounds)
    refuse(`${rounds} rounds of it are written there`, `ask for it with --runs ${rounds}`);
}

function print({ name, measures, notes }: BenchResult, cellNames: readonly string[]): void {
  console.log(`\n${name}\n${columns([cellNames, ...measures.map(measureCells)])}`);
  for (const note of notes) console.log(`- ${note}`);
}

/** The benches as a table. The description is of as many as there are without --n. */
export const listed = (benches: readonly Bench[]): string =>
  columns([
    ['bench', 'n', 'goals from', 'what is measured, of n'],
    ...benches.map((bench) => [
      bench.name,
      String(bench.n),
      bench.goalsFrom === undefined ? 'any' : `--n ${bench.goalsFrom}`,
      describeBench(bench, bench.n),
    ]),
  ]);

const log = (line: string) => console.error(line);

/** The machine before a bench: what ran before it, also another bench, may have had its processors full. */
async function machineFor({ write }: Pick<Asked, 'write'>): Promise<Machine> {
  const machine = write ? await untilIdle(log) : describeMachine();
  const warning = busyWarning(machine);
  if (warning !== null) log(`Mind: ${warning}.`);
  return machine;
}

/** Ends the filled worlds if the first of these benches is the last one that shares them. */
async function stopFilled(
  things: ReturnType<typeof sharedThings>,
  [done, ...left]: readonly Bench[],
): Promise<void> {
  if (done?.besideMany && !left.some(({ besideMany }) => besideMany)) await things.stop(isFilledWorld);
}

/** @param all benches that there are: by their goals the page is judged */
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
    const runs = asked.runs ?? bench.runs;
    if (asked.checkouts === null) return runBench(bench, contextOf(root), runs);
    const [a, b] = asked.checkouts;
    return compareBench(bench, [sideOf(a, 'A'), sideOf(b, 'B')], runs);
  };
  try {
    for (const [index, bench] of benches.entries()) {
      if (index > 0 && asked.write) machine = await machineFor(asked);
      const result = await resultOf(bench);
      results.push(result);
      if (asked.write) writeReport(join(root, 'docs'), [{ result, machine, date, command }], all);
      if (!asked.json) print(result, asked.checkouts === null ? CELL_NAMES : COMPARED_NAMES);
      await stopFilled(things, benches.slice(index));
    }
  } finally {
    await things.stop();
    // Also of those that ran before one that failed.
    if (asked.json) console.log(JSON.stringify({ machine, date, results }, null, 2));
  }
  for (const text of asked.profile === null ? [] : toldProfiles(asked.profile)) log(`\n${text}`);
}

/**
 * Without `--` npm takes options for its own, and hands on their values at most: a bench would run with other numbers than
 * were asked for. (`--n` is short for one of npm's own, and leaves its number alone.)
 * @throws Error that says so
 */
export function assertNotTakenByNpm({ names }: Pick<Asked, 'names'>, environment: NodeJS.ProcessEnv): void {
  const taken = ['runs', 'json', 'write', 'profile', 'list'].filter(
    (name) => environment[`npm_config_${name}`] !== undefined,
  );
  const left = names.filter((name) => /^\d+$/.test(name));
  if (taken.length > 0 || left.length > 0)
    throw new Error(
      `npm has taken options for its own (${[...taken.map((name) => `--${name}`), ...left].join(', ')}); next: put -- before all options, npm run bench -- …`,
    );
}

async function main(args: readonly string[]): Promise<void> {
  const asked = readArguments(args);
  assertNotTakenByNpm(asked, process.env);
  if (asked.help) {
    console.log(HELP);
    return;
  }
  for (const folder of asked.checkouts ?? []) assertCheckout(folder);
  const all = await loadBenches();
  const chosen = chooseBenches(all, asked.names);
  const benches = asked.checkouts === null ? chosen : comparable(chosen, asked.names.length > 0, log);
  if (asked.list) {
    console.log(listed(benches));
    return;
  }
  if (asked.write && !asked.force) {
    const entries = readEntries(join(root, 'docs'));
    for (const bench of benches) assertWorthWriting(bench, asked, entries);
  }
  await measure(asked, benches, { all, typed: args.join(' ') });
}

/** Of an unknown option Node says more than helps. */
function messageOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  const message = error instanceof Error ? error.message : String(error);
  return code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION' ? `${message.split('. ')[0]}; see --help` : message;
}

if (import.meta.main) {
  try {
    await main(process.argv.slice(2));
  } catch (error) {
    console.error(`npm run bench: ${messageOf(error)}`);
    process.exitCode = 1;
  }
}
