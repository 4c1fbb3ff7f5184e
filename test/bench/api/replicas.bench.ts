import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { listen } from '../../faults/proxies/client-port.ts';
import type { Bench, Sample } from '../bench.ts';
import { type LoadResult, startLoad } from '../load/load.ts';
import { processUsage } from '../process-usage.ts';
import { summarise } from '../statistics.ts';
import { call, DEPLOYMENT_JSON, PATH } from './bodies.ts';
import { type ApiProcess, prepareHub } from './hub.ts';
import { CONNECTIONS } from './measure.ts';

const PROCESSES = 2;
/** For each process long enough that what the compiler does for a young one is a small part. */
const REQUESTS = PROCESSES * 3000;
/** Then the clients connect anew. Many times a round, so that chance evens out; seldom for a request. */
const BURST = 500;
const MS = 1000;
const PERCENT = 100;

/** Hands each new connection to one of several servers, as a Service does: by chance, and there it stays. */
export interface Balancer {
  readonly url: string;
  /** From now on connections go to these, and are counted anew. */
  balance(urls: readonly string[]): void;
  /** How many connections each of them was given. */
  given(): readonly number[];
  stop(): Promise<void>;
}

/** On loopback. @param chance at least 0, less than 1 */
export async function startBalancer(chance: () => number = Math.random): Promise<Balancer> {
  let targets: readonly URL[] = [];
  let given: number[] = [];
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (client) => {
    const index = Math.floor(chance() * targets.length);
    const target = targets[index];
    if (target === undefined) {
      client.destroy();
      return;
    }
    given[index] = (given[index] ?? 0) + 1;
    const backend = connect({ host: target.hostname, port: Number(target.port), noDelay: true });
    for (const [from, to] of [
      [client, backend],
      [backend, client],
    ] as const) {
      sockets.add(from);
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  await listen(server);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    balance(urls) {
      targets = urls.map((url) => new URL(url));
      given = urls.map(() => 0);
    },
    given: () => [...given],
    stop() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** The load is the same, and comes the same way: to one process, or to all. */
export const bench: Bench = {
  name: 'api-replicas',
  what: `POST /v2/deployments over ${CONNECTIONS} connections to ${PROCESSES} processes of the API on one database, through a balancer that hands each new connection to one of them by chance, as a Service does; the clients connect anew after every ${BURST} requests. processor: of all processes. smallest share: of the processor time, that of the process which had least; its connections: those that chance gave it. The first follows the second as long as no process works for another one; how near to half it is, is chance and says nothing of Berth. p99: of the burst in the middle. The rate is that of the machine, which the processes share with PostgreSQL, the load and the balancer.`,
  floor:
    'The same load through the same balancer, all of it to one process; its smallest share is that of the idle one.',
  n: REQUESTS,
  runs: 9,
  measures: [
    { name: 'rate', unit: 'req/s' },
    { name: 'p99', unit: 'ms' },
    { name: 'processor', unit: 'ms/req' },
    { name: 'smallest share', unit: '%' },
    { name: 'its connections', unit: '%' },
  ],
  async start(context) {
    const requests = context.n ?? REQUESTS;
    const hub = await prepareHub(context);
    const load = startLoad();
    let started: Balancer | undefined;
    const stop = async () => {
      await load.stop();
      await started?.stop();
      await hub.stop();
    };
    try {
      const balancer = await startBalancer();
      started = balancer;
      const apis: ApiProcess[] = [];
      for (let index = 0; index < PROCESSES; index += 1) apis.push(await hub.startApi(`api-${index}`));
      /** Key of a tenant that has nothing yet: what a POST costs depends on how much its tenant has. */
      const newTenant = async (name: string): Promise<string> => {
        const make = (path: string, body: object, more = {}) =>
          call<{ id: string; key: string }>(
            apis[0]?.url ?? '',
            hub.apiKey,
            'POST',
            path,
            JSON.stringify(body),
            more,
          );
        const { id } = await make('/v2/tenants', { name });
        const scopes = ['deployments:read', 'deployments:write'];
        return (await make('/v2/api-keys', { name, scopes }, { tenantId: id })).key;
      };
      let rounds = 0;
      const round = async (among: readonly ApiProcess[]): Promise<Sample> => {
        rounds += 1;
        const key = await newTenant(`round-${rounds}`);
        balancer.balance(among.map(({ url }) => url));
        const before = apis.map(({ pid }) => processUsage(pid).cpuSeconds);
        const bursts: LoadResult[] = [];
        for (let sent = 0; sent < requests; sent += BURST)
          bursts.push(
            await load.run({
              url: balancer.url,
              method: 'POST',
              paths: [PATH],
              headers: { 'x-api-key': key },
              body: DEPLOYMENT_JSON,
              namePrefix: `shared-${sent}-`,
              requests: Math.min(BURST, requests - sent),
              connections: CONNECTIONS,
              expected: 201,
            }),
          );
        const spent = apis.map(({ pid }, index) => processUsage(pid).cpuSeconds - (before[index] ?? 0));
        const all = spent.reduce((sum, seconds) => sum + seconds, 0);
        const least = Math.min(...spent);
        const given = balancer.given();
        const connections = given.reduce((sum, count) => sum + count, 0);
        return {
          processor: (all * MS) / requests,
          // Ticks of 10 ms: a few requests may take none.
          'smallest share': all === 0 ? 0 : (PERCENT * least) / all,
          'its connections': (PERCENT * (given[spent.indexOf(least)] ?? 0)) / connections,
          rate: requests / bursts.reduce((sum, { seconds }) => sum + seconds, 0),
          p99: summarise(bursts.map(({ p99Ms }) => p99Ms)).median,
        };
      };
      return {
        ours: () => round(apis),
        floor: () => round(apis.slice(0, 1)),
        notes: () => [
          `${requests} requests a round, for a new tenant, over ${CONNECTIONS * Math.ceil(requests / BURST)} connections one after the other, ${CONNECTIONS} at a time; all were answered 201.`,
        ],
        stop,
      };
    } catch (error) {
      await stop();
      throw error;
    }
  },
};
