import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Sample } from '../bench.ts';
import { cpuShare, watchUsage } from '../process-usage.ts';
import { quantile } from '../statistics.ts';
import { call, create } from './bodies.ts';
import { prepareHub } from './hub.ts';
import { type ListenerClient, startListener } from './listener-client.ts';

const LISTENERS = 100;
const IDLE_MS = 5000;
const PERCENT = 100;
/** Twenty deployments a second. */
const EVERY_MS = 50;
const WAIT_MS = 60_000;

/** Waits for deployments that were made elsewhere to come to their listeners. */
function arrivals() {
  const arrived = new Map<string, number>();
  const waiting = new Map<string, () => void>();
  return {
    note(id: string, at: number) {
      arrived.set(id, at);
      waiting.get(id)?.();
    },
    /** When it came, as performance.now(). @throws Error when it does not */
    async of(id: string): Promise<number> {
      if (!arrived.has(id)) {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        waiting.set(id, resolve);
        const timer = setTimeout(() => reject(new Error(`failed to deliver the deployment ${id}`)), WAIT_MS);
        await promise.finally(() => clearTimeout(timer));
      }
      return arrived.get(id) ?? Number.NaN;
    },
  };
}

export const bench: Bench = {
  name: 'listeners-poll',
  what: `{n} listeners wait for work at one process of the API and renew their leases: first idle for ${IDLE_MS / 1000} s, then each gets one deployment, ${1000 / EVERY_MS} of them a second. delivery: from before the POST until the listener has the work item.`,
  floor: null,
  n: LISTENERS,
  runs: 3,
  measures: [
    { name: 'idle processor', unit: '% of a core' },
    { name: 'idle polls', unit: '/s' },
    { name: 'busy processor', unit: '% of a core' },
    { name: 'delivery p50', unit: 'ms' },
    { name: 'delivery p99', unit: 'ms' },
    { name: 'memory', unit: 'MiB' },
  ],
  async start(context) {
    const count = context.n ?? LISTENERS;
    const hub = await prepareHub(context);
    const listeners: ListenerClient[] = [];
    const came = arrivals();
    const stop = async () => {
      try {
        await Promise.all(listeners.map((listener) => listener.stop()));
      } finally {
        await hub.stop();
      }
    };
    try {
      const api = await hub.startApi('api');
      const ids: string[] = [];
      for (let index = 0; index < count; index += 1) {
        const body = JSON.stringify({ compute_id: `cluster-${index}` });
        const { id } = await call<{ id: string }>(api.url, hub.apiKey, 'POST', '/v2/listeners', body);
        ids.push(id);
        const onItem = (item: { deployment_id: string }, at: number) => came.note(item.deployment_id, at);
        listeners.push(await startListener({ url: api.url, apiKey: hub.apiKey, id, onItem }));
      }
      const polls = () => listeners.reduce((sum, listener) => sum + listener.polls, 0);
      let rounds = 0;
      const deliver = async (index: number): Promise<number> => {
        const began = performance.now();
        const made = await create(api.url, hub.apiKey, `delivered-${rounds}-${index}`, ids[index]);
        return (await came.of(made.id)) - began;
      };
      const round = async (): Promise<Sample> => {
        rounds += 1;
        const before = polls();
        const idle = watchUsage(api.pid);
        await sleep(IDLE_MS);
        const idlePoints = idle.stop();
        const idlePolls = polls() - before;
        const busy = watchUsage(api.pid);
        const deliveries: Promise<number>[] = [];
        for (const index of ids.keys()) {
          deliveries.push(deliver(index));
          await sleep(EVERY_MS);
        }
        const sorted = (await Promise.all(deliveries)).toSorted((a, b) => a - b);
        const busyPoints = busy.stop();
        return {
          'idle processor': cpuShare(idlePoints) * PERCENT,
          'idle polls': idlePolls / (IDLE_MS / 1000),
          'busy processor': cpuShare(busyPoints) * PERCENT,
          'delivery p50': quantile(sorted, 0.5),
          'delivery p99': quantile(sorted, 0.99),
          memory: busyPoints.at(-1)?.rssMib ?? 0,
        };
      };
      return { ours: round, stop };
    } catch (error) {
      await stop();
      throw error;
    }
  },
};
