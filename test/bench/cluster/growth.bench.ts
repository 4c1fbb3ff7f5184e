import type { Bench, Sample } from '../bench.ts';
import { fill } from './fill.ts';
import { inOwnWorld, WARM } from './sides.ts';

const DEPLOYMENTS = 40;
/** Steps by which the number grows; each costs as long as its deployments take. */
const STEPS = 4;
const MS = 1000;

export const bench: Bench = {
  name: 'growth',
  what: `Time of a deployment while there are more and more: ${DEPLOYMENTS} (--n: as many), switched off, in ${STEPS} equal steps over 16 connections, each until everything is there, after ${WARM} that do not count. growth: the last step beside the first one.`,
  floor: null,
  runs: 1,
  fresh: true,
  measures: [
    { name: 'first step', unit: 'ms/deployment' },
    { name: 'last step', unit: 'ms/deployment' },
    { name: 'growth', unit: 'times', goal: { of: 'value', is: 'at most', limit: 1.1 } },
  ],
  start: async (context) => {
    const size = Math.ceil((context.n ?? DEPLOYMENTS) / STEPS);
    let note = '';
    let line: [number, number][] = [];
    const ours = () =>
      inOwnWorld(context, 'growth', async ({ berth, apps, load }): Promise<Sample> => {
        note = berth.note;
        const times: number[] = [];
        line = [];
        await fill(berth, apps, load, { count: WARM, pods: 0, prefix: 'warm-', objects: 1 });
        for (let step = 1; step <= STEPS; step += 1) {
          const prefix = `growth-${step}-`;
          const { seconds } = await fill(berth, apps, load, { count: size, pods: 0, prefix, objects: 1 });
          times.push((seconds * MS) / size);
          line.push([step * size, (seconds * MS) / size]);
        }
        const [first = 0, last = 0] = [times[0], times.at(-1)];
        return { 'first step': first, 'last step': last, growth: last / first };
      });
    return {
      ours,
      notes: () => [
        `By the number of deployments at a step's end: ${line.map(([n, ms]) => `${n}: ${ms.toFixed(1)} ms`).join(', ')}.`,
        note,
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
  },
};
