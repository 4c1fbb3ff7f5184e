import { MAX_WAIT_SECONDS } from '../../../contract/protocol/work-protocol.ts';
import { sleep } from '../../kube/client/clock.ts';
import { backOff, type HubFailureOptions } from '../session/hub-backoff.ts';
import { type HubClient, HubError } from '../session/hub-client.ts';
import type { WorkTable } from './work-table.ts';

export interface PullerOptions extends HubFailureOptions {
  hub: Pick<HubClient, 'work'>;
  table: Pick<WorkTable, 'add' | 'size' | 'busy' | 'putBack' | 'waitForSlot' | 'wake'>;
  /** Whether the cluster responds. While the cluster does not respond, no work is pulled. */
  isReachable: () => boolean;
  /** Fires to stop the pull. */
  signal: AbortSignal;
}

/**
 * The hub hands out work in a fair order. The order covers only items that the listener has not pulled. Therefore the
 * listener holds no more items than its workers need until the next response. Items that wait for something in the
 * cluster are counted separately. Each call makes the hub search all due items, so a call asks for all free slots, and
 * usually for at least a full portion. At intervals, a call asks for less. In a slow cluster, the portion of one tenant
 * may take long, while an item of another tenant waits at the hub.
 */
const PORTION = 16;
const FEWEST = 4;
const FEW_EVERY_MS = 50;
const MAX_BUSY = 3 * PORTION;
const MAX_ITEMS = 200;
const UNREACHABLE_PAUSE_MS = 1000;
const RETRY = { baseMs: 300, capMs: 10_000 };

/** Pulls work from the hub and adds it to the table, until the signal fires. */
export async function pullWork(options: PullerOptions): Promise<void> {
  const { hub, table, term, signal, clock } = options;
  signal.addEventListener('abort', () => table.wake(), { once: true });
  let failures = 0;
  let lost = false;
  let answeredAt = clock.now();
  /** Wait time in milliseconds until the free slots suffice for a call. Infinite: current items must finish first. */
  const pauseFor = (freeSlots: number): number => {
    if (freeSlots >= PORTION) return 0;
    return freeSlots >= FEWEST ? answeredAt + FEW_EVERY_MS - clock.now() : Number.POSITIVE_INFINITY;
  };
  const waitForSlot = async (mostMs: number): Promise<void> => {
    if (!Number.isFinite(mostMs)) return await table.waitForSlot();
    const over = new AbortController();
    await Promise.race([table.waitForSlot(), sleep(clock, mostMs, over.signal)]);
    over.abort();
  };
  while (!signal.aborted) {
    const freeSlots = MAX_BUSY - table.busy;
    const pauseMs = pauseFor(freeSlots);
    if (pauseMs > 0) {
      await waitForSlot(pauseMs);
      continue;
    }
    if (table.size > MAX_ITEMS - PORTION) {
      // Items that hang must not block the items of other tenants.
      if (!table.putBack()) await table.waitForSlot();
      continue;
    }
    if (!options.isReachable()) {
      await sleep(clock, UNREACHABLE_PAUSE_MS, signal);
      continue;
    }
    try {
      const limit = Math.min(freeSlots, MAX_ITEMS - table.size);
      const query = { epoch: term.epoch, waitSeconds: MAX_WAIT_SECONDS, limit, lost };
      for (const item of await hub.work(query, { signal })) table.add(item);
      answeredAt = clock.now();
      failures = 0;
      lost = false;
    } catch (error) {
      failures += 1;
      // Without `lost`, the hub would hand the items of a lost response out again only after a minute.
      // guard: lost-work-handed-out-again
      lost = error instanceof HubError && error.kind === 'unavailable';
      await backOff('get work', error, failures, RETRY, options, signal);
    }
  }
}
