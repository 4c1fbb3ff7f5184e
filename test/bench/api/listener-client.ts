/** A listener as the hub sees it: holds its lease, waits for work, says that it was applied. It has no cluster. */
import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig } from '../../../src/config/index.ts';
import { MAX_WAIT_SECONDS, type WorkItem } from '../../../src/contract/protocol/work-protocol.ts';
import { call } from './bodies.ts';

export interface ListenerClient {
  /** Polls that were answered. */
  readonly polls: number;
  /** Rejects when it cannot go on, so that nobody waits for its items. */
  readonly running: Promise<unknown>;
  stop(): Promise<void>;
}

interface ListenerOptions {
  readonly url: string;
  readonly apiKey: string;
  readonly id: string;
  /** A work item has come. @param at performance.now() of its arrival */
  onItem(item: WorkItem, at: number): void;
}

/** As Berth's own listener. */
export const WAIT_SECONDS = MAX_WAIT_SECONDS;
const RENEW_EVERY_MS = 5000;

/** As an operator with Berth's defaults has it. */
const RENDERING = { ...loadConfig({}).rendering, kubernetesVersion: '1.36' };

/** Takes or renews the lease, and says how its cluster renders. @param epoch of the lease; null: it is taken */
export const takeLease = (
  { url, apiKey, id }: Omit<ListenerOptions, 'onItem'>,
  epoch: number | null = null,
) =>
  call<{ epoch: number }>(
    url,
    apiKey,
    'PUT',
    `/v2/listeners/${id}/lease`,
    JSON.stringify({ holder: 'bench', version: '0', cluster_version: 'v0', rendering: RENDERING, epoch }),
  );

/** Takes the lease and begins to poll. A failure is thrown by `stop`. */
export async function startListener({ url, apiKey, id, onItem }: ListenerOptions): Promise<ListenerClient> {
  const base = `/v2/listeners/${id}`;
  const ending = new AbortController();
  const { epoch } = await takeLease({ url, apiKey, id });
  let polls = 0;
  let seq = 0;

  const poll = async () => {
    while (!ending.signal.aborted) {
      const path = `${base}/work?epoch=${epoch}&wait_seconds=${WAIT_SECONDS}`;
      const { items } = await call<{ items: WorkItem[] }>(url, apiKey, 'GET', path, undefined, {
        signal: ending.signal,
      });
      const at = performance.now();
      polls += 1;
      for (const item of items) onItem(item, at);
      if (items.length === 0) continue;
      seq += 1;
      const reports = items.map(({ deployment_id, generation }) => ({
        kind: 'applied',
        deployment_id,
        generation,
      }));
      await call(url, apiKey, 'POST', `${base}/reports`, JSON.stringify({ epoch, seq, reports }));
    }
  };
  const renew = async () => {
    for (;;) {
      await sleep(RENEW_EVERY_MS, undefined, { signal: ending.signal });
      await takeLease({ url, apiKey, id }, epoch);
    }
  };
  /** Told to stop, it ends with the signal's error. */
  const untilStopped = async (work: Promise<void>) => {
    try {
      await work;
    } catch (error) {
      if (!ending.signal.aborted) throw error;
    }
  };
  const running = Promise.all([untilStopped(poll()), untilStopped(renew())]);
  // Whoever stops it is told.
  running.catch(() => undefined);
  return {
    running,
    get polls() {
      return polls;
    },
    async stop() {
      ending.abort();
      await running;
    },
  };
}
