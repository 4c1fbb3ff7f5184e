import type { Bench, Sample } from '../bench.ts';
import { clear, fill } from './fill.ts';
import { withWorld } from './sides.ts';

const DEPLOYMENTS = 40;
/** Steps by which the number grows; each costs as long as its deployments take. */
const STEPS = 4;
const MS = 1000;

export const bench: Bench = {
  name: 'growth',
  what: `Time of a deployment while there are more and more: ${DEPLOYMENTS} (--n: as many), switched off, in ${STEPS} equal steps over 16 connections, each until everything is there. growth: the last step beside the first one.`,
  floor: null,
  runs: 1,
  measures: [
    { name: 'first step', unit: 'ms/deployment' },
    { name: 'last step', unit: 'ms/deployment' },
    { name: 'growth', unit: 'times', goal: { of: 'value', is: 'at most', limit: 1.1 } },
  ],
  start: (context) =>
    withWorld(context, 'growth', async ({ berth, apps, load }) => {
      const most = context.n ?? DEPLOYMENTS;
      const warmUp = Math.min(most, DEPLOYMENTS);
      let rounds = 0;
      let line: [number, number][] = [];
      const ours = async (): Promise<Sample> => {
        // The round that does not count is a small one.
        const size = Math.ceil((rounds === 0 ? warmUp : most) / STEPS);
        rounds += 1;
        line = [];
        const times: number[] = [];
        for (let step = 1; step <= STEPS; step += 1) {
          const prefix = `growth-${rounds}-${step}-`;
          const { seconds } = await fill(berth, apps, load, { count: size, pods: 0, prefix, objects: 1 });
          times.push((seconds * MS) / size);
          line.push([step * size, (seconds * MS) / size]);
        }
        await clear(berth, apps);
        const [first = 0, last = 0] = [times[0], times.at(-1)];
        return { 'first step': first, 'last step': last, growth: last / first };
      };
      return {
        ours,
        notes: () => [
          `By the number of deployments at a step's end: ${line.map(([n, ms]) => `${n}: ${ms.toFixed(1)} ms`).join(', ')}.`,
          berth.note,
        ],
        plots: () => [
          {
            name: 'cost',
            title: 'Time of a deployment by how many there are',
            x: 'deployments',
            y: 'ms a deployment',
            lines: [{ name: 'Berth', points: line }],
          },
        ],
      };
    }),
};
