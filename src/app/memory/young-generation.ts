import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Bytes of both of its halves together, at which it grows no more. V8's own limit is eight times as much. */
export const YOUNG_ROOM = 16 * 1024 * 1024;

/** What V8 multiplies it by; the latter is its own. */
const STAYS = 1;
const DOUBLES = 2;

export const youngBytes = () =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0;

/**
 * Keeps V8's young generation from growing once it has `YOUNG_ROOM`, from now on. V8 takes its limit at the start of a process
 * alone, from the command line; but how much it grows by, after one of its collections, is asked for each time: not at all once
 * it is as large. A whole collection makes it as small as it can be, and then it may grow again.
 * @returns ends that
 */
export function keepYoungSmall(): () => void {
  let growth = DOUBLES;
  const growBy = (factor: number) => {
    if (factor === growth) return;
    growth = factor;
    setFlagsFromString(`--semi-space-growth-factor=${factor}`);
  };
  const adapt = () => growBy(youngBytes() >= YOUNG_ROOM ? STAYS : DOUBLES);
  adapt();
  const collections = new PerformanceObserver(adapt);
  collections.observe({ entryTypes: ['gc'] });
  return () => {
    collections.disconnect();
    growBy(DOUBLES);
  };
}
