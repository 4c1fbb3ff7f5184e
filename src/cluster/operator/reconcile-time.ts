import type { Clock } from '../kube/client/clock.ts';

/**
 * The time of a look by both clocks. What lives in memory alone is told by the one that nobody sets: a wall clock that was
 * set back would hold it up for as long. What the cluster holds is told by the wall clock.
 */
export interface LookTime {
  /** ms since the epoch. */
  readonly date: number;
  /** ms of the clock that only goes on. */
  readonly ticks: number;
}

export function lookTime(clock: Pick<Clock, 'now' | 'date'>): LookTime {
  return { date: clock.date().getTime(), ticks: clock.now() };
}

/** A moment of the clock that only goes on, as the wall clock has it now. */
export function asDate(ticks: number, time: LookTime): number {
  return time.date + (ticks - time.ticks);
}
