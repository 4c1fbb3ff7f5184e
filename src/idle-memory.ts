import { performance } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const LOOK_MS = 10_000;
/** Share of the time in which something ran, up to which there is nothing to do. */
const IDLE_SHARE = 0.05;

interface Thrift {
  /** Options of V8. */
  readonly flags: readonly string[];
  /** Looks in a row with nothing to do before the heap is collected. */
  readonly looks: number;
  /** It is collected once more, when the process has started. */
  readonly atStart: boolean;
}

/** The heap holds up to half as much garbage as what is in use. V8's own rule lets it grow to four times as much where there is memory. */
const SPARING: Thrift = { flags: ['--heap-growing-percent=50'], looks: 1, atStart: false };

/**
 * V8 does not collect by itself after eight seconds of rest; where it was about to, it does not take what is compiled. The
 * young generation has grown to its full size by then, for the modules: as large as it is, each of its collections makes
 * so much old that the whole heap is collected every other second while there is load. Collected at start it stays small.
 */
const SERVING: Thrift = {
  flags: ['--no-memory-reducer', '--no-memory-reducer-favors-memory'],
  looks: 30,
  atStart: true,
};

const MIB = 1024 * 1024;
/** So much larger than after the last time, and so much beyond that, the heap has to be … */
const WORTH = { times: 1.5, beyond: 32 * MIB };
/** … or this long ago the last time: less may be in use by now, after a term of leadership or many deletions. */
const WORTH_AFTER_MS = 1_800_000;
/** A heap that is not larger is left alone. */
const SMALL = 64 * MIB;

export interface GivingBack {
  /** The process has started, and nothing waits for it yet: what starting has left goes now. */
  started(): void;
  stop(): void;
}

type CollectAll = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

/**
 * Gives memory back to the system once there is nothing to do after a burst of work: V8 keeps the pages that it has once
 * had, for a heap that need never be as large again. It stops the process for as long as one whole collection takes, some
 * 100 ms with thousands of deployments: once a burst, and once in half an hour. What V8 has compiled of functions that
 * nothing calls goes with it: some ten thousand requests after it take up to twice their processor time.
 * @param sparing after ten seconds of rest, and the heap grows less in the burst, too: it is collected the more often. Not
 * for whom requests wait: there it is after five minutes, and not before by V8 itself either.
 */
export function giveBackMemory({ sparing }: { readonly sparing: boolean }): GivingBack {
  const { flags, looks, atStart } = sparing ? SPARING : SERVING;
  for (const flag of flags) setFlagsFromString(flag);
  // The one way to ask for it that needs no argument of the command line.
  setFlagsFromString('--expose-gc');
  const collectAll = runInNewContext('gc') as CollectAll;
  let quiet = 0;
  let after = 0;
  let collectedAt = performance.now();
  const collect = () => {
    collectAll({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    after = getHeapStatistics().total_heap_size;
    collectedAt = performance.now();
  };
  let before = performance.eventLoopUtilization();
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    quiet = utilization > IDLE_SHARE ? 0 : quiet + 1;
    if (quiet < looks) return;
    const heap = getHeapStatistics().total_heap_size;
    const isLong = performance.now() - collectedAt > WORTH_AFTER_MS;
    const isWorth = heap > SMALL && (isLong || heap > after * WORTH.times + WORTH.beyond);
    if (isWorth) collect();
  }, LOOK_MS).unref();
  return {
    started: () => {
      if (atStart) collect();
    },
    stop: () => clearInterval(timer),
  };
}
