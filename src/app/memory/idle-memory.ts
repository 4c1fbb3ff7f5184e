import { performance } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { keepYoungSmall } from './young-generation.ts';

const LOOK_MS = 10_000;
/** Share of the time in which something ran, up to which there is nothing to do. */
const IDLE_SHARE = 0.05;

interface Thrift {
  /** An option of V8. */
  readonly flag: string;
  /** Looks in a row with nothing to do before the heap is collected. */
  readonly looks: number;
  /** It is collected once more, when the process has started. */
  readonly atStart: boolean;
  /** The young generation stops growing at 16 MiB. */
  readonly isYoungSmall: boolean;
  /** Bytes by which it is told whether a collection is worth it. */
  size(): number;
}

/**
 * The heap holds up to half as much garbage as what is in use. V8's own rule lets it grow to four times as much where there is
 * memory; and the young generation beside it, which lists fill within a second, to 128 MiB.
 */
const SPARING: Thrift = {
  flag: '--heap-growing-percent=50',
  looks: 1,
  atStart: false,
  isYoungSmall: true,
  size: () => getHeapStatistics().total_heap_size,
};

/**
 * What V8 collects by itself, after eight seconds of rest, does not take what is compiled. It keeps the pages then, beside
 * the heap: only what is resident tells of them. The young generation has grown to its full size at start, for the modules:
 * as large as it is, each of its collections makes so much old that the whole heap is collected every other second while
 * there is load. Collected then, it stays small.
 */
const SERVING: Thrift = {
  flag: '--no-memory-reducer-favors-memory',
  looks: 30,
  atStart: true,
  isYoungSmall: false,
  size: () => process.memoryUsage.rss(),
};

const MIB = 1024 * 1024;
/** So much larger than after the last time, and so much beyond that, the heap has to be. */
const WORTH = { times: 1.5, beyond: 32 * MIB };
/** Where objects are kept, less may be in use this long after the last time: after a term of leadership or many deletions. */
const ANYWAY_AFTER_MS = 1_800_000;
/** What is not larger is left alone. */
const SMALL = 64 * MIB;

/** What is seen of a process at one look. */
export interface Look {
  /** Share of the time since the look before in which something ran. */
  readonly utilization: number;
  /** Bytes of the whole heap, or of all that is resident. */
  readonly size: number;
  /** Milliseconds on any clock. */
  readonly now: number;
}

interface Rule {
  /** In a row with nothing to do, before anything is worth a collection. */
  readonly looks: number;
  /** Once in `ANYWAY_AFTER_MS` it is worth one though nothing has grown. */
  readonly keepsObjects: boolean;
}

/**
 * Decides when the heap is worth a collection.
 * @param startedAt on the clock of the looks
 */
export function collectionRule({ looks, keepsObjects }: Rule, startedAt: number) {
  let quiet = 0;
  let last = { size: 0, at: startedAt };
  return {
    isDue({ utilization, size, now }: Look): boolean {
      quiet = utilization > IDLE_SHARE ? 0 : quiet + 1;
      if (quiet < looks || size <= SMALL) return false;
      const isGrown = size > last.size * WORTH.times + WORTH.beyond;
      return isGrown || (keepsObjects && now - last.at > ANYWAY_AFTER_MS);
    },
    /** @param size what is left of it */
    collected({ size, now }: Pick<Look, 'size' | 'now'>): void {
      last = { size, at: now };
    },
  };
}

export interface GivingBack {
  /** The process has started, and hardly anything waits for it yet: what starting has left goes now. */
  started(): void;
  stop(): void;
}

/** What a process is for. */
interface Purpose {
  /**
   * It is after five minutes of rest, and what V8 collects before that leaves what is compiled. Otherwise after ten seconds,
   * and the heap grows less in the burst, too: it is collected the more often.
   */
  readonly requestsWait: boolean;
  /** The process keeps what it knows of a cluster. */
  readonly keepsObjects: boolean;
}

type CollectAll = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

/**
 * Gives memory back to the system once there is nothing to do after a burst of work: V8 keeps the pages that it has once
 * had, for a heap that need never be as large again. It stops the process for as long as one whole collection takes, some
 * 100 ms with thousands of deployments: once a burst, and once in half an hour where objects are kept. What V8 has
 * compiled of functions that nothing calls goes with it: some ten thousand requests after it take up to twice their
 * processor time.
 */
export function giveBackMemory({ requestsWait, keepsObjects }: Purpose): GivingBack {
  const { flag, looks, atStart, isYoungSmall, size } = requestsWait ? SERVING : SPARING;
  setFlagsFromString(flag);
  const letYoungGrow = isYoungSmall ? keepYoungSmall() : () => undefined;
  // The one way to ask for it that needs no argument of the command line.
  setFlagsFromString('--expose-gc');
  const collectAll = runInNewContext('gc') as CollectAll;
  const rule = collectionRule({ looks, keepsObjects }, performance.now());
  const collect = () => {
    collectAll({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    rule.collected({ size: size(), now: performance.now() });
  };
  let before = performance.eventLoopUtilization();
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    if (rule.isDue({ utilization, size: size(), now: performance.now() })) collect();
  }, LOOK_MS).unref();
  return {
    started: () => {
      if (atStart) collect();
    },
    stop: () => {
      clearInterval(timer);
      letYoungGrow();
    },
  };
}
