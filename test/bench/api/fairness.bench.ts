import { EventEmitter, once } from 'node:events';
import { PLATFORM_LISTENER_ID } from '../../../src/domain/deployment/source.ts';
import type { Bench, Sample, Sides } from '../bench.ts';
import type { Load, LoadResult } from '../load/load.ts';
import { quantile } from '../statistics.ts';
import { call, create, DEPLOYMENT_JSON, PATH } from './bodies.ts';
import type { ApiProcess, BenchHub } from './hub.ts';
import { startListener } from './listener-client.ts';
import { CONNECTIONS } from './measure.ts';
import { withHub } from './sides.ts';

const CROWD = 1000;
const SINGLE = 20;
const MS = 1000;

/** From before its POST until the answer, and until the listener had it. Milliseconds. */
interface Single {
  readonly posted: number;
  readonly delivered: number;
}

/** When the platform's listener was given each deployment first, whoever's. */
async function startDeliveries({ url }: ApiProcess, apiKey: string) {
  const seen = new Map<string, number>();
  const arrivals = new EventEmitter();
  const listener = await startListener({
    url,
    apiKey,
    id: PLATFORM_LISTENER_ID,
    onItem: ({ deployment_id: id }, at) => {
      if (seen.has(id)) return;
      seen.set(id, at);
      arrivals.emit('item');
    },
  });
  const ended = listener.running.then(() => {
    throw new Error('failed to wait for an item: the listener was stopped');
  });
  ended.catch(() => undefined);
  /** @throws Error when the listener cannot go on */
  const until = async (holds: () => boolean) => {
    while (!holds()) await Promise.race([once(arrivals, 'item'), ended]);
  };
  return {
    /** How many were delivered. */
    size: () => seen.size,
    polls: () => listener.polls,
    until,
    /** @returns performance.now() of its arrival */
    async of(id: string): Promise<number> {
      await until(() => seen.has(id));
      return seen.get(id) ?? Number.NaN;
    },
    stop: () => listener.stop(),
  };
}

/** The key of a tenant beside the one of the hub's key. */
async function otherTenant({ url }: ApiProcess, { apiKey }: BenchHub): Promise<string> {
  const admin = (path: string, body: object, more = {}) =>
    call<{ id: string; key: string }>(url, apiKey, 'POST', path, JSON.stringify(body), more);
  const { id: tenantId } = await admin('/v2/tenants', { name: 'other' });
  const scopes = ['deployments:read', 'deployments:write'];
  const { key } = await admin('/v2/api-keys', { name: 'other', scopes }, { tenantId });
  return key;
}

function sampleOf(values: readonly Single[]): Sample {
  const sorted = (of: keyof Single) => values.map((each) => each[of]).toSorted((a, b) => a - b);
  const delivered = sorted('delivered');
  return {
    delivery: quantile(delivered, 0.5),
    'delivery p90': quantile(delivered, 0.9),
    POST: quantile(sorted('posted'), 0.5),
  };
}

/** Runs `single` one after the other until the load is over, once at least. */
async function singlesBeside(
  creating: Promise<LoadResult>,
  single: () => Promise<Single>,
): Promise<{ values: Single[]; seconds: number }> {
  let isOver = false;
  const over = creating.finally(() => {
    isOver = true;
  });
  // It is told by the await below.
  over.catch(() => undefined);
  const values: Single[] = [];
  while (!isOver || values.length === 0) values.push(await single());
  const { seconds } = await over;
  return { values, seconds };
}

async function sidesOf(
  hub: BenchHub,
  load: Load,
  stack: AsyncDisposableStack,
  crowd: number,
): Promise<Omit<Sides, 'stop'>> {
  const api = await hub.startApi('api');
  const key = await otherTenant(api, hub);
  const deliveries = await startDeliveries(api, hub.apiKey);
  stack.defer(() => deliveries.stop());
  let made = 0;
  let rounds = 0;
  const single = async (): Promise<Single> => {
    made += 1;
    const began = performance.now();
    const { id } = await create(api.url, key, `single-${made}`);
    const posted = performance.now() - began;
    return { posted, delivered: (await deliveries.of(id)) - began };
  };
  const createCrowd = () =>
    load.run({
      url: api.url,
      method: 'POST',
      paths: [PATH],
      headers: { 'x-api-key': hub.apiKey },
      body: DEPLOYMENT_JSON,
      namePrefix: `crowd-${rounds}-`,
      requests: crowd,
      connections: CONNECTIONS,
      expected: 201,
    });
  return {
    async ours() {
      rounds += 1;
      const polls = deliveries.polls();
      const { values, seconds } = await singlesBeside(createCrowd(), single);
      const turn = (seconds * MS) / (deliveries.polls() - polls);
      // What is left of the crowd is not beside those who come alone.
      await deliveries.until(() => deliveries.size() >= made + rounds * crowd);
      return { ...sampleOf(values), crowd: crowd / seconds, turn };
    },
    async floor() {
      const values: Single[] = [];
      while (values.length < SINGLE) values.push(await single());
      return sampleOf(values);
    },
  };
}

export const bench: Bench = {
  name: 'api-fairness',
  what: `One tenant creates {n} deployments over ${CONNECTIONS} connections; meanwhile another one creates one after the other. delivery: from before its POST until the listener that serves both has its work item. crowd: what the busy one gets meanwhile; turn: from one answer with work to the next, in which the listener reports on all of the former. The hub's part alone: what a cluster takes is not in it.`,
  floor: 'The same single creations, while nobody else creates any.',
  n: CROWD,
  goalsFrom: 1000,
  runs: 9,
  measures: [
    { name: 'delivery', unit: 'ms', goal: { of: 'ratio', is: 'at most', limit: 2 } },
    { name: 'delivery p90', unit: 'ms' },
    { name: 'POST', unit: 'ms' },
    { name: 'crowd', unit: 'req/s' },
    { name: 'turn', unit: 'ms' },
  ],
  start: (context) => withHub(context, (hub, load, stack) => sidesOf(hub, load, stack, context.n ?? CROWD)),
};
