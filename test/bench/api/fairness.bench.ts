import { EventEmitter, once } from 'node:events';
import { PLATFORM_LISTENER_ID } from '../../../src/domain/source.ts';
import type { Bench, Sample } from '../bench.ts';
import { startLoad } from '../load/load.ts';
import { quantile } from '../statistics.ts';
import { call, create, DEPLOYMENT_JSON, PATH } from './bodies.ts';
import { prepareHub } from './hub.ts';
import { type ListenerClient, startListener } from './listener-client.ts';
import { CONNECTIONS } from './measure.ts';

const CROWD = 1000;
const SINGLE = 20;

/** From before its POST until the answer, and until the listener had it. Milliseconds. */
interface Single {
  readonly posted: number;
  readonly delivered: number;
}

export const bench: Bench = {
  name: 'api-fairness',
  what: `One tenant creates {n} deployments over ${CONNECTIONS} connections; meanwhile another one creates one after the other. delivery: from before its POST until the listener that serves both has its work item. crowd: what the busy one gets meanwhile. The hub's part alone: what a cluster takes is not in it.`,
  floor: 'The same single creations, while nobody else creates any.',
  n: CROWD,
  goalsFrom: 1000,
  runs: 3,
  measures: [
    { name: 'delivery', unit: 'ms', goal: { of: 'ratio', is: 'at most', limit: 2 } },
    { name: 'delivery p90', unit: 'ms' },
    { name: 'POST', unit: 'ms' },
    { name: 'crowd', unit: 'req/s' },
  ],
  async start(context) {
    const crowd = context.n ?? CROWD;
    const hub = await prepareHub(context);
    const load = startLoad();
    let listener: ListenerClient | undefined;
    const stop = async () => {
      await load.stop();
      try {
        await listener?.stop();
      } finally {
        await hub.stop();
      }
    };
    try {
      const api = await hub.startApi('api');
      const admin = (path: string, body: object, more = {}) =>
        call<{ id: string; key: string }>(api.url, hub.apiKey, 'POST', path, JSON.stringify(body), more);
      const other = await admin('/v2/tenants', { name: 'other' });
      const scopes = ['deployments:read', 'deployments:write'];
      const { key } = await admin('/v2/api-keys', { name: 'other', scopes }, { tenantId: other.id });
      /** When each came first, of both tenants. */
      const seen = new Map<string, number>();
      const arrivals = new EventEmitter();
      const running = await startListener({
        url: api.url,
        apiKey: hub.apiKey,
        id: PLATFORM_LISTENER_ID,
        onItem: ({ deployment_id: id }, at) => {
          if (seen.has(id)) return;
          seen.set(id, at);
          arrivals.emit('item');
        },
      });
      listener = running;
      /** @throws Error when the listener cannot go on */
      const until = async (holds: () => boolean) => {
        while (!holds()) await Promise.race([once(arrivals, 'item'), running.running]);
      };
      let made = 0;
      const single = async (): Promise<Single> => {
        made += 1;
        const began = performance.now();
        const { id } = await create(api.url, key, `single-${made}`);
        const posted = performance.now() - began;
        await until(() => seen.has(id));
        return { posted, delivered: (seen.get(id) ?? Number.NaN) - began };
      };
      const sample = (values: readonly Single[]): Sample => {
        const delivered = values.map((each) => each.delivered).toSorted((a, b) => a - b);
        const posted = values.map((each) => each.posted).toSorted((a, b) => a - b);
        return {
          delivery: quantile(delivered, 0.5),
          'delivery p90': quantile(delivered, 0.9),
          POST: quantile(posted, 0.5),
        };
      };
      let rounds = 0;
      const beside = async (): Promise<Sample> => {
        rounds += 1;
        let over = false;
        const creating = load
          .run({
            url: api.url,
            method: 'POST',
            paths: [PATH],
            headers: { 'x-api-key': hub.apiKey },
            body: DEPLOYMENT_JSON,
            namePrefix: `crowd-${rounds}-`,
            requests: crowd,
            connections: CONNECTIONS,
            expected: 201,
          })
          .finally(() => {
            over = true;
          });
        // It is told by the await below.
        creating.catch(() => undefined);
        const values: Single[] = [];
        while (!over || values.length === 0) values.push(await single());
        const { seconds } = await creating;
        // What is left of the crowd is not beside those who come alone.
        await until(() => seen.size >= made + rounds * crowd);
        return { ...sample(values), crowd: crowd / seconds };
      };
      const alone = async (): Promise<Sample> => {
        const values: Single[] = [];
        while (values.length < SINGLE) values.push(await single());
        return sample(values);
      };
      return { ours: beside, floor: alone, stop };
    } catch (error) {
      await stop();
      throw error;
    }
  },
};
