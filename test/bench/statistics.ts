/** What many rounds of a measure say together. Pure. */

/** Of several values of one measure, in its unit. */
export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  /** Quartiles: half of the rounds lie between them. */
  readonly q1: number;
  readonly q3: number;
  readonly rounds: number;
  /** By round; absent in results of before 2026-11-28. */
  readonly values?: readonly number[];
}

/**
 * The value below which a share of the values lies, between two neighbours in proportion.
 * @param sorted ascending, at least one
 * @param share 0 to 1
 */
export function quantile(sorted: readonly number[], share: number): number {
  const at = (sorted.length - 1) * share;
  const below = sorted[Math.floor(at)];
  const above = sorted[Math.ceil(at)];
  if (below === undefined || above === undefined) throw new Error('failed to summarise: there are no values');
  return below + (above - below) * (at - Math.floor(at));
}

/** @throws Error without any value, or with one that is no number */
export function summarise(values: readonly number[]): Summary {
  if (!values.every(Number.isFinite))
    throw new Error(`failed to summarise: no number among ${values.join(', ')}`);
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => quantile(sorted, share);
  const spread = { median: at(0.5), min: at(0), max: at(1), q1: at(0.25), q3: at(0.75) };
  return { ...spread, rounds: values.length, values: [...values] };
}

/** What a measure is held against. */
export interface Goal {
  /** `ratio`: ours to the floor's, of the same round; `value`: ours itself, in its unit. */
  readonly of: 'ratio' | 'value';
  readonly is: 'at least' | 'at most';
  readonly limit: number;
}

/** `no floor`: the goal is a ratio, and there was nothing to divide by. `too few`: it is a goal for more than there were. */
export type Verdict = 'reached' | 'missed' | 'too few' | 'no floor' | 'no goal';

/**
 * Whether the median reaches the goal.
 * @param isAtSize there was as much of it as the goal is for
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
 * Ours to the floor's, round by round: what disturbs the machine disturbs both sides of a round.
 * @returns by round; undefined where there is nothing to divide by, or less: of an increase that is none nothing is a multiple
 */
export function ratios(ours: readonly number[], floor: Values): (number | undefined)[] {
  return ours.map((value, round) => {
    const against = floor[round];
    return against === undefined || against <= 0 ? undefined : value / against;
  });
}
