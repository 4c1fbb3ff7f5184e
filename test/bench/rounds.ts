/** Alternates rounds of several sides, so that disturbances of the machine affect all of them equally. */
import type { Bench, BenchContext, Sample } from './bench.ts';

type Round = () => Promise<Sample>;
type Kind = Pick<Bench, 'fresh' | 'warmedUp' | 'roundsAStart'>;

/** Running sides. */
export interface Started {
  readonly rounds: readonly Round[];
  /** Called after the last counted round of this start, even if a later round fails. */
  ended?(): void;
  stop(): Promise<void>;
}

/**
 * Whether a round has the reversed order. If each round starts new processes, every second round is reversed, so that both
 * sides find the machine in the same state equally often. Processes that continue from round to round keep their order, so
 * that each has the same pause. Otherwise each would run twice in succession half the time, and be faster because of warm
 * caches. Their order is reversed in every second start.
 */
const isReversed = ({ fresh }: Kind, { time, round }: { time: number; round: number }) =>
  (fresh ? round - 1 : time) % 2 === 1;

/**
 * Alternates rounds of all sides, after one round of each for the warm-up if necessary.
 * @param samples samples of each side, to which those of the rounds are added
 */
async function interleave(
  bench: Kind,
  sides: readonly Round[],
  samples: Sample[][],
  { time, runs, log }: { time: number; runs: number; log: (line: string) => void },
): Promise<void> {
  const order = [...sides.keys()];
  for (let round = bench.fresh || bench.warmedUp ? 1 : 0; round <= runs; round += 1) {
    log(round === 0 ? 'warming up' : `round ${round} of ${runs}`);
    for (const side of isReversed(bench, { time, round }) ? order.toReversed() : order) {
      const sample = await sides[side]?.();
      if (round > 0 && sample !== undefined) samples[side]?.push(sample);
    }
  }
}

/**
 * How often the sides are started: an even number, so that each order occurs equally often. Once for a single round, and with
 * profiles, because each start would create more files.
 */
function startsFor({ roundsAStart }: Kind, runs: number, isProfiled: boolean): number {
  if (isProfiled || roundsAStart === undefined || runs < 2) return 1;
  return 2 * Math.max(1, Math.floor(runs / (2 * roundsAStart)));
}

/** Whether the same side is first in every round. */
export const isOneOrder = (bench: Kind, runs: number, isProfiled: boolean): boolean =>
  runs < 2 || !(bench.fresh || startsFor(bench, runs, isProfiled) > 1);

/** Result of all rounds. */
export interface Rounds {
  /** The samples of each side. All sides have the same number. */
  readonly samples: Sample[][];
  /** Why there are fewer rounds than requested. Absent: all rounds ran. */
  readonly failure?: string;
}

/**
 * Measures `runs` rounds of all sides, distributed over several starts. Two processes of one program differ by some percent
 * during their whole life, because V8 optimizes them differently. If a round fails, the complete rounds before it are kept,
 * because they may have taken an hour.
 * @param start starts all sides; `time` is the number of earlier starts
 * @throws Error of the first round, if there is no complete round
 */
export async function measureRounds(
  bench: Kind,
  { runs, log, profiles }: { runs: number } & Pick<BenchContext, 'log' | 'profiles'>,
  start: (time: number) => Promise<Started>,
): Promise<Rounds> {
  const starts = startsFor(bench, runs, profiles !== null);
  const samples: Sample[][] = [];
  const complete = () => (samples.length === 0 ? 0 : Math.min(...samples.map((some) => some.length)));
  try {
    for (let time = 0; time < starts; time += 1) {
      if (starts > 1) log(`start ${time + 1} of ${starts}`);
      const started = await start(time);
      const before = complete();
      try {
        for (const side of started.rounds.keys()) samples[side] ??= [];
        // Distributed evenly, and `runs` in total.
        const share = Math.floor((runs + time) / starts);
        await interleave(bench, started.rounds, samples, { time, runs: share, log }).finally(() => {
          if (complete() > before) started.ended?.();
        });
      } finally {
        await started.stop();
      }
    }
    return { samples };
  } catch (error) {
    const rounds = complete();
    if (rounds === 0) throw error;
    const failure = error instanceof Error ? error.message : String(error);
    log(`a round failed after ${rounds} complete rounds: ${failure}`);
    return { samples: samples.map((some) => some.slice(0, rounds)), failure };
  }
}
