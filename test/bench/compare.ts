/** Runs a bench with Berth from two checkouts, to judge a change. */
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

/** @throws Error for a bench in which two checkouts cannot alternate */
function assertComparable({ name, startIsMeasured }: Bench): void {
  if (!startIsMeasured) return;
  throw new Error(
    `failed to compare with ${name}: it measures the start, so two checkouts cannot alternate: the second one would start with the leftovers of the first. Run npm run bench -- ${name} in each of them several times in turn, and compare the ratios`,
  );
}

/**
 * The selected benches in which two checkouts can alternate.
 * @param isNamed whether the user has named the benches; if not, the others are skipped with a message
 * @throws Error for a named bench in which they cannot
 */
export function comparable(
  benches: readonly Bench[],
  isNamed: boolean,
  log: (line: string) => void,
): readonly Bench[] {
  if (isNamed) benches.forEach(assertComparable);
  return benches.filter(({ name, startIsMeasured }) => {
    if (startIsMeasured) log(`${name}: skipped, because it measures the start`);
    return !startIsMeasured;
  });
}

/** Minimum number of rounds. One round has no spread and only one order. Most benches with a cluster have one by default. */
const MIN_ROUNDS = 4;

/** Default number of rounds of each checkout. With profiles, it is that of the bench. */
const comparedRounds = ({ runs }: Pick<Bench, 'runs'>, isProfiled: boolean) =>
  isProfiled ? runs : Math.max(runs, MIN_ROUNDS);

/** The folder of a checkout, with its commit. */
function placeOf({ root }: BenchContext): string {
  const commit = checkoutCommit(root);
  return commit === undefined ? root : `${root}, commit ${commit}`;
}

/**
 * Measures one bench with two checkouts in turn. In the result, `floor` is the first checkout and `ours` the second. If they
 * are started several times, their order alternates. Goals are not judged.
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
  let notesOfB: readonly string[] = [];
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
        notesOfB = ofB?.notes?.() ?? [];
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
    'A was the first one in each round. To confirm a small difference, run the comparison in the other order too.';
  const notes = [
    `A: ${placeOf(first)}.`,
    `B: ${placeOf(second)}.`,
    ...(isOneOrder(bench, runs, profiles !== null) ? [oneOrder] : []),
    ...notesOfB,
  ];
  return { name: bench.name, what, floor: 'A, the first checkout', n, measures, notes, ...failed };
}
