import { setTimeout as sleep } from 'node:timers/promises';
import { LABELS } from '../../../src/contract/names.ts';
import type { Bench, Sample } from '../bench.ts';
import { isApi } from './apps.ts';
import { clear, patience } from './fill.ts';
import { percentiles } from './latencies.ts';
import { bodyAlone } from './samples.ts';
import { withWorld } from './sides.ts';

const DEPLOYMENTS = 30;
const RATE = 20;
const MS = 1000;

export const bench: Bench = {
  name: 'visible',
  what: `From before a POST until a watch shows the Deployment of the application. Idle: ${DEPLOYMENTS} (--n: as many), one after the other, each when nothing of the one before is left to do. Busy: as many, ${RATE} POST/s. Each has one pod, and database and cache that somebody else runs: the Deployment waits for nothing.`,
  floor: null,
  runs: 1,
  measures: [
    { name: 'idle p50', unit: 'ms', goal: { of: 'value', is: 'at most', limit: 40 } },
    { name: 'idle p99', unit: 'ms', goal: { of: 'value', is: 'at most', limit: 150 } },
    { name: 'busy p50', unit: 'ms' },
    { name: 'busy p99', unit: 'ms', goal: { of: 'value', is: 'at most', limit: 500 } },
  ],
  start: (context) =>
    withWorld(context, 'visible', async ({ berth, apps }) => {
      const count = context.n ?? DEPLOYMENTS;
      const seen = new Map<string, number>();
      apps.follow((_app, object, at) => {
        const id = object.metadata.labels?.[LABELS.deploymentId] ?? '';
        if (isApi(object) && !seen.has(id)) seen.set(id, at);
      });
      let made = 0;
      /** Milliseconds. */
      const single = async (): Promise<number> => {
        made += 1;
        const began = performance.now();
        const { id } = await berth.create(bodyAlone(`visible-${made}`));
        const deadline = began + patience(1);
        // What is waited for is noted by the watch; this only looks whether it has been.
        while (!seen.has(id)) {
          if (performance.now() > deadline) throw new Error(`failed to see the Deployment of ${id}`);
          await sleep(5);
        }
        return (seen.get(id) ?? 0) - began;
      };
      const idle = async (): Promise<number[]> => {
        const values: number[] = [];
        for (let index = 0; index < count; index += 1) {
          values.push(await single());
          await sleep(150);
        }
        return values;
      };
      const busy = async (): Promise<number[]> => {
        const underWay: Promise<number>[] = [];
        const began = performance.now();
        for (let index = 0; index < count; index += 1) {
          await sleep(Math.max(0, began + (index * MS) / RATE - performance.now()));
          underWay.push(single());
        }
        return Promise.all(underWay);
      };
      const ours = async (): Promise<Sample> => {
        const sample = { ...percentiles(await idle(), 'idle '), ...percentiles(await busy(), 'busy ') };
        await clear(berth, apps);
        return sample;
      };
      return { ours };
    }),
};
