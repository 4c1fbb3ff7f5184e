/** Results of benches: lines for the terminal, the stored file, and the table in docs/performance.md. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Bench, type BenchResult, isAtSize, type MeasureResult } from './bench.ts';
import type { Machine } from './machine.ts';
import { type Goal, judge, type Summary } from './statistics.ts';

/** A result with its circumstances. The stored results may come from several runs. */
export interface Entry {
  readonly result: BenchResult;
  readonly machine: Machine;
  /** The command line of the run. */
  readonly command: string;
  /** Date, ISO 8601. */
  readonly date: string;
}

/** Paths in the checkout. */
export const RESULTS = 'test/bench/results.json';
export const PAGE = 'docs/performance.md';

/** Three significant digits, and all digits before the decimal point. */
function shortNumber(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 1 ? 2 : 3;
  return String(Number(value.toFixed(digits)));
}

/** The median, with the quartiles if there is more than one round. */
const withSpread = ({ median, q1, q3, rounds }: Summary) =>
  rounds === 1 ? shortNumber(median) : `${shortNumber(median)} (${shortNumber(q1)}–${shortNumber(q3)})`;

const goalText = ({ of, is, limit }: Goal, unit: string) =>
  `${is === 'at least' ? '≥' : '≤'} ${limit}${of === 'ratio' ? ' × floor' : ` ${unit}`}`;

/** The cells of one measure, for the terminal and the table of the page. */
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

/** The part of a bench that defines its goals. */
export type Judging = Pick<Bench, 'name' | 'measures' | 'goalsFrom'>;

const NOT_MEASURED = ['–', '–', '–'];

/** One row for each goal of a bench, judged by the current goal. */
function goalRows(bench: Judging, entry: Entry | undefined): string[][] {
  const goals = bench.measures.flatMap(({ goal, ...measure }) =>
    goal === undefined ? [] : [{ ...measure, goal }],
  );
  return goals.map(({ name, unit, goal }) => {
    const stored = entry?.result.measures.find((measure) => measure.name === name && measure.unit === unit);
    if (entry === undefined || stored === undefined)
      return [bench.name, `${name}, ${unit}`, ...NOT_MEASURED, goalText(goal, unit), 'not measured', '–'];
    const verdict = judge(goal, stored, isAtSize(bench, entry.result.n));
    const where = `${entry.date}, ${entry.machine.cpu.replaceAll(/\(R\)| Processor/g, '')}`;
    return [bench.name, ...measureCells({ ...stored, goal, verdict }), where];
  });
}

const tableLine = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;

/** The goals of all benches and what was measured. */
export function goalTable(entries: readonly Entry[], benches: readonly Judging[]): string {
  const head = ['bench', ...CELL_NAMES, 'measured'];
  const byName = new Map(entries.map((entry) => [entry.result.name, entry]));
  const rows = benches.flatMap((bench) => goalRows(bench, byName.get(bench.name)));
  return [head, head.map(() => '---'), ...rows].map(tableLine).join('\n');
}

const BEGIN = '<!-- Table: generated from test/bench/results.json by `npm run docs`. Do not edit. -->';
const END = '<!-- End of the table. -->';

/** Replaces the table of the page. @throws Error if the page has no place for it */
export function withTable(page: string, table: string): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin)
    throw new Error(`failed to write the table: ${PAGE} has no lines "${BEGIN}" and "${END}"`);
  return `${page.slice(0, begin)}${BEGIN}\n${table}\n${page.slice(end)}`;
}

/** The page with a table of the stored results. */
export const performancePage = (root: string, benches: readonly Judging[]): string =>
  withTable(readFileSync(join(root, PAGE), 'utf8'), goalTable(readEntries(root), benches));

/** The stored results. Empty if there is no file. */
export function readEntries(root: string): Entry[] {
  const path = join(root, RESULTS);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Entry[]) : [];
}

/** Removes the values of single rounds, which only --json prints. */
const withoutRounds = (key: string, value: unknown) => (key === 'values' ? undefined : value);

/** Replaces the stored result of one bench, and writes the page again. */
export function writeReport(root: string, entry: Entry, benches: readonly Judging[]): void {
  const kept = readEntries(root).filter(({ result }) => result.name !== entry.result.name);
  const entries = [...kept, entry].toSorted((a, b) => (a.result.name < b.result.name ? -1 : 1));
  writeFileSync(join(root, RESULTS), `${JSON.stringify(entries, withoutRounds, 2)}\n`);
  writeFileSync(join(root, PAGE), performancePage(root, benches));
}
