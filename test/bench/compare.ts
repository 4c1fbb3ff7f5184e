/** The same bench with the Berth of two checkouts: how a change is judged. */
import { checkoutCommit } from '../checkout-commit.ts';
import {
  type Bench,
  type BenchContext,
  type BenchResult,
  measuresFor,
  resultOf,
  type Sides,
  sizeOf,
} from './bench.ts';
import { isOneOrder, measureRounds, type Started } from './rounds.ts';

/** @throws Error for a bench with which two checkouts cannot take turns */
function assertComparable({ name, startIsMeasured }: Bench): void {
  if (!startIsMeasured) return;
  throw new Error(
    `failed to compare with ${name}: its start is what it measures, so two checkouts cannot take turns: the second one would start beside what the first one has left. Run npm run bench -- ${name} in each of them, some times in turn, and hold their ratios against each other`,
  );
}

/**
 * Of the benches that were chosen, those with which two checkouts can take turns.
 * @param isNamed somebody asked for just these; otherwise the others are left out, and told
 * @throws Error for a named one with which they cannot
 */
export function comparable(
  benches: readonly Bench[],
  isNamed: boolean,
  log: (line: string) => void,
): readonly Bench[] {
  if (isNamed) benches.forEach(assertComparable);
  return benches.filter(({ name, startIsMeasured }) => {
    if (startIsMeasured) log(`${name}: left out, its start is what it measures`);
    return !startIsMeasured;
  });
}

/** One round of each tells nothing of their spread, and has one order: most benches of the cluster have no more by themselves. */
const LEAST_ROUNDS = 4;

/** Rounds of each checkout unless the command line says; with profiles as many as without a comparison. */
const comparedRounds = ({ runs }: Pick<Bench, 'runs'>, isProfiled: boolean) =>
  isProfiled ? runs : Math.max(runs, LEAST_ROUNDS);

/** A checkout's folder, with its commit. */
function placeOf({ root }: BenchContext): string {
  const commit = checkoutCommit(root);
  return commit === undefined ? root : `${root}, commit ${commit}`;
}

/**
 * Measures one bench with the Berth of two checkouts in turn: `floor` of the result is the first one, `ours` the second.
 * Where they are started more than once, each is the first in turn, also in the rounds. Goals are not judged.
 */
export async function compareBench(
  bench: Bench,
  contexts: readonly [BenchContext, BenchContext],
  runs = comparedRounds(bench, contexts[1].profiles !== null),
): Promise<BenchResult> {
  assertComparable(bench);
  const [first, second] = contexts;
  const log = (line: string) => second.log(`${bench.name}: ${line}`);
  const both = [
    { ...first, log, side: 'A' },
    { ...second, log, side: 'B' },
  ] as const;
  let told: readonly string[] = [];
  const startBoth = async (time: number): Promise<Started> => {
    await using stack = new AsyncDisposableStack();
    const sides: Sides[] = [];
    const order = time % 2 === 0 ? both : both.toReversed();
    for (const context of order) {
      const side = await bench.start(context);
      stack.defer(async () => side.stop?.());
      sides.push(side);
    }
    const rounds = sides.map(({ ours }) => ours);
    const running = stack.move();
    const ofB = sides[order.indexOf(both[1])];
    return {
      ended: () => {
        told = ofB?.notes?.() ?? [];
      },
      rounds: time % 2 === 0 ? rounds : rounds.toReversed(),
      stop: () => running.disposeAsync(),
    };
  };
  const { profiles } = second;
  const { samples, ...failed } = await measureRounds(bench, { runs, log, profiles }, startBoth);
  const [floor = [], ours = []] = samples;
  const measures = measuresFor(bench, 'compare').map(({ name, unit }) =>
    resultOf({ name, unit }, ours, floor),
  );
  const { n, what } = sizeOf(bench, second);
  const oneOrder =
    'A was the first one in each round: a small difference is to be asked for in the other order, too.';
  const notes = [
    `A: ${placeOf(first)}.`,
    `B: ${placeOf(second)}.`,
    ...(isOneOrder(bench, runs, profiles !== null) ? [oneOrder] : []),
    ...told,
  ];
  return { name: bench.name, what, floor: 'A, the first checkout', n, measures, notes, ...failed };
}
