import { performance } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * How much garbage the heap may hold beside what is in use, in percent of that. V8's own rule lets it grow to four times
 * as much where there is memory.
 */
const GARBAGE_PERCENT = 50;

const LOOK_MS = 10_000;
/** Share of the time in which something ran, up to which there is nothing to do. */
const IDLE_SHARE = 0.05;
const MIB = 1024 * 1024;
/** So much larger than after the last time, and so much beyond that, the heap has to be … */
const WORTH = { times: 1.5, beyond: 32 * MIB };
/** … or this long ago the last time: less may be in use by now, after a term of leadership or many deletions. */
const WORTH_AFTER_MS = 1_800_000;
/** A heap that is not larger is left alone. */
const SMALL = 64 * MIB;

type CollectAll = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

/**
 * Gives memory back to the system once there is nothing to do after a burst of work: V8 keeps the pages that it has once
 * had, for a heap that need never be as large again. It stops the process for as long as one whole collection takes, some
 * 100 ms with thousands of deployments: once a burst, and once in half an hour.
 * @param sparing the heap grows less in the burst, too. It is collected the more often: not for whom requests wait for.
 * @returns a function that ends it
 */
export function giveBackMemory({ sparing }: { readonly sparing: boolean }): () => void {
  if (sparing) setFlagsFromString(`--heap-growing-percent=${GARBAGE_PERCENT}`);
  // The one way to ask for it that needs no argument of the command line.
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as CollectAll;
  let after = 0;
  let collectedAt = performance.now();
  let before = performance.eventLoopUtilization();
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    const heap = getHeapStatistics().total_heap_size;
    const isLong = performance.now() - collectedAt > WORTH_AFTER_MS;
    const isWorth = heap > SMALL && (isLong || heap > after * WORTH.times + WORTH.beyond);
    if (utilization > IDLE_SHARE || !isWorth) return;
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    after = getHeapStatistics().total_heap_size;
    collectedAt = performance.now();
  }, LOOK_MS).unref();
  return () => clearInterval(timer);
}
