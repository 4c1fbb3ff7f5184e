import { setTimeout as sleep } from 'node:timers/promises';
import { PATH } from '../api/bodies.ts';
import { CONNECTIONS } from '../api/measure.ts';
import type { Bench, Sample } from '../bench.ts';
import { quantile } from '../statistics.ts';
import { isSettled, resourceOf } from './apps.ts';
import { patience } from './fill.ts';
import { openPlayer, play } from './playing.ts';
import type { Recording } from './recording.ts';
import { body, template } from './samples.ts';
import { besideNothing, inOwnWorld, recordingOf, type World } from './sides.ts';

const CROWD = 30;
const SINGLES = 24;
/** Single creations before a round counts. */
const WARM = 10;
const LOOK_MS = 20;

export const bench: Bench = {
  name: 'fairness',
  what: `One tenant creates {n} deployments over ${CONNECTIONS} connections; until the last of them is there, another one creates one after the other. From before its POST until the status says that all of it is there. They are switched off: no pod runs. Each round in a new Kubernetes, after ${WARM} single ones that do not count. writes: how long the API server takes for the writes of a single one, sent by a program that decides nothing, beside the same writes of the crowd (the floor: alone).`,
  floor: 'The same single creations, while nobody else creates any.',
  n: CROWD,
  goalsFrom: 1000,
  runs: 1,
  fresh: true,
  measures: [
    { name: 'time', unit: 'ms', goal: { of: 'ratio', is: 'at most', limit: 2 } },
    { name: 'p90', unit: 'ms', goal: { of: 'ratio', is: 'at most', limit: 2 } },
    { name: 'writes', unit: 'ms' },
  ],
  start: async (context) => {
    const recording = await recordingOf(context, 'fairness', (name) => body(name, 0));
    const crowd = context.n ?? CROWD;
    const writesBeside = (count: number) =>
      besideNothing(context, 'writes', (berth) => singleWrites(recording, berth, count));
    const beside = () =>
      inOwnWorld(context, 'fairness', async (world): Promise<Sample> => {
        const singles = await startSingles(world, patience(crowd));
        const { berth, load } = world;
        const settledBefore = singles.settled();
        const posting = load.run({
          url: berth.apiUrl(),
          method: 'POST',
          paths: [PATH],
          headers: { 'x-api-key': berth.apiKey },
          body: template(0),
          namePrefix: 'crowd-',
          requests: crowd,
          connections: CONNECTIONS,
          expected: 201,
        });
        const values: number[] = [];
        const settledOfCrowd = () => singles.settled() - settledBefore - values.length;
        while (values.length === 0 || settledOfCrowd() < crowd) values.push(await singles.next());
        await posting;
        return sampleOf(values);
      });
    const alone = () =>
      inOwnWorld(context, 'alone', async (world): Promise<Sample> => {
        const singles = await startSingles(world, patience(SINGLES));
        const values: number[] = [];
        while (values.length < SINGLES) values.push(await singles.next());
        return sampleOf(values);
      });
    return {
      ours: async () => ({ ...(await beside()), writes: await writesBeside(crowd) }),
      floor: async () => ({ ...(await alone()), writes: await writesBeside(0) }),
    };
  },
};

function sampleOf(values: readonly number[]): Sample {
  const sorted = values.toSorted((a, b) => a - b);
  return { time: quantile(sorted, 0.5), p90: quantile(sorted, 0.9) };
}

/** Milliseconds for the writes of a single deployment, in the middle, until those of a crowd are over. */
async function singleWrites(
  recording: Recording,
  berth: Parameters<typeof openPlayer>[1],
  crowd: number,
): Promise<number> {
  const [many, single] = [await openPlayer(recording, berth), await openPlayer(recording, berth)];
  let made = 0;
  const next = async (): Promise<number> => {
    made += 1;
    const began = performance.now();
    await single.one('single', made);
    return performance.now() - began;
  };
  for (let index = 0; index < WARM; index += 1) await next();
  let isOver = false;
  const all = play(many, { prefix: 'crowd', count: crowd }).finally(() => {
    isOver = true;
  });
  // It is told below.
  all.catch(() => undefined);
  const values: number[] = [];
  // Beside a crowd as long as it is there; alone so many.
  do values.push(await next());
  while (crowd > 0 ? !isOver : values.length < SINGLES);
  await all;
  await Promise.all([many.close(), single.close()]);
  return quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
}

interface Singles {
  /** Creates one and waits until it is settled; in milliseconds. */
  next(): Promise<number>;
  /** Deployments that have been settled so far, whoever's. */
  settled(): number;
}

/** Another tenant, which creates one deployment after the other; some are made that do not count. */
async function startSingles({ berth, apps }: World, withinMs: number): Promise<Singles> {
  const key = await berth.otherTenant('other');
  /** When each deployment was settled first, by its id. */
  const settledAt = new Map<string, number>();
  apps.follow((app, _object, at) => {
    const id = resourceOf(app)?.spec.deploymentId;
    if (id !== undefined && !settledAt.has(id) && isSettled(app)) settledAt.set(id, at);
  });
  let made = 0;
  const next = async (): Promise<number> => {
    made += 1;
    const began = performance.now();
    const { id } = await berth.create(body(`single-${made}`, 0), key);
    for (;;) {
      const at = settledAt.get(id);
      if (at !== undefined) return at - began;
      if (performance.now() > began + withinMs) throw new Error(`failed to see ${id} settle`);
      await sleep(LOOK_MS);
    }
  };
  for (let index = 0; index < WARM; index += 1) await next();
  return { next, settled: () => settledAt.size };
}
