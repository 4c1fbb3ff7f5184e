import type { Bench, Sample } from '../bench.ts';
import { startLoad } from '../load/load.ts';
import { processUsage } from '../process-usage.ts';
import { DEPLOYMENT_JSON, PATH } from './bodies.ts';
import { type ApiProcess, prepareHub } from './hub.ts';
import { CONNECTIONS } from './measure.ts';

const REQUESTS = 400;
const PROCESSES = 2;
const MS = 1000;
const PERCENT = 100;

/** The load is the same: as many requests over as many connections, on one process or on all. */
export const bench: Bench = {
  name: 'api-replicas',
  what: `POST /v2/deployments over ${CONNECTIONS} connections, one part of them on each of ${PROCESSES} processes of the API on one database. processor: of all of them; smallest share: of the one that has least of it, so that what one does for the other would be seen. The rate is that of the machine, which they share with PostgreSQL and the load.`,
  floor: 'One process with the whole load.',
  n: REQUESTS,
  runs: 7,
  measures: [
    { name: 'rate', unit: 'req/s' },
    { name: 'p99', unit: 'ms' },
    { name: 'processor', unit: 'ms/req' },
    { name: 'smallest share', unit: '%' },
  ],
  async start(context) {
    const requests = context.n ?? REQUESTS;
    const hub = await prepareHub(context);
    const loads = Array.from({ length: PROCESSES }, startLoad);
    const stop = async () => {
      await Promise.all(loads.map((load) => load.stop()));
      await hub.stop();
    };
    try {
      const apis: ApiProcess[] = [];
      for (let index = 0; index < PROCESSES; index += 1) apis.push(await hub.startApi(`api-${index}`));
      let rounds = 0;
      /** Both generators work in either case, so that they take as much of the machine. */
      const round = async (serverOf: (index: number) => ApiProcess | undefined): Promise<Sample> => {
        rounds += 1;
        const before = apis.map(({ pid }) => processUsage(pid).cpuSeconds);
        const results = await Promise.all(
          loads.map((load, index) =>
            load.run({
              url: serverOf(index)?.url ?? '',
              method: 'POST',
              paths: [PATH],
              headers: { 'x-api-key': hub.apiKey },
              body: DEPLOYMENT_JSON,
              namePrefix: `shared-${rounds}-${index}-`,
              requests: requests / PROCESSES,
              connections: CONNECTIONS / PROCESSES,
              expected: 201,
            }),
          ),
        );
        const spent = apis.map(({ pid }, index) => processUsage(pid).cpuSeconds - (before[index] ?? 0));
        const all = spent.reduce((sum, seconds) => sum + seconds, 0);
        return {
          processor: (all * MS) / requests,
          'smallest share': (PERCENT * Math.min(...spent)) / all,
          rate: requests / Math.max(...results.map(({ seconds }) => seconds)),
          p99: Math.max(...results.map(({ p99Ms }) => p99Ms)),
        };
      };
      return {
        ours: () => round((index) => apis[index]),
        floor: () => round(() => apis[0]),
        notes: () => [`${requests} requests a round; all were answered 201, by each process its share.`],
        stop,
      };
    } catch (error) {
      await stop();
      throw error;
    }
  },
};
