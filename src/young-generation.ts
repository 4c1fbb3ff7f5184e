import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Bytes of both of its halves together. V8's own limit is four times as much. */
export const YOUNG_ROOM = 32 * 1024 * 1024;

export const youngBytes = () =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0;

/**
 * Keeps V8's young generation from growing beyond `YOUNG_ROOM`, from now on. V8 takes its limit at the start of a process
 * alone, from the command line; but how much it grows by, after one of its collections, is asked for each time: not at all once
 * it is as large. A whole collection makes it as small as it can be, and then it may grow again.
 * @returns ends that
 */
export function keepYoungSmall(): () => void {
  let growth = 2;
  const adapt = () => {
    const wanted = youngBytes() >= YOUNG_ROOM ? 1 : 2;
    if (wanted === growth) return;
    growth = wanted;
    setFlagsFromString(`--semi-space-growth-factor=${wanted}`);
  };
  adapt();
  const collections = new PerformanceObserver(adapt);
  collections.observe({ entryTypes: ['gc'] });
  return () => collections.disconnect();
}
