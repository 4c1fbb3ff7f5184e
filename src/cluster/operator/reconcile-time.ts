import type { Clock } from '../kube/client/clock.ts';

/**
 * The time of a reconcile on two clocks. Times that exist only in memory use the monotonic clock, because a wall clock that
 * is set back would delay them. Times that the cluster stores use the wall clock.
 */
export interface ReconcileTime {
  /** The wall clock, in ms since the epoch. */
  readonly date: number;
  /** The monotonic clock, in ms. */
  readonly ticks: number;
}

export function reconcileTime(clock: Pick<Clock, 'now' | 'date'>): ReconcileTime {
  return { date: clock.date().getTime(), ticks: clock.now() };
}

/** Converts a time of the monotonic clock to the wall clock, in ms since the epoch. */
export function asDate(ticks: number, time: ReconcileTime): number {
  return time.date + (ticks - time.ticks);
}
