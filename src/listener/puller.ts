import { MAX_WAIT_SECONDS, MAX_WORK_ITEMS } from '../contract/listener-protocol.ts';
import { sleep } from '../kube/clock.ts';
import { backOff, type HubFailureOptions } from './hub-backoff.ts';
import type { HubClient } from './hub-client.ts';
import type { WorkTable } from './work-table.ts';

export interface PullerOptions extends HubFailureOptions {
  hub: Pick<HubClient, 'work'>;
  table: Pick<WorkTable, 'add' | 'size' | 'waitForRoom' | 'wake'>;
  /** Whether the cluster answers: work is left with the hub while it does not. */
  isReachable: () => boolean;
  /** Fires: take no more. */
  signal: AbortSignal;
}

/** Items kept here at most: enough for the workers until the next answer. */
const MOST_ITEMS = 2 * MAX_WORK_ITEMS;
const UNREACHABLE_PAUSE_MS = 1000;
const RETRY = { baseMs: 300, capMs: 10_000 };

/** Asks the hub for work, again and again, and fills the table with it. */
export async function pullWork(options: PullerOptions): Promise<void> {
  const { hub, table, term, signal, clock } = options;
  signal.addEventListener('abort', () => table.wake(), { once: true });
  let failures = 0;
  while (!signal.aborted) {
    const room = MOST_ITEMS - table.size;
    if (room < MAX_WORK_ITEMS) {
      await table.waitForRoom();
      continue;
    }
    if (!options.isReachable()) {
      await sleep(clock, UNREACHABLE_PAUSE_MS, signal);
      continue;
    }
    try {
      const query = { epoch: term.epoch, waitSeconds: MAX_WAIT_SECONDS, limit: MAX_WORK_ITEMS };
      for (const item of await hub.work(query, { signal })) table.add(item);
      failures = 0;
    } catch (error) {
      failures += 1;
      await backOff('get work', error, failures, RETRY, options, signal);
    }
  }
}
