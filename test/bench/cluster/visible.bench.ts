import { setTimeout as sleep } from 'node:timers/promises';
import { LABELS } from '../../../src/contract/names.ts';
import { RESOURCES } from '../../../src/kube/resources.ts';
import type { Bench, Sample } from '../bench.ts';
import { isApi } from './apps.ts';
import { patience } from './fill.ts';
import { percentiles } from './latencies.ts';
import { openPlayer, upTo } from './recording.ts';
import { bodyAlone } from './samples.ts';
import { besideNothing, inOwnWorld, recordingOf, WARM } from './sides.ts';

const DEPLOYMENTS = 30;
const RATE = 20;
/** Between two idle ones: what follows a Deployment is mostly over by then. */
const PAUSE_MS = 150;
const MS = 1000;

export const bench: Bench = {
  name: 'visible',
  what: `From before a POST until a watch shows the Deployment of the application. Idle: ${DEPLOYMENTS} (--n: as many), one after the other, each when nothing of the one before is left to do. Busy: as many, ${RATE} POST/s. In a new Kubernetes each round, after ${WARM} that do not count. Each has one pod, and database and cache that somebody else runs: the Deployment waits for nothing.`,
  floor:
    'The writes that listener and operator were seen to send up to that Deployment, under other names, until its own was answered, as often and at the same pace; no API, no database, no decision, no read, nothing after it but what the cluster does.',
  runs: 1,
  fresh: true,
  measures: [
    { name: 'idle p50', unit: 'ms', goal: { of: 'value', is: 'at most', limit: 40 } },
    { name: 'idle p99', unit: 'ms', goal: { of: 'value', is: 'at most', limit: 150 } },
    { name: 'busy p50', unit: 'ms' },
    { name: 'busy p99', unit: 'ms', goal: { of: 'value', is: 'at most', limit: 500 } },
  ],
  start: async (context) => {
    const count = context.n ?? DEPLOYMENTS;
    const recording = upTo(await recordingOf(context, 'visible', bodyAlone), RESOURCES.Deployment.kind);
    let note = '';
    const ours = () =>
      inOwnWorld(context, 'visible', async ({ berth, apps }): Promise<Sample> => {
        note = berth.note;
        const seen = new Map<string, number>();
        apps.follow((_app, object, at) => {
          const id = object.metadata.labels?.[LABELS.deploymentId] ?? '';
          if (isApi(object) && !seen.has(id)) seen.set(id, at);
        });
        return sampleOf(count, async (name) => {
          const began = performance.now();
          const { id } = await berth.create(bodyAlone(name));
          const deadline = began + patience(1);
          // What is waited for is noted by the watch; this only looks whether it has been.
          while (!seen.has(id)) {
            if (performance.now() > deadline) throw new Error(`failed to see the Deployment of ${id}`);
            await sleep(5);
          }
          return (seen.get(id) ?? 0) - began;
        });
      });
    const floor = () =>
      besideNothing(context, 'floor', async (berth): Promise<Sample> => {
        const player = await openPlayer(recording, berth);
        let played = 0;
        const sample = await sampleOf(count, async () => {
          played += 1;
          const began = performance.now();
          await player.one('floor', played);
          return performance.now() - began;
        });
        await player.close();
        return sample;
      });
    return {
      ours,
      floor,
      notes: () => [
        `Of ${count} deployments each. Up to the Deployment ${recording.waves.flat().length} writes in ${recording.waves.length} steps, each waiting for the one before; Berth has two commits of PostgreSQL before them.`,
        note,
      ],
    };
  },
};

/** Some that do not count, then the idle and the busy ones. @param single in ms */
async function sampleOf(count: number, single: (name: string) => Promise<number>): Promise<Sample> {
  const idle = async (prefix: string, some: number): Promise<number[]> => {
    const values: number[] = [];
    for (let index = 0; index < some; index += 1) {
      values.push(await single(`${prefix}-${index}`));
      await sleep(PAUSE_MS);
    }
    return values;
  };
  const busy = async (): Promise<number[]> => {
    const underWay: Promise<number>[] = [];
    const began = performance.now();
    for (let index = 0; index < count; index += 1) {
      await sleep(Math.max(0, began + (index * MS) / RATE - performance.now()));
      underWay.push(single(`busy-${index}`));
    }
    return Promise.all(underWay);
  };
  await idle('warm', WARM);
  const alone = percentiles(await idle('idle', count), 'idle ');
  return { ...alone, ...percentiles(await busy(), 'busy ') };
}
