import { setTimeout as sleep } from 'node:timers/promises';
import { PATH } from '../api/bodies.ts';
import { CONNECTIONS } from '../api/measure.ts';
import type { Bench, Sample } from '../bench.ts';
import { quantile } from '../statistics.ts';
import { isSettled, resourceOf } from './apps.ts';
import { clear, patience } from './fill.ts';
import { body, template } from './samples.ts';
import { withWorld } from './sides.ts';

const CROWD = 30;
const SINGLES = 8;
const LOOK_MS = 20;

export const bench: Bench = {
  name: 'fairness',
  what: `One tenant creates ${CROWD} deployments (--n: as many) over ${CONNECTIONS} connections; until the last of them is there, another one creates one after the other. From before its POST until the status says that all of it is there. They are switched off: no pod runs.`,
  floor: 'The same single creations, while nobody else creates any.',
  runs: 1,
  measures: [
    { name: 'time', unit: 'ms', goal: { of: 'ratio', is: 'at most', limit: 2 } },
    { name: 'p90', unit: 'ms' },
  ],
  start: (context) =>
    withWorld(context, 'fairness', async ({ berth, apps, load }) => {
      const crowd = context.n ?? CROWD;
      const key = await berth.otherTenant('other');
      /** When each deployment was settled first, by its id. */
      const settledAt = new Map<string, number>();
      apps.follow((app, _object, at) => {
        const id = resourceOf(app)?.spec.deploymentId;
        if (id !== undefined && !settledAt.has(id) && isSettled(app)) settledAt.set(id, at);
      });
      let made = 0;
      const single = async (): Promise<number> => {
        made += 1;
        const began = performance.now();
        const deadline = began + patience(crowd);
        const { id } = await berth.create(body(`single-${made}`, 0), key);
        for (;;) {
          const at = settledAt.get(id);
          if (at !== undefined) return at - began;
          if (performance.now() > deadline) throw new Error(`failed to see ${id} settle`);
          await sleep(LOOK_MS);
        }
      };
      const sample = (values: readonly number[]): Sample => {
        const sorted = values.toSorted((a, b) => a - b);
        return { time: quantile(sorted, 0.5), p90: quantile(sorted, 0.9) };
      };
      let rounds = 0;
      const beside = async (): Promise<Sample> => {
        rounds += 1;
        const before = made;
        const already = settledAt.size;
        const posting = load.run({
          url: berth.apiUrl(),
          method: 'POST',
          paths: [PATH],
          headers: { 'x-api-key': berth.apiKey },
          body: template(0),
          namePrefix: `crowd-${rounds}-`,
          requests: crowd,
          connections: CONNECTIONS,
          expected: 201,
        });
        const values: number[] = [];
        const settledOfCrowd = () => settledAt.size - already - (made - before);
        while (values.length === 0 || settledOfCrowd() < crowd) values.push(await single());
        await posting;
        await clear(berth, apps);
        return sample(values);
      };
      const alone = async (): Promise<Sample> => {
        const values: number[] = [];
        while (values.length < SINGLES) values.push(await single());
        await clear(berth, apps);
        return sample(values);
      };
      return { ours: beside, floor: alone };
    }),
};
