/** The result of a run: its last lines, and its section in docs/reliability.md. */
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { checkoutCommit } from '../checkout-commit.ts';
import { convergedSeconds } from './oracles/convergence.ts';
import { type FaultPlan, kindOf, PLAN_KINDS, type Verdict, type Violation } from './plan.ts';
import { shorten, writeSection } from './report-page.ts';
import type { RunResult } from './run.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SECTION = {
  begin: '<!-- results: written by npm run faults -- --write -->',
  end: '<!-- end of results -->',
};
/** Maximum number of lines that are printed for a violation. The verdict (--json) has all lines. */
const SHOWN_LINES = 30;
/** Maximum length of a figure. Figures can list many effects. */
const SHOWN_OF_FIGURE = 4_000;
const SHOWN = 300;

/** Number of plans, and of those that held and broke. */
export function countsOf({ verdicts }: Pick<RunResult, 'verdicts'>) {
  const held = verdicts.filter((verdict) => verdict.held).length;
  return { plans: verdicts.length, held, broken: verdicts.length - held };
}

/** The last line of every run. */
export function countLine(result: Pick<RunResult, 'verdicts'>): string {
  const { plans, held, broken } = countsOf(result);
  return `plans: ${plans}, held: ${held}, broken: ${broken}`;
}

/** How a run was started. With this information it can be repeated. */
export interface RunMade {
  /** The command line, without --write. */
  readonly command: string;
  /** Environment variables that configure plans, such as `FAULTS_SOAK_SECONDS=60`. */
  readonly settings: readonly string[];
  /** Undefined if the checkout is not a git repository. */
  readonly commit: string | undefined;
}

/** @param args arguments of the command line */
export function runMade(args: readonly string[], environment: NodeJS.ProcessEnv): RunMade {
  const typed = args.filter((arg) => arg !== '--write');
  return {
    command: ['npm run faults', ...(typed.length === 0 ? [] : ['--', ...typed])].join(' '),
    settings: Object.entries(environment)
      .filter(([name]) => name.startsWith('FAULTS_'))
      .map(([name, value]) => `${name}=${value}`)
      .sort(),
    commit: checkoutCommit(ROOT),
  };
}

/** A finished run, with the verdicts of later runs of some of its plans. */
export interface FinishedRun {
  readonly result: RunResult;
  readonly made?: RunMade;
  readonly day?: string;
  /** One line for each later run. */
  readonly later?: readonly string[];
}

/** Reads the JSON lines of a run. @throws Error if the last line is missing, or its count is wrong */
export function readRun(file: string): FinishedRun {
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as object);
  const last = lines.pop() as (RunResult & { plans?: number; made?: RunMade; day?: string }) | undefined;
  if (last?.plans !== lines.length)
    throw new Error(
      `${file}: the run is incomplete: there are ${lines.length} verdicts, but the last line counts ${last?.plans}`,
    );
  const { left, seconds, made, day } = last;
  const result = { verdicts: lines as unknown as Verdict[], left, seconds };
  return { result, ...(made === undefined ? {} : { made }), ...(day === undefined ? {} : { day }) };
}

/** Verdicts of later runs replace earlier verdicts, and add those of plans that an ended run has left out. */
export function withLater(first: FinishedRun, runs: readonly FinishedRun[]): FinishedRun {
  const newest = new Map(runs.flatMap(({ result }) => result.verdicts.map((one) => [one.plan, one])));
  const broken = new Set(first.result.verdicts.filter(({ held }) => !held).map(({ plan }) => plan));
  const later = runs.map(({ made, result: { verdicts } }) => {
    const before = verdicts.filter(({ plan }) => broken.has(plan)).map(({ plan }) => `\`${plan}\``);
    const list = before.length === 0 ? '' : `; broken before: ${before.join(', ')}`;
    return `Of these ${verdicts.length} by a later run: ${made === undefined ? '' : commandOf(made)}${list}.`;
  });
  const verdicts = [
    ...first.result.verdicts.map((verdict) => newest.get(verdict.plan) ?? verdict),
    ...first.result.left.flatMap((plan) => newest.get(plan) ?? []),
  ];
  const left = first.result.left.filter((plan) => !newest.has(plan));
  return { ...first, result: { ...first.result, verdicts, left }, later };
}

const commandOf = ({ command, settings, commit }: RunMade) =>
  `\`${shorten([...settings, command].join(' '), SHOWN)}\`${commit === undefined ? '' : ` at commit ${commit}`}`;

/** The lines to print below the message of a violation: the differences, and the end of the logs. */
export function beneath({ diff = [], logs = [] }: Violation): readonly string[] {
  const cut = (lines: readonly string[]) =>
    lines.length <= SHOWN_LINES
      ? lines
      : [...lines.slice(0, SHOWN_LINES), `… and ${lines.length - SHOWN_LINES} more lines`];
  return [...cut(diff), ...cut(logs)];
}

/** The last line has the counts. Plans that broke or were not run come before it. */
export function summary(result: RunResult): string[] {
  const broken = result.verdicts.flatMap(({ plan, held, violations: [first] }) => {
    if (held || first === undefined) return [];
    return [
      `broken: ${plan}: ${first.oracle}: ${first.message}`,
      ...beneath(first).map((line) => `  ${line}`),
    ];
  });
  const { left } = result;
  return [
    ...(left.length === 0 ? [] : [`left out: ${left.length}`, ...left.map((name) => `  ${name}`)]),
    ...broken,
    `${result.seconds} s`,
    countLine(result),
  ];
}

/** The slowest convergence after the last fault. Empty if it was not measured. */
function slowest(verdicts: readonly Verdict[]): string {
  const seconds = verdicts.flatMap(({ figures }) => figures.flatMap((line) => convergedSeconds(line) ?? []));
  return seconds.length === 0 ? '' : `${Math.max(...seconds).toFixed(1)} s`;
}

function table({ verdicts }: RunResult, plans: readonly FaultPlan[]): string[] {
  const rows = PLAN_KINDS.flatMap((kind) => {
    const count = plans.filter((plan) => kindOf(plan) === kind).length;
    const ran = verdicts.filter((verdict) => verdict.kind === kind);
    const held = ran.filter((verdict) => verdict.held).length;
    return count === 0 ? [] : [`| ${kind} | ${count} | ${held} | ${count - held} | ${slowest(ran)} |`];
  });
  return [
    '| kind | plans | held | broken | at the latest converged after |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
  ];
}

/** Figures of each plan. Those of O7 differ only in a number, so they are counted. */
function figureLines({ verdicts }: RunResult): string[] {
  const isO7 = (figure: string) => figure.startsWith('O7: ');
  const own = verdicts.flatMap(({ plan, figures }) =>
    figures
      .filter((figure) => convergedSeconds(figure) === undefined && !isO7(figure))
      .map((figure) => `- \`${plan}\`: ${shorten(figure, SHOWN_OF_FIGURE)}`),
  );
  const unmarked = verdicts.filter(({ figures }) => figures.some(isO7)).length;
  return unmarked === 0 ? own : [...own, `- O7: ${unmarked} plans have no marked object at their end`];
}

/** Every violation of a plan. */
function brokenLines({ plan, violations }: Verdict): string[] {
  const lines = violations.flatMap((violation) => [
    `${violation.oracle}: ${shorten(violation.message, SHOWN)}`,
    ...beneath(violation).map((line) => `  ${shorten(line, SHOWN)}`),
  ]);
  return [`Broken: \`${plan}\``, '', '```text', ...lines, '```', ''];
}

/** The current date (UTC), such as `2026-10-05`. */
export const today = () => new Date().toISOString().slice(0, 'yyyy-mm-dd'.length);

/** Replaces the results on the page by those of a run of all plans. */
export function writeResults(
  { result, made, day = today(), later = [] }: FinishedRun,
  plans: readonly FaultPlan[],
): void {
  const minutes = Math.round(result.seconds / 60);
  const command = made === undefined ? '`npm run faults`' : commandOf(made);
  const figures = figureLines(result);
  writeSection(SECTION, () => [
    `${command} on ${day}, ${cpus().length} processors, ${minutes} minutes: **${countLine(result)}**.`,
    ...later,
    '',
    ...table(result, plans),
    '',
    ...(figures.length === 0 ? [] : [...figures, '']),
    ...result.verdicts.filter(({ held }) => !held).flatMap(brokenLines),
  ]);
}
