/** Results as JSON, and docs/benchmarks.md made from it. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Bench,
  type BenchResult,
  describeBench,
  isAtSize,
  type Measure,
  type MeasureResult,
  measuresFor,
} from './bench.ts';
import { busyWarning, type Machine } from './machine.ts';
import { drawPlot, type Plot } from './plot.ts';
import { type Goal, judge, type Summary } from './statistics.ts';

/** A bench as it was measured: benches of one document may come from several runs. */
export interface Entry {
  readonly result: BenchResult;
  readonly machine: Machine;
  /** As it was typed. */
  readonly command: string;
  /** Day, ISO 8601. */
  readonly date: string;
}

/** Below docs/. */
const PAGE = 'benchmarks.md';
const FOLDER = 'benchmarks';
const RESULTS = 'results.json';

/** Three digits that matter, more where a number is larger. */
export function shortNumber(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 1 ? 2 : 3;
  return String(Number(value.toFixed(digits)));
}

/** One round has no spread. */
const withSpread = ({ median, q1, q3, rounds }: Summary) =>
  rounds === 1 ? shortNumber(median) : `${shortNumber(median)} (${shortNumber(q1)}–${shortNumber(q3)})`;

const goalText = ({ of, is, limit }: Goal, unit: string) =>
  `${is === 'at least' ? '≥' : '≤'} ${limit}${of === 'ratio' ? ' × floor' : ` ${unit}`}`;

/** A measure in one line: for the terminal and the page's tables. */
export function measureCells({ name, unit, goal, ours, floor, ratio, verdict }: MeasureResult): string[] {
  return [
    `${name}, ${unit}`,
    withSpread(ours),
    floor === null ? '–' : withSpread(floor),
    ratio === null ? '–' : withSpread(ratio),
    goal === null ? '–' : goalText(goal, unit),
    verdict === 'no goal' ? '–' : verdict,
  ];
}

/** Cells padded to columns, for a terminal. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

export const CELL_NAMES = ['measure', 'Berth', 'floor', 'ratio', 'goal', 'verdict'];
/** Of two checkouts. */
export const COMPARED_NAMES = ['measure', 'B', 'A', 'B / A', 'goal', 'verdict'];

const tableLine = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
const table = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [head, head.map(() => '---'), ...rows].map(tableLine).join('\n');

const plotFile = (bench: string, { name }: Plot) => `${bench}-${name}.svg`;

function machineText(machine: Machine): string {
  const { commit, cpu, cores, memoryGib, kernel, node, postgresql, kubernetes, loadAverage } = machine;
  return `${commit === undefined ? '' : `Commit ${commit}. `}${cores} cores (${cpu}), ${memoryGib} GiB, ${kernel}; Node ${node}, PostgreSQL ${postgresql}, Kubernetes ${kubernetes}; load average at the start ${loadAverage}.`;
}

const roundsText = ({ measures }: BenchResult) => {
  const rounds = measures[0]?.ours.rounds ?? 0;
  return rounds === 1 ? '1 round' : `${rounds} rounds`;
};

/** The bench measures something else now, or says so in other words. */
function isOfBefore({ what, floor, n, measures }: BenchResult, bench: Judging | undefined): boolean {
  if (bench === undefined) return true;
  const names = measuresFor(bench, 'floor').map(({ name }) => name);
  const known = new Set(measures.map(({ name }) => name));
  return (
    names.length !== known.size ||
    names.some((name) => !known.has(name)) ||
    what !== describeBench(bench, n) ||
    floor !== bench.floor
  );
}

const OF_BEFORE =
  'Mind: the bench has changed since, in what it measures or in what it says of itself; this is what it was then.';

function section({ result, machine, command, date }: Entry, bench: Judging | undefined): string {
  const warning = busyWarning(machine);
  const parts = [
    `## ${result.name}`,
    `${result.what}${result.floor === null ? '' : ` Floor: ${result.floor}`}`,
    table(CELL_NAMES, result.measures.map(measureCells)),
    `\`${command}\`, ${date}, ${roundsText(result)}. ${machineText(machine)}`,
    ...(warning === null ? [] : [`Mind: ${warning}.`]),
    ...(isOfBefore(result, bench) ? [OF_BEFORE] : []),
    ...(result.failure === undefined ? [] : [`Mind: a round after these failed: ${result.failure}`]),
    ...(result.notes.length === 0 ? [] : [result.notes.map((note) => `- ${note}`).join('\n')]),
    ...result.plots.map((plot) => `![${plot.title}](${FOLDER}/${plotFile(result.name, plot)})`),
  ];
  return parts.join('\n\n');
}

/** What the design asks for, and the benches that tell it. */
export const ASKED_FOR: readonly (readonly [what: string, benches: readonly string[]])[] = [
  ['1,000 deployments without pods, beside the same writes: 1.25 times', ['converge']],
  ['1,000 with one pod each, beside `kubectl apply`: 1.1 times', ['converge-pods']],
  ['POST until the Deployment is visible: 40, 150 and (a burst at 20 POST/s) 500 ms', ['visible']],
  ['available until the API shows DEPLOYED: 250 ms', ['deployed']],
  ['writes of a creation, a new image, nothing', ['writes']],
  ['5,000 at rest: no read, no write, 1 % of a core', ['steady']],
  ['a restart beside 5,000: 5 s beyond the lists, no write', ['restart']],
  ['a child deleted by hand: 1 s', ['drift']],
  [
    'POST, GET, LIST beside bare fastify and pg: 0.85, 0.9, 0.9 of the rate',
    ['api-post', 'api-get', 'api-list'],
  ],
  [
    'memory beside 5,000: 256 MiB, at rest and after a start; 1 MiB an hour while watches break',
    ['steady', 'restart', 'soak'],
  ],
  ['100, 1,000, 5,000: the time of a deployment does not grow', ['growth', 'two-sizes']],
  ['one tenant beside another that creates 1,000: 2 times', ['fairness', 'api-fairness']],
  ['several API processes share the load', ['api-replicas']],
  ['100 listeners that poll, of which none is given what is for another', ['listeners-poll']],
];

const NOT_RUN = 'not run yet';

/** What was not run yet has no section. */
function rowsAskedFor(entries: readonly Entry[]): string[][] {
  const known = new Set(entries.map(({ result }) => result.name));
  const told = (name: string) => (known.has(name) ? `[${name}](#${name})` : `${name} (${NOT_RUN})`);
  return ASKED_FOR.map(([what, benches]) => [what, benches.map(told).join(', ')]);
}

/** Processors that the entries were measured on, and from when to when. */
function where(entries: readonly Entry[]): string {
  const dates = entries.map(({ date }) => date).toSorted();
  const machines = [...new Set(entries.map(({ machine }) => machine.cpu))].toSorted();
  if (machines.length === 0) return 'None was run yet.';
  return `The oldest is of ${dates[0]}, the newest of ${dates.at(-1)}; processors: ${machines.join(', ')}.`;
}

const head = (entries: readonly Entry[]) => `# Benchmarks

Made by \`npm run bench -- NAME --write\` from [${FOLDER}/${RESULTS}](${FOLDER}/${RESULTS}); do not edit by hand. Goals and verdicts
are by the goals that the benches have now (\`npm run docs\` judges anew), in the JSON by those of the day of a measure.
[CONTRIBUTING.md](../CONTRIBUTING.md#benchmarks) has the commands that make the whole page, how long they take, and how a change
is judged.

${table(['what is asked for', 'bench'], rowsAskedFor(entries))}

**How to read a ratio.** The benches below need not be of one day, machine or commit: each names its own.
${where(entries)}
A virtual machine may be half as quick in one hour as in another. So what has a floor is measured beside it, in rounds that take
turns, and a ratio is that of one round. Times do not travel at all; ratios do better, but they also differ by tenths where one
side waits for a disk and the other for a processor, or where all processors are full
([performance-goals.md](performance-goals.md) has what was seen on which machine).

**Rounds.** Those of the cluster begin in a new Kubernetes, after some deployments that do not count, every other one with the
other side. But \`writes\`, \`deployed\` and \`drift\` have one Kubernetes for all their rounds; of \`writes\` the first does not
count, as of those of the API; and Berth in \`growth\`, \`restart\`, \`soak\`, \`steady\` and \`two-sizes\` is in a
world that is filled once a run.
Rounds of the API keep their order, so that each side has been at rest for about as long as the other one, and those of
\`api-get\`, \`api-list\` and \`api-post\` are shared among two or four starts, every other one in the other order.
Numbers are medians, with the quartiles in brackets where there was more than one round.

**The machine.** Everything runs on one: Berth, the floor, PostgreSQL, the load and, where there is one, the cluster share its
cores. Commits wait for the disk (\`fsync\` and \`synchronous_commit\` as PostgreSQL has them by default, on; but for what the hub
notes as it hands out work, which is done again if it is lost).

**Words.** *Roles* are the processes of Berth: API (the *hub*), listener, operator. A deployment is *settled* when nothing is left
to do for it. kwok plays nodes and pods; the *proxy* stands between roles and API server, and counts. The others, and where the
time goes where a goal is missed, are in [performance-goals.md](performance-goals.md), decisions in
[decisions](decisions/README.md) by their number. \`too few\`: the goal is for more than there were.`;

/** What a stored result is judged by, and held against. */
export type Judging = Pick<Bench, 'name' | 'what' | 'floor' | 'measures' | 'goalsFrom'>;

/**
 * A result by the goals that its bench has now: a goal that changes does not wait for the next hour of measuring. A measure
 * that there is no more, or that is told in another unit, stays as it was judged when it was taken.
 */
export function judgedAnew(result: BenchResult, benches: readonly Judging[]): BenchResult {
  const bench = benches.find(({ name }) => name === result.name);
  if (bench === undefined) return result;
  const measures = result.measures.map((measure): MeasureResult => {
    const now = bench.measures.find(({ name, unit }) => name === measure.name && unit === measure.unit);
    if (now === undefined) return measure;
    const { goal = null } = now;
    return { ...measure, goal, verdict: judge(goal, measure, isAtSize(bench, result.n)) };
  });
  return { ...result, measures };
}

/** The goals of a bench: what came of them, or that it did not measure them yet when it was last run, or was not run at all. */
function goalRows(name: string, measures: readonly Measure[], result: BenchResult | undefined): string[][] {
  const known = result?.measures ?? [];
  const link = result === undefined ? name : `[${name}](#${name})`;
  const isKnown = (measure: string) => known.some((each) => each.name === measure);
  const missing = measures.flatMap(({ name: measure, unit, goal }) =>
    goal === undefined || isKnown(measure)
      ? []
      : [[link, `${measure}, ${unit}`, '–', '–', '–', goalText(goal, unit), NOT_RUN]],
  );
  const told = known.filter(({ goal }) => goal !== null).map((measure) => [link, ...measureCells(measure)]);
  return [...told, ...missing];
}

/**
 * The page, from what was measured.
 * @param benches those that there are now, whose goals count
 */
export function benchmarksPage(stored: readonly Entry[], benches: readonly Judging[]): string {
  const entries = stored.map((entry) => ({ ...entry, result: judgedAnew(entry.result, benches) }));
  const results = new Map(entries.map(({ result }) => [result.name, result]));
  const current = new Map(benches.map((bench) => [bench.name, bench]));
  // Also of benches that there are no more.
  const names = new Set([...results.keys(), ...current.keys()]);
  const goals = [...names]
    .toSorted()
    .flatMap((name) => goalRows(name, current.get(name)?.measures ?? [], results.get(name)));
  const overview = goals.length === 0 ? [] : ['## Goals', table(['bench', ...CELL_NAMES], goals)];
  const sections = entries.map((entry) => section(entry, current.get(entry.result.name)));
  return `${[head(entries), ...overview, ...sections].join('\n\n')}\n`;
}

/** Results that are written down; none where there is no file yet. */
export function readEntries(docs: string): Entry[] {
  const path = join(docs, FOLDER, RESULTS);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Entry[]) : [];
}

/**
 * Replaces what was measured anew, keeps the rest, and writes JSON, plots and page.
 * @param benches those that there are now, whose goals count
 */
export function writeReport(docs: string, measured: readonly Entry[], benches: readonly Judging[]): void {
  const names = new Set(measured.map(({ result }) => result.name));
  const kept = readEntries(docs).filter(({ result }) => !names.has(result.name));
  const entries = [...kept, ...measured].toSorted((a, b) => (a.result.name < b.result.name ? -1 : 1));
  mkdirSync(join(docs, FOLDER), { recursive: true });
  writeFileSync(join(docs, FOLDER, RESULTS), `${JSON.stringify(entries, null, 2)}\n`);
  for (const { result } of measured) {
    for (const plot of result.plots)
      writeFileSync(join(docs, FOLDER, plotFile(result.name, plot)), drawPlot(plot));
  }
  writeFileSync(join(docs, PAGE), benchmarksPage(entries, benches));
}
