/** A run that has come to its end, from the JSON lines that it told. */
import { readFileSync } from 'node:fs';
import type { Verdict } from './plan.ts';
import type { RunAgain, RunMade } from './results.ts';
import type { RunResult } from './run.ts';

export interface FinishedRun {
  readonly result: RunResult;
  /** Absent: it was told before this was. */
  readonly made?: RunMade;
  /** As `2026-10-05`; absent as `made`. */
  readonly day?: string;
}

interface LastLine extends Pick<RunResult, 'left' | 'seconds'>, Pick<FinishedRun, 'made' | 'day'> {
  readonly plans: number;
}

const isLast = (line: object): line is LastLine => 'plans' in line && 'left' in line;

/**
 * What npm itself says before the first line is passed over.
 * @throws Error when the last line, which counts, is missing or counts other than there are
 */
export function parseRun(text: string): FinishedRun {
  const lines = text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as object);
  const last = lines.pop();
  if (last === undefined || !isLast(last))
    throw new Error('the run is not over: its last line does not count');
  const verdicts = lines as Verdict[];
  if (last.plans !== verdicts.length)
    throw new Error(`the last line counts ${last.plans} plans, and there are ${verdicts.length}`);
  const { left, seconds, made, day } = last;
  return {
    result: { verdicts, left, seconds },
    ...(made === undefined ? {} : { made }),
    ...(day === undefined ? {} : { day }),
  };
}

/** @throws Error as `parseRun`, and when there is no such file */
export const readRun = (file: string): FinishedRun => parseRun(readFileSync(file, 'utf8'));

const brokenOf = ({ result }: FinishedRun): string[] =>
  result.verdicts.flatMap(({ plan, held }) => (held ? [] : [plan]));

/** With the verdicts of later runs of some of its plans in the place of those before. */
export function withLater(
  first: FinishedRun,
  later: readonly FinishedRun[],
): FinishedRun & { again: readonly RunAgain[] } {
  const newest = new Map(later.flatMap(({ result }) => result.verdicts.map((one) => [one.plan, one])));
  const verdicts = first.result.verdicts.map((verdict) => newest.get(verdict.plan) ?? verdict);
  /** In any run so far. */
  const broken = new Set(brokenOf(first));
  const again = later.flatMap((one) => {
    const { made, result } = one;
    const plans = result.verdicts.map(({ plan }) => plan);
    const before = plans.filter((plan) => broken.has(plan));
    for (const plan of brokenOf(one)) broken.add(plan);
    return made === undefined ? [] : [{ made, plans: plans.length, broken: before }];
  });
  return { ...first, result: { ...first.result, verdicts }, again };
}
