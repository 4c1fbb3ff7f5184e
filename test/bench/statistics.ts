/** Statistics over the rounds of a measure. Pure. */

/** Several values of one measure, in its unit. */
export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  /** Quartiles: half of the rounds lie between them. */
  readonly q1: number;
  readonly q3: number;
  readonly rounds: number;
  /** Values by round. Absent in results before 2026-11-28. */
  readonly values?: readonly number[];
}

/**
 * The value below which a share of the values lies, with linear interpolation.
 * @param sorted ascending, at least one value
 * @param share from 0 to 1
 * @throws Error if there are no values
 */
export function quantile(sorted: readonly number[], share: number): number {
  const at = (sorted.length - 1) * share;
  const below = sorted[Math.floor(at)];
  const above = sorted[Math.ceil(at)];
  if (below === undefined || above === undefined) throw new Error('failed to summarise: there are no values');
  return below + (above - below) * (at - Math.floor(at));
}

/** @throws Error if there are no values, or a value is not finite */
export function summarise(values: readonly number[]): Summary {
  if (!values.every(Number.isFinite))
    throw new Error(`failed to summarise: a value is not a number: ${values.join(', ')}`);
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => quantile(sorted, share);
  const spread = { median: at(0.5), min: at(0), max: at(1), q1: at(0.25), q3: at(0.75) };
  return { ...spread, rounds: values.length, values: [...values] };
}

/** The goal of a measure. */
export interface Goal {
  /** `ratio`: the ratio of Berth to the floor in the same round. `value`: the value of Berth in its unit. */
  readonly of: 'ratio' | 'value';
  readonly is: 'at least' | 'at most';
  readonly limit: number;
}

/** `no floor`: the goal is a ratio, but the floor has no value. `too few`: n is too small for the goal. */
export type Verdict = 'reached' | 'missed' | 'too few' | 'no floor' | 'no goal';

/**
 * Whether the median reaches the goal.
 * @param isAtSize whether n is large enough for the goal
 */
export function judge(
  goal: Goal | null,
  { ours, ratio }: { readonly ours: Summary; readonly ratio: Summary | null },
  isAtSize = true,
): Verdict {
  if (goal === null) return 'no goal';
  if (!isAtSize) return 'too few';
  const judged = goal.of === 'value' ? ours : ratio;
  if (judged === null) return 'no floor';
  return (goal.is === 'at least' ? judged.median >= goal.limit : judged.median <= goal.limit)
    ? 'reached'
    : 'missed';
}

type Values = readonly (number | undefined)[];

/**
 * The ratios of Berth to the floor by round, because disturbances of the machine affect both sides of a round.
 * @returns by round; undefined if the value of the floor is absent, zero or negative
 */
export function ratios(ours: readonly number[], floor: Values): (number | undefined)[] {
  return ours.map((value, round) => {
    const against = floor[round];
    return against === undefined || against <= 0 ? undefined : value / against;
  });
}
