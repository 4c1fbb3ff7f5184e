/** What a run came to: its closing lines, and the section of docs/reliability.md. */
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkoutCommit } from '../checkout-commit.ts';
import { convergedSeconds } from './oracles/convergence.ts';
import { type FaultPlan, kindOf, PLAN_KINDS, type Verdict, type Violation } from './plan.ts';
import type { RunResult } from './run.ts';

const PAGE = fileURLToPath(new URL('../../docs/reliability.md', import.meta.url));
const BEGIN = '<!-- results: written by npm run faults -- --write -->';
const END = '<!-- end of results -->';

export function countsOf({ verdicts }: Pick<RunResult, 'verdicts'>) {
  const held = verdicts.filter((verdict) => verdict.held).length;
  return { plans: verdicts.length, held, broken: verdicts.length - held };
}

/** The last line of every run, whatever its form. */
export function countLine(result: Pick<RunResult, 'verdicts'>): string {
  const { plans, held, broken } = countsOf(result);
  return `plans: ${plans}, held: ${held}, broken: ${broken}`;
}

/** How a run was made: without it nobody can make it again. */
export interface RunMade {
  /** As it was typed, but for --write. */
  readonly command: string;
  /** Settings of plans by the environment, as `FAULTS_SOAK_SECONDS=60`. */
  readonly settings: readonly string[];
  /** Of the checkout; undefined: it is none of git's. */
  readonly commit: string | undefined;
  /** Later runs of some of its plans, whose verdicts count. */
  readonly again?: readonly RunAgain[];
}

export interface RunAgain {
  readonly made: RunMade;
  readonly plans: number;
  /** Those of them that had broken in a run before. */
  readonly broken: readonly string[];
}

/** What the program was called with, where, and at which commit. */
export function runMade(args: readonly string[], environment: NodeJS.ProcessEnv): RunMade {
  const told = args.filter((arg) => arg !== '--write');
  return {
    command: ['npm run faults', ...(told.length === 0 ? [] : ['--', ...told])].join(' '),
    settings: Object.entries(environment)
      .filter(([name]) => name.startsWith('FAULTS_'))
      .map(([name, value]) => `${name}=${value}`)
      .sort(),
    commit: checkoutCommit(join(dirname(PAGE), '..')),
  };
}

const howMade = ({ command, settings, commit }: RunMade) =>
  [`\`${[...settings, command].join(' ')}\``, ...(commit === undefined ? [] : [`at commit ${commit}`])].join(
    ' ',
  );

/** As many lines of what was found are told; all of them are in the verdict (--json). */
const TOLD_LINES = 30;

function cut(lines: readonly string[]): readonly string[] {
  const more = lines.length - TOLD_LINES;
  return more <= 0 ? lines : [...lines.slice(0, TOLD_LINES), `… and ${more} more lines`];
}

/** What stands beneath the message of a violation: how states differ, and what the processes said last. */
export const beneath = ({ diff = [], logs = [] }: Violation): readonly string[] => [
  ...cut(diff),
  ...cut(logs),
];

/** Its first violation, with how states differ, or else with what the processes said last. */
function brokenLines({ plan, violations: [first] }: Verdict): string[] {
  const { diff = [], logs = [] } = first ?? {};
  const found = cut(diff.length > 0 ? diff : logs);
  return [`broken: ${plan}: ${first?.oracle}: ${first?.message}`, ...found.map((line) => `  ${line}`)];
}

/** The last line counts; before it, what was broken with its first oracle, and what was left out. */
export function summary(result: RunResult): string[] {
  const broken = result.verdicts.filter(({ held }) => !held);
  return [
    ...(result.left.length === 0
      ? []
      : [`left out: ${result.left.length}`, ...result.left.map((name) => `  ${name}`)]),
    ...broken.flatMap(brokenLines),
    `${result.seconds} s`,
    countLine(result),
  ];
}

function table({ verdicts }: RunResult, plans: readonly FaultPlan[]): string[] {
  const rows = PLAN_KINDS.flatMap((kind) => {
    const ofKind = plans.filter((plan) => kindOf(plan) === kind);
    if (ofKind.length === 0) return [];
    const played = verdicts.filter((verdict) => verdict.kind === kind);
    const held = played.filter((verdict) => verdict.held).length;
    return [`| ${kind} | ${ofKind.length} | ${held} | ${ofKind.length - held} | ${slowest(played)} |`];
  });
  return [
    '| kind | plans | held | broken | at the latest converged after |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
  ];
}

/** The longest from a last fault to the end of what it brought about; empty: nothing of it is measured. */
function slowest(verdicts: readonly Verdict[]): string {
  const seconds = verdicts.flatMap(({ figures }) =>
    figures.flatMap((figure) => convergedSeconds(figure) ?? []),
  );
  return seconds.length === 0 ? '' : `${Math.max(...seconds).toFixed(1)} s`;
}

/** On one line; whole records and logs say nothing to a reader. */
const SHOWN = 300;
/** Figures are written for the page: names of effects are many. */
const SHOWN_OF_FIGURE = 4_000;
const line = (text: string, shown = SHOWN) => {
  const joined = text.replaceAll(/\s*\n\s*/g, ' ');
  return joined.length > shown ? `${joined.slice(0, shown)}…` : joined;
};

/** Every oracle that did not hold, with what was found instead. */
function told({ plan, violations }: Verdict): string[] {
  return [
    `Broken: \`${plan}\``,
    '',
    '```text',
    ...violations.flatMap((violation) => [
      `${violation.oracle}: ${line(violation.message)}`,
      ...beneath(violation).map((found) => `  ${line(found)}`),
    ]),
    '```',
    '',
  ];
}

/** As `2026-10-05`. */
export const today = () => new Date().toISOString().slice(0, 'yyyy-mm-dd'.length);

/** Of O7: what most plans say alike, but for a number. */
const OFTEN = /^O7: /;
const isOften = (figure: string) => OFTEN.test(figure);

/** What many plans tell alike, with how many; numbers in it differ. */
function oftenLines(verdicts: readonly Verdict[]): string[] {
  const texts = verdicts.flatMap(({ figures }) =>
    figures.filter(isOften).map((figure) => line(figure.replaceAll(/\d+(?= objects)/g, 'N'))),
  );
  return [...Map.groupBy(texts, (text) => text)].map(
    ([text, all]) => `- ${text}: ${all.length} ${all.length === 1 ? 'plan' : 'plans'}`,
  );
}

function figureLines({ verdicts }: RunResult): string[] {
  const own = verdicts.flatMap(({ plan, figures }) =>
    figures
      .filter((figure) => convergedSeconds(figure) === undefined && !isOften(figure))
      .map((figure) => `- \`${plan}\`: ${line(figure, SHOWN_OF_FIGURE)}`),
  );
  return [...own, ...oftenLines(verdicts)];
}

/** Which verdicts are of a later run, and which of these plans had broken before. */
function againLines(again: readonly RunAgain[]): string[] {
  return again.map(({ made, plans, broken }) => {
    const before =
      broken.length === 0 ? '' : `; broken before: ${broken.map((plan) => `\`${plan}\``).join(', ')}`;
    return `Of these ${plans} by a later run: ${howMade(made)}${before}.`;
  });
}

/** What docs/reliability.md says of a run of all plans. */
export function resultLines(
  result: RunResult,
  plans: readonly FaultPlan[],
  made: RunMade,
  day = today(),
): string[] {
  const minutes = Math.round(result.seconds / 60);
  const figures = figureLines(result);
  return [
    `${howMade(made)} on ${day}, ${cpus().length} processors, ${minutes} minutes: **${countLine(result)}**.`,
    ...againLines(made.again ?? []),
    '',
    ...table(result, plans),
    '',
    ...(figures.length === 0 ? [] : [...figures, '']),
    ...result.verdicts.filter(({ held }) => !held).flatMap(told),
  ];
}

/** Replaces the results on the page by those of this run, which was one of all plans. */
export function writeResults(
  result: RunResult,
  plans: readonly FaultPlan[],
  made: RunMade,
  day?: string,
): void {
  const page = readFileSync(PAGE, 'utf8');
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin === -1 || end < begin)
    throw new Error(`failed to write the results: ${PAGE} has no place for them`);
  const section = [BEGIN, ...resultLines(result, plans, made, day)].join('\n').trimEnd();
  writeFileSync(PAGE, `${page.slice(0, begin)}${section}\n${page.slice(end)}`);
}
