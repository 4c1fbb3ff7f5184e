/**
 * Runs benches. A bench is a file `*.bench.ts` in this folder that exports `bench`. It starts Berth and its floor. The runner
 * then alternates rounds of both.
 */
import { measureRounds } from './rounds.ts';
import { type Goal, judge, ratios, type Summary, summarise, type Verdict } from './statistics.ts';

/** A value that each round measures. */
export interface Measure {
  /** Key in a Sample, and name in the report. */
  readonly name: string;
  /** Such as `req/s`, `ms`, `MiB`. */
  readonly unit: string;
  readonly goal?: Goal;
  /**
   * Where the measure is reported. `floor`: only with a floor, because it does not measure Berth. `compare`: only in a comparison
   * of checkouts, because with a floor the ratio shows the same. Absent: everywhere.
   */
  readonly only?: 'floor' | 'compare';
}

/** The values of one round of one side, by measure. */
export type Sample = Readonly<Record<string, number>>;

/** What a bench gets from the runner. */
export interface BenchContext {
  /** Folder of the measured checkout. */
  readonly root: string;
  /** The number of requests, rows or deployments. null: the default of the bench. */
  readonly n: number | null;
  /** Folder for CPU profiles of the measured Berth processes and of the floor of the API. null: no profiles. */
  readonly profiles: string | null;
  /**
   * In a comparison of two checkouts: which of them this is. No rounds of a floor run, and measures with `only: 'floor'` are not
   * used. Absent: Berth is measured with its floor.
   */
  readonly side?: 'A' | 'B';
  /** Reports progress. */
  log(line: string): void;
  /**
   * Starts a resource that benches of one run share, such as PostgreSQL. It is started once, and stopped at the end.
   * @param name name of the resource; equal names share it
   */
  shared<T extends { stop(): Promise<void> }>(name: string, start: () => Promise<T>): Promise<T>;
}

/** Berth and its floor, running. */
export interface Sides {
  /** Runs one round of Berth. */
  ours(): Promise<Sample>;
  /** Runs one round of the floor. Absent: there is no floor. A measure that the floor does not have gets no ratio. */
  readonly floor?: () => Promise<Sample>;
  /** Sizes and settings that a reader of the result needs. Called after the last round. */
  notes?(): readonly string[];
  /** Absent: nothing has to be stopped. */
  stop?(): Promise<void>;
}

/** A bench. */
export interface Bench {
  /** The name on the command line. */
  readonly name: string;
  /** What is measured and how, in one or two sentences. `{n}` stands for the number. */
  readonly what: string;
  /** The default number of requests, rows or deployments. */
  readonly n: number;
  /** The smallest number for which goals are judged. Absent: they apply to any number. */
  readonly goalsFrom?: number;
  /** What the floor does. null: there is no floor. */
  readonly floor: string | null;
  readonly measures: readonly Measure[];
  /** Default number of rounds of each side. */
  readonly runs: number;
  /** Whether each round starts a new world and warms it up. Then there is no separate warm-up round. */
  readonly fresh?: true;
  /** Whether the bench needs no separate warm-up round, because the start includes the warm-up or no warm-up is necessary. */
  readonly warmedUp?: true;
  /**
   * Number of rounds after which both sides are started again, approximately (see `measureRounds`). Absent: they start once. The
   * notes are those of the last start.
   */
  readonly roundsAStart?: number;
  /**
   * Whether the start is what is measured. Then there is only one round, because another one would have the same result. Two
   * checkouts cannot be compared, because the second one would start with the leftovers of the first.
   */
  readonly startIsMeasured?: true;
  /** Whether the bench uses the filled worlds that such benches of a run share. They stop after the last of these benches. */
  readonly besideMany?: true;
  /** Starts both sides. If it throws, it has stopped everything that it started. */
  start(context: BenchContext): Promise<Sides>;
}

/** The result of one measure. */
export interface MeasureResult {
  readonly name: string;
  readonly unit: string;
  readonly goal: Goal | null;
  readonly ours: Summary;
  /** null if the floor does not have this measure. */
  readonly floor: Summary | null;
  /** Ratios of the rounds, each with the floor's round of the same number. */
  readonly ratio: Summary | null;
  readonly verdict: Verdict;
}

/** The result of one bench. */
export interface BenchResult {
  readonly name: string;
  readonly what: string;
  readonly floor: string | null;
  /** The number of requests, rows or deployments. */
  readonly n: number;
  readonly measures: readonly MeasureResult[];
  readonly notes: readonly string[];
  /** Why there are fewer rounds than requested. Absent: all rounds ran. */
  readonly failure?: string;
}

/** The values of one measure, by round. */
const valuesOf = (samples: readonly Sample[], name: string) => samples.map((sample) => sample[name]);

const defined = (values: readonly (number | undefined)[]) => values.flatMap((value) => value ?? []);

/**
 * Summarizes one measure.
 * @param isLarge whether n is large enough for the goals
 * @throws Error if a round of Berth has no value of the measure
 */
export function resultOf(
  measure: Measure,
  ours: readonly Sample[],
  floor: readonly Sample[],
  isLarge = true,
): MeasureResult {
  const { name, unit, goal = null } = measure;
  const own = defined(valuesOf(ours, name));
  if (own.length !== ours.length) throw new Error(`failed to measure ${name}: a round has no value`);
  const each = defined(ratios(own, valuesOf(floor, name)));
  const against = defined(valuesOf(floor, name));
  const summary = summarise(own);
  const ratio = each.length === 0 ? null : summarise(each);
  return {
    name,
    unit,
    goal,
    ours: summary,
    floor: against.length === 0 ? null : summarise(against),
    ratio,
    verdict: judge(goal, { ours: summary, ratio }, isLarge),
  };
}

/** The measures that are reported with a floor, or in a comparison of checkouts. */
export const measuresFor = ({ measures }: Pick<Bench, 'measures'>, where: 'floor' | 'compare') =>
  measures.filter(({ only = where }) => only === where);

/** The description of a bench with its number. */
export const describeBench = ({ what }: Pick<Bench, 'what'>, n: number) =>
  what.replaceAll('{n}', n.toLocaleString('en'));

/** Whether n is large enough for the goals. */
export const isAtSize = ({ goalsFrom = 0 }: Pick<Bench, 'goalsFrom'>, n: number) => n >= goalsFrom;

/** The number of this run, and the description with this number. */
export function sizeOf(bench: Bench, context: BenchContext) {
  const n = context.n ?? bench.n;
  return { n, what: describeBench(bench, n) };
}

/** Starts, measures and stops one bench. */
export async function runBench(bench: Bench, context: BenchContext, runs = bench.runs): Promise<BenchResult> {
  const log = (line: string) => context.log(`${bench.name}: ${line}`);
  if (bench.startIsMeasured && runs > 1)
    log(`1 round instead of ${runs}, because the bench measures the start`);
  const asked = { runs: bench.startIsMeasured ? 1 : runs, log, profiles: context.profiles };
  let notes: readonly string[] = [];
  const { samples, ...failed } = await measureRounds(bench, asked, async () => {
    const sides = await bench.start({ ...context, log });
    return {
      rounds: sides.floor === undefined ? [sides.ours] : [sides.ours, sides.floor],
      ended: () => {
        notes = sides.notes?.() ?? [];
      },
      stop: async () => sides.stop?.(),
    };
  });
  const [ours = [], floor = []] = samples;
  const size = sizeOf(bench, context);
  return {
    name: bench.name,
    floor: bench.floor,
    ...size,
    ...failed,
    measures: measuresFor(bench, 'floor').map((measure) =>
      resultOf(measure, ours, floor, isAtSize(bench, size.n)),
    ),
    notes,
  };
}

/** Resources that benches share. */
export function sharedThings() {
  const things = new Map<string, Promise<{ stop(): Promise<void> }>>();
  return {
    shared<T extends { stop(): Promise<void> }>(name: string, start: () => Promise<T>): Promise<T> {
      const known = things.get(name) ?? start();
      things.set(name, known);
      return known as Promise<T>;
    },
    /** Stops all resources, or those with matching names, in reverse order. A later request starts a new one. */
    async stop(isOver: (name: string) => boolean = () => true): Promise<void> {
      for (const [name, thing] of [...things].reverse().filter(([each]) => isOver(each))) {
        things.delete(name);
        await thing.then((it) => it.stop()).catch(() => undefined);
      }
    },
  };
}
