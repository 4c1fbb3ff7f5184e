/** Rounds of several sides in turn: what comes of the machine, and of a process by chance, comes to all of them. */
import type { Bench, BenchContext, Sample } from './bench.ts';

type Round = () => Promise<Sample>;
type Kind = Pick<Bench, 'fresh' | 'warmedUp' | 'roundsAStart'>;

/** Sides that run. */
export interface Started {
  readonly rounds: readonly Round[];
  /** After the last round of this start that counts, also if one failed after it. */
  ended?(): void;
  stop(): Promise<void>;
}

/**
 * Whether a round goes the other way round. Where each begins anew every other one does: what one leaves to the machine,
 * each has. Sides that go on from round to round keep their order, so that each has been at rest for as long as the
 * others; if it changed, each would follow upon itself half the time, and a process that has just worked is the quicker by
 * what it still has compiled and at hand. They change it with every other start.
 */
const isTurned = ({ fresh }: Kind, { time, round }: { time: number; round: number }) =>
  (fresh ? round - 1 : time) % 2 === 1;

/**
 * Runs rounds of all sides in turn, after one of each that does not count, where one is needed.
 * @param samples of each side; rounds are added
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
    for (const side of isTurned(bench, { time, round }) ? order.toReversed() : order) {
      const sample = await sides[side]?.();
      if (round > 0 && sample !== undefined) samples[side]?.push(sample);
    }
  }
}

/**
 * How often the sides are started for so many rounds: an even number, so that each order has as many; once for one round, and for
 * profiles, of which each start would make others.
 */
function startsFor({ roundsAStart }: Kind, runs: number, isProfiled: boolean): number {
  if (isProfiled || roundsAStart === undefined || runs < 2) return 1;
  return 2 * Math.max(1, Math.floor(runs / (2 * roundsAStart)));
}

/** Whether one side is the first in every round. */
export const isOneOrder = (bench: Kind, runs: number, isProfiled: boolean): boolean =>
  runs < 2 || !(bench.fresh || startsFor(bench, runs, isProfiled) > 1);

export interface Rounds {
  /** Of each side its rounds, as many of each. */
  readonly samples: Sample[][];
  /** Why there are fewer than were asked for; absent: there are not. */
  readonly failure?: string;
}

/**
 * Measures `runs` rounds of all sides, shared among the more starts, the more there are: two processes of one program differ
 * by some hundredths for as long as they live, by what V8 has made of their youth. Rounds that were whole before one failed are
 * kept: they may be an hour's.
 * @param start starts all sides. @param time how many starts there were before
 * @throws what went wrong before there was a whole round
 */
export async function measureRounds(
  bench: Kind,
  { runs, log, profiles }: { runs: number } & Pick<BenchContext, 'log' | 'profiles'>,
  start: (time: number) => Promise<Started>,
): Promise<Rounds> {
  const starts = startsFor(bench, runs, profiles !== null);
  const samples: Sample[][] = [];
  const whole = () => (samples.length === 0 ? 0 : Math.min(...samples.map((some) => some.length)));
  try {
    for (let time = 0; time < starts; time += 1) {
      if (starts > 1) log(`start ${time + 1} of ${starts}`);
      const started = await start(time);
      const before = whole();
      try {
        for (const side of started.rounds.keys()) samples[side] ??= [];
        // As evenly as can be: they add up to `runs`.
        const share = Math.floor((runs + time) / starts);
        await interleave(bench, started.rounds, samples, { time, runs: share, log }).finally(() => {
          if (whole() > before) started.ended?.();
        });
      } finally {
        await started.stop();
      }
    }
    return { samples };
  } catch (error) {
    const rounds = whole();
    if (rounds === 0) throw error;
    const failure = error instanceof Error ? error.message : String(error);
    log(`a round failed after ${rounds} that count: ${failure}`);
    return { samples: samples.map((some) => some.slice(0, rounds)), failure };
  }
}
