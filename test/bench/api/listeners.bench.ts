import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Sample } from '../bench.ts';
import { cpuShare, watchUsage } from '../process-usage.ts';
import { quantile } from '../statistics.ts';
import { call, create } from './bodies.ts';
import { prepareHub } from './hub.ts';
import { type ListenerClient, startListener, WAIT_SECONDS } from './listener-client.ts';

const LISTENERS = 100;
/** Two polls of each. */
const IDLE_SECONDS = 2 * WAIT_SECONDS;
const MS = 1000;
const PERCENT = 100;
/** Twenty deployments a second. */
const EVERY_MS = 50;
const WAIT_MS = 60_000;

/** Which listeners were given deployments that were made elsewhere, and when. */
export function arrivals(waitMs = WAIT_MS) {
  /** Times by listener, by deployment. */
  const given = new Map<string, Map<string, number>>();
  const wanted = new Map<string, string>();
  const waiting = new Map<string, () => void>();
  const checkOne = (id: string) => {
    const listener = wanted.get(id);
    const other = [...(given.get(id)?.keys() ?? [])].find((each) => each !== listener);
    if (other !== undefined)
      throw new Error(
        `failed to keep listeners apart: the deployment ${id} is for ${listener ?? 'none of them'}, and ${other} was given it`,
      );
  };
  return {
    /** A listener was given a deployment. It comes again until it is reported on: the first time counts. */
    note(id: string, listener: string, at: number) {
      const times = given.get(id) ?? new Map<string, number>();
      given.set(id, times);
      if (!times.has(listener)) times.set(listener, at);
      waiting.get(id)?.();
    },
    /**
     * When it came to the listener that it is for, as performance.now().
     * @throws Error when it does not, or comes to another one before
     */
    async of(id: string, listener: string): Promise<number> {
      wanted.set(id, listener);
      if (!given.has(id)) {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        waiting.set(id, resolve);
        const failed = () => reject(new Error(`failed to deliver the deployment ${id} to ${listener}`));
        const timer = setTimeout(failed, waitMs);
        await promise.finally(() => clearTimeout(timer));
      }
      checkOne(id);
      return given.get(id)?.get(listener) ?? Number.NaN;
    },
    /** @throws Error when a listener was ever given what is not for it, also after the right one was */
    check() {
      for (const id of given.keys()) checkOne(id);
    },
  };
}

export const bench: Bench = {
  name: 'listeners-poll',
  what: `{n} listeners wait for work at one process of the API and renew their leases: first idle for ${IDLE_SECONDS} s, then each gets one deployment for its own cluster, ${MS / EVERY_MS} of them a second; one that another listener is given ends the bench. idle polls: those that were answered while idle; a hub that holds each as long as it is asked to, ${WAIT_SECONDS} s, answers {n} / ${WAIT_SECONDS} a second, one that answers with nothing before that more. delivery: from before the POST until the listener has the work item.`,
  floor: null,
  n: LISTENERS,
  runs: 5,
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
      const clusterOf = (index: number) => `cluster-${index}`;
      for (let index = 0; index < count; index += 1) {
        const cluster = clusterOf(index);
        const body = JSON.stringify({ compute_id: cluster });
        const { id } = await call<{ id: string }>(api.url, hub.apiKey, 'POST', '/v2/listeners', body);
        ids.push(id);
        const onItem = (item: { deployment_id: string }, at: number) =>
          came.note(item.deployment_id, cluster, at);
        listeners.push(await startListener({ url: api.url, apiKey: hub.apiKey, id, onItem }));
      }
      const polls = () => listeners.reduce((sum, listener) => sum + listener.polls, 0);
      let rounds = 0;
      const deliver = async (index: number): Promise<number> => {
        const began = performance.now();
        const made = await create(api.url, hub.apiKey, `delivered-${rounds}-${index}`, ids[index]);
        return (await came.of(made.id, clusterOf(index))) - began;
      };
      const round = async (): Promise<Sample> => {
        rounds += 1;
        const before = polls();
        const idle = watchUsage(api.pid);
        await sleep(IDLE_SECONDS * MS);
        const idlePoints = idle.stop();
        const idlePolls = polls() - before;
        const busy = watchUsage(api.pid);
        const deliveries: Promise<number>[] = [];
        for (const index of ids.keys()) {
          const delivery = deliver(index);
          // Awaited below, once all are under way.
          delivery.catch(() => undefined);
          deliveries.push(delivery);
          await sleep(EVERY_MS);
        }
        const sorted = (await Promise.all(deliveries)).toSorted((a, b) => a - b);
        const busyPoints = busy.stop();
        came.check();
        return {
          'idle processor': cpuShare(idlePoints) * PERCENT,
          'idle polls': idlePolls / IDLE_SECONDS,
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
