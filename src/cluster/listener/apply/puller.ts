import { MAX_WAIT_SECONDS } from '../../../contract/protocol/work-protocol.ts';
import { sleep } from '../../kube/client/clock.ts';
import { backOff, type HubFailureOptions } from '../session/hub-backoff.ts';
import { type HubClient, HubError } from '../session/hub-client.ts';
import type { WorkTable } from './work-table.ts';

export interface PullerOptions extends HubFailureOptions {
  hub: Pick<HubClient, 'work'>;
  table: Pick<WorkTable, 'add' | 'size' | 'busy' | 'putBack' | 'waitForRoom' | 'wake'>;
  /** Whether the cluster answers: work is left with the hub while it does not. */
  isReachable: () => boolean;
  /** Fires: take no more. */
  signal: AbortSignal;
}

/**
 * The hub hands out in a fair order, which holds for what it still has: so no more is kept here to be done than the workers
 * need until the next answer. What waits for something to end counts apart. The hub looks through all that is due at each
 * call, so a call is for all that there is room for, and mostly for no less than a portion. For fewer every so often: when the
 * cluster is slow, one tenant's portion takes long to be done, and another one's item waits at the hub meanwhile.
 */
const PORTION = 16;
const FEWEST = 4;
const FEW_EVERY_MS = 50;
const MOST_BUSY = 3 * PORTION;
const MOST_ITEMS = 200;
const UNREACHABLE_PAUSE_MS = 1000;
const RETRY = { baseMs: 300, capMs: 10_000 };

/** Asks the hub for work, again and again, and fills the table with it. */
export async function pullWork(options: PullerOptions): Promise<void> {
  const { hub, table, term, signal, clock } = options;
  signal.addEventListener('abort', () => table.wake(), { once: true });
  let failures = 0;
  let lost = false;
  let answeredAt = clock.now();
  /** Until some room is enough to ask; infinite: more has to be done first. In milliseconds. */
  const pauseFor = (room: number): number => {
    if (room >= PORTION) return 0;
    return room >= FEWEST ? answeredAt + FEW_EVERY_MS - clock.now() : Number.POSITIVE_INFINITY;
  };
  const waitForRoom = async (mostMs: number): Promise<void> => {
    if (!Number.isFinite(mostMs)) return await table.waitForRoom();
    const over = new AbortController();
    await Promise.race([table.waitForRoom(), sleep(clock, mostMs, over.signal)]);
    over.abort();
  };
  while (!signal.aborted) {
    const room = MOST_BUSY - table.busy;
    const pauseMs = pauseFor(room);
    if (pauseMs > 0) {
      await waitForRoom(pauseMs);
      continue;
    }
    if (table.size > MOST_ITEMS - PORTION) {
      // What hangs must not keep others from their turn.
      if (!table.putBack()) await table.waitForRoom();
      continue;
    }
    if (!options.isReachable()) {
      await sleep(clock, UNREACHABLE_PAUSE_MS, signal);
      continue;
    }
    try {
      const limit = Math.min(room, MOST_ITEMS - table.size);
      const query = { epoch: term.epoch, waitSeconds: MAX_WAIT_SECONDS, limit, lost };
      for (const item of await hub.work(query, { signal })) table.add(item);
      answeredAt = clock.now();
      failures = 0;
      lost = false;
    } catch (error) {
      failures += 1;
      // What the hub may have handed out with an answer that did not arrive would come again after a minute.
      lost = error instanceof HubError && error.kind === 'unavailable';
      await backOff('get work', error, failures, RETRY, options, signal);
    }
  }
}
