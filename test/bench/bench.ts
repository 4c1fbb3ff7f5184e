/**
 * The frame of benchmarks. A bench is a file `*.bench.ts` below this folder that exports `bench`; nothing else needs to
 * know of it. It starts what it measures and the floor beside it; the frame runs rounds of both in turn.
 */
import { measureRounds } from './rounds.ts';
import { type Goal, judge, ratios, type Summary, summarise, type Verdict } from './statistics.ts';

/** One value that each round yields. */
export interface Measure {
  /** Its key in a Sample, and its name in the report. */
  readonly name: string;
  /** Such as `req/s`, `ms`, `MiB`. */
  readonly unit: string;
  readonly goal?: Goal;
  /**
   * Where it is told, if not everywhere: `floor`: it is of something else than Berth, which a comparison of checkouts is without;
   * `compare`: it holds Berth against itself, which beside a floor is the ratio.
   */
  readonly only?: 'floor' | 'compare';
}

/** What one round of one side yields: values by the name of the measure. */
export type Sample = Readonly<Record<string, number>>;

export interface BenchContext {
  /** Folder of the checkout whose Berth is measured. */
  readonly root: string;
  /** How much there is of whatever the bench counts; null: as the bench thinks right. */
  readonly n: number | null;
  /** Folder for CPU profiles of the Berth processes that are measured, and of the API's floor; null: none are made. */
  readonly profiles: string | null;
  /**
   * Two checkouts take turns, and this is the one or the other: no round of a floor is run, and no measure that is only
   * beside one is asked for. Absent: Berth is measured beside its floor.
   */
  readonly side?: 'A' | 'B';
  /** Tells what is going on. */
  log(line: string): void;
  /**
   * Something that benches of one run share, such as a PostgreSQL: started when first asked for, stopped at the end.
   * @param name of the thing; whoever names the same gets the same
   */
  shared<T extends { stop(): Promise<void> }>(name: string, start: () => Promise<T>): Promise<T>;
}

/** Both sides, running. */
export interface Sides {
  /** One round of Berth. */
  ours(): Promise<Sample>;
  /** One round of the floor; absent: the bench has none. A measure that it does not yield has no ratio. */
  readonly floor?: () => Promise<Sample>;
  /** What a reader of the result should know: sizes, settings. Asked for after the last round. */
  notes?(): readonly string[];
  /** Absent: nothing is left running between rounds. */
  stop?(): Promise<void>;
}

export interface Bench {
  /** As on the command line. */
  readonly name: string;
  /** What is measured, and how: a sentence or two. `{n}` stands for how much there is. */
  readonly what: string;
  /** How much there is of what it counts, unless the command line says. */
  readonly n: number;
  /** How much there has to be for its goals to be judged. Absent: they hold for any number. */
  readonly goalsFrom?: number;
  /** What the floor does; null: there is none. */
  readonly floor: string | null;
  readonly measures: readonly Measure[];
  /** Rounds of each side unless the command line says. */
  readonly runs: number;
  /** Each round begins in a world of its own, which it warms up by itself: there is none before that does not count. */
  readonly fresh?: true;
  /** Its start warms up, or nothing needs to be warm: there is no round before that does not count. */
  readonly warmedUp?: true;
  /**
   * Both sides are started anew for each so many rounds, or a few more; absent: once for all. See `measureRounds`. The notes are
   * those of the last start.
   */
  readonly roundsAStart?: number;
  /**
   * Its start is what it measures, of which there is one: a further round would tell the same again, and of two checkouts
   * the second one would start beside what the first one has left.
   */
  readonly startIsMeasured?: true;
  /** It shares the worlds that are filled for all such benches of a run, and end after the last of these. */
  readonly besideMany?: true;
  /** Starts both sides. What it has started when it throws, it has stopped. */
  start(context: BenchContext): Promise<Sides>;
}

/** What came of a measure. */
export interface MeasureResult {
  readonly name: string;
  readonly unit: string;
  readonly goal: Goal | null;
  readonly ours: Summary;
  /** null: the floor does not yield it. */
  readonly floor: Summary | null;
  /** Of the rounds, each with its own floor. */
  readonly ratio: Summary | null;
  readonly verdict: Verdict;
}

export interface BenchResult {
  readonly name: string;
  readonly what: string;
  readonly floor: string | null;
  /** How much there was of what it counts. */
  readonly n: number;
  readonly measures: readonly MeasureResult[];
  readonly notes: readonly string[];
  /** Why there are fewer rounds than were asked for; absent: there are not. */
  readonly failure?: string;
}

/** By round. */
const valuesOf = (samples: readonly Sample[], name: string) => samples.map((sample) => sample[name]);

const told = (values: readonly (number | undefined)[]) => values.flatMap((value) => value ?? []);

/**
 * A measure that our side does not yield in every round is a mistake of the bench.
 * @param isLarge there was as much of it as its goals are for
 */
export function resultOf(
  measure: Measure,
  ours: readonly Sample[],
  floor: readonly Sample[],
  isLarge = true,
): MeasureResult {
  const { name, unit, goal = null } = measure;
  const own = told(valuesOf(ours, name));
  if (own.length !== ours.length) throw new Error(`failed to measure ${name}: a round does not tell it`);
  const each = told(ratios(own, valuesOf(floor, name)));
  const against = told(valuesOf(floor, name));
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

/** Those that are told beside a floor, or in a comparison of checkouts. */
export const measuresFor = ({ measures }: Pick<Bench, 'measures'>, where: 'floor' | 'compare') =>
  measures.filter(({ only = where }) => only === where);

/** What is measured, of so many. */
export const describeBench = ({ what }: Pick<Bench, 'what'>, n: number) =>
  what.replaceAll('{n}', n.toLocaleString('en'));

/** There is as much of what it counts as its goals are for. */
export const isAtSize = ({ goalsFrom = 0 }: Pick<Bench, 'goalsFrom'>, n: number) => n >= goalsFrom;

/** What there is of a bench in this run: its number, and its description with it. */
export function sizeOf(bench: Bench, context: BenchContext) {
  const n = context.n ?? bench.n;
  return { n, what: describeBench(bench, n) };
}

/** Measures one bench from its start to its stop. */
export async function runBench(bench: Bench, context: BenchContext, runs = bench.runs): Promise<BenchResult> {
  const log = (line: string) => context.log(`${bench.name}: ${line}`);
  if (bench.startIsMeasured && runs > 1) log(`1 round in place of ${runs}: its start is what it measures`);
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

/** Things that benches share, and their end. */
export function sharedThings() {
  const things = new Map<string, Promise<{ stop(): Promise<void> }>>();
  return {
    shared<T extends { stop(): Promise<void> }>(name: string, start: () => Promise<T>): Promise<T> {
      const known = things.get(name) ?? start();
      things.set(name, known);
      return known as Promise<T>;
    },
    /** Last in, first out: all, or those of such names. Who asks for one afterwards gets a new one. */
    async stop(isOver: (name: string) => boolean = () => true): Promise<void> {
      for (const [name, thing] of [...things].reverse().filter(([each]) => isOver(each))) {
        things.delete(name);
        await thing.then((it) => it.stop()).catch(() => undefined);
      }
    },
  };
}
