import { setTimeout as sleep } from 'node:timers/promises';
import { PATH } from '../api/bodies.ts';
import { CONNECTIONS } from '../api/measure.ts';
import type { Bench, Sample } from '../bench.ts';
import { quantile, summarise } from '../statistics.ts';
import { isSettled, resourceOf } from './apps.ts';
import { patience } from './fill.ts';
import { openPlayer, play } from './playing.ts';
import { whenAsked } from './recording.ts';
import { body, template } from './samples.ts';
import { besideNothing, inOwnWorld, recordingOf, type World } from './sides.ts';

const CROWD = 30;
/** Single creations, one after the other, before the crowd and as many after it: what there is makes each slower. */
const SINGLES = 20;
/** Single creations before a round counts. */
const WARM = 10;
const LOOK_MS = 20;
/**
 * From the end of a single one to the next, in turn: one soon after another, for which room was made, and one that comes when its
 * tenant has not been at work for longer than Berth remembers.
 */
const PAUSES_MS = { soon: 1000, rare: 11_000 };
/** For what the crowd has left to do for the cluster's own controllers. */
const AFTER_MS = 10_000;

export const bench: Bench = {
  name: 'fairness',
  what: `One tenant creates {n} deployments over ${CONNECTIONS} connections; until the last of them is there, another one creates a single one, ${PAUSES_MS.soon / 1000} s after the one before was there, and ${PAUSES_MS.rare / 1000} s after it, in turn (rare: the latter alone, when its tenant has not been at work). From before its POST until the status says that all of it is there. They are switched off: no pod runs. Each round in a new Kubernetes, after ${WARM} single ones that do not count. writes: how long the API server takes for the writes of a single one, sent by a program that decides nothing, beside the same writes of the crowd.`,
  floor: `The same single creations while nobody else creates any: ${SINGLES} before the crowd and ${SINGLES} after it, in the same Kubernetes; the median is of all of them, for there are none, some or all of the crowd while the others come. alone before, alone after: held against each half by itself; those before have an empty cluster. slowest: mostly the first one, which comes together with the crowd. placed: until its custom resource is seen in the cluster: hub, listener and that one write; what comes after it is the operator and the cluster. The same of the tenth that took longest in all, and of the one that did.`,
  n: CROWD,
  goalsFrom: 1000,
  runs: 1,
  fresh: true,
  measures: [
    { name: 'time', unit: 'ms', goal: { of: 'ratio', is: 'at most', limit: 2 } },
    { name: 'p90', unit: 'ms', goal: { of: 'ratio', is: 'at most', limit: 2 } },
    { name: 'rare', unit: 'ms', goal: { of: 'ratio', is: 'at most', limit: 2 } },
    { name: 'slowest', unit: 'ms' },
    { name: 'placed', unit: 'ms' },
    { name: 'placed, of the slowest tenth', unit: 'ms' },
    { name: 'placed, of the slowest', unit: 'ms' },
    { name: 'time, alone before', unit: 'ms' },
    { name: 'time, alone after', unit: 'ms' },
    { name: 'p90, alone before', unit: 'ms' },
    { name: 'writes', unit: 'ms', besideBerth: true },
  ],
  start: async (context) => {
    const recorded = whenAsked(() => recordingOf(context, 'fairness', (name) => body(name, 0)));
    const crowd = context.n ?? CROWD;
    const throughBerth = () =>
      inOwnWorld(context, 'fairness', async (world) => {
        const { next, untilSettled } = await startSingles(world, patience(crowd));
        const { berth, load } = world;
        return besideAndAlone(next, async () => {
          await load.run({
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
          await untilSettled(crowd);
        });
      });
    const byWritesAlone = async () => {
      const recording = await recorded();
      return besideNothing(context, 'writes', async (berth) => {
        const [many, single] = [await openPlayer(recording, berth), await openPlayer(recording, berth)];
        let made = 0;
        const next = async (): Promise<Single> => {
          made += 1;
          const began = performance.now();
          await single.one('single', made);
          return { settled: performance.now() - began, placed: null };
        };
        try {
          return await besideAndAlone(next, () => play(many, { prefix: 'crowd', count: crowd }));
        } finally {
          await Promise.all([many.close(), single.close()]);
        }
      });
    };
    const counts: number[] = [];
    /** Both sides come of one round, whichever is asked for first. */
    const left: { readonly beside: Sample[]; readonly alone: Sample[] } = { beside: [], alone: [] };
    const sample = async (side: 'beside' | 'alone'): Promise<Sample> => {
      const other = left[side].shift();
      if (other !== undefined) return other;
      const berth = await throughBerth();
      const writes = context.side !== undefined ? undefined : await byWritesAlone();
      const alone = [...berth.before, ...berth.after];
      const beside = [...berth.soon, ...berth.rare];
      counts.push(beside.length);
      const samples = {
        beside: {
          ...sampleOf(beside, berth.rare),
          ...halves(beside, beside),
          ...(writes && { writes: medianOf([...writes.soon, ...writes.rare]) }),
        },
        alone: {
          ...sampleOf(alone, alone),
          ...halves(berth.before, berth.after),
          ...(writes && { writes: medianOf([...writes.before, ...writes.after]) }),
        },
      };
      const otherSide = side === 'beside' ? 'alone' : 'beside';
      left[otherSide].push(samples[otherSide]);
      return samples[side];
    };
    return {
      ours: () => sample('beside'),
      floor: () => sample('alone'),
      notes: () => [
        `Single ones beside the crowd, by round: ${counts.join(', ')}; alone: ${2 * SINGLES}. p90 and slowest of a round are of these.`,
      ],
    };
  },
};

/** A single creation, in milliseconds from before its POST. */
interface Single {
  /** Until its custom resource was seen; null: not watched, of writes without Berth. */
  readonly placed: number | null;
  /** Until its status said that all of it is there. */
  readonly settled: number;
}

const medianOf = (some: readonly Single[]) => summarise(some.map(({ settled }) => settled)).median;

const placedMedian = (some: readonly Single[]) =>
  summarise(some.flatMap(({ placed }) => placed ?? [])).median;

function sampleOf(singles: readonly Single[], rare: readonly Single[]): Sample {
  const byTime = singles.toSorted((a, b) => a.settled - b.settled);
  const times = byTime.map(({ settled }) => settled);
  return {
    time: summarise(times).median,
    p90: ninetieth(singles),
    slowest: Math.max(...times),
    rare: medianOf(rare),
    placed: placedMedian(singles),
    'placed, of the slowest tenth': placedMedian(byTime.slice(-Math.ceil(byTime.length / 10))),
    'placed, of the slowest': placedMedian(byTime.slice(-1)),
  };
}

const ninetieth = (some: readonly Single[]) =>
  quantile(
    some.map(({ settled }) => settled).toSorted((a, b) => a - b),
    0.9,
  );

const halves = (before: readonly Single[], after: readonly Single[]): Sample => ({
  'time, alone before': medianOf(before),
  'time, alone after': medianOf(after),
  'p90, alone before': ninetieth(before),
});

interface BesideAndAlone {
  readonly before: Single[];
  readonly soon: Single[];
  readonly rare: Single[];
  readonly after: Single[];
}

/**
 * Single ones before the crowd, while it comes about, and after it.
 * @param next makes a single one
 * @param create the crowd; resolves when the last of it is there
 */
async function besideAndAlone(
  next: () => Promise<Single>,
  create: () => Promise<void>,
): Promise<BesideAndAlone> {
  const values: BesideAndAlone = { before: [], soon: [], rare: [], after: [] };
  const alone = async (some: Single[]) => {
    for (let index = 0; index < SINGLES; index += 1) {
      some.push(await next());
      await sleep(PAUSES_MS.soon);
    }
  };
  for (let index = 0; index < WARM; index += 1) await next();
  await alone(values.before);
  await sleep(PAUSES_MS.rare - PAUSES_MS.soon);
  let isOver = false;
  const creating = create().finally(() => {
    isOver = true;
  });
  // It is told below.
  creating.catch(() => undefined);
  for (let pause: keyof typeof PAUSES_MS = 'rare'; !isOver || values.soon.length === 0; ) {
    values[pause].push(await next());
    pause = pause === 'rare' ? 'soon' : 'rare';
    await Promise.race([sleep(PAUSES_MS[pause]), creating]);
  }
  await creating;
  await sleep(AFTER_MS);
  await alone(values.after);
  return values;
}

interface Singles {
  /** Creates one and waits until it is settled. */
  next(): Promise<Single>;
  /** Resolves when so many of the other tenant's have been settled. */
  untilSettled(count: number): Promise<void>;
}

/** A tenant beside the first one, which creates one deployment after the other. */
async function startSingles({ berth, apps }: World, withinMs: number): Promise<Singles> {
  const key = await berth.otherTenant('other');
  /** When each deployment was seen and settled first, by its id. */
  const placedAt = new Map<string, number>();
  const settledAt = new Map<string, number>();
  apps.follow((app, _object, at) => {
    const id = resourceOf(app)?.spec.deploymentId;
    if (id === undefined) return;
    if (!placedAt.has(id)) placedAt.set(id, at);
    if (!settledAt.has(id) && isSettled(app)) settledAt.set(id, at);
  });
  const until = async (what: string, check: () => boolean) => {
    const deadline = performance.now() + withinMs;
    while (!check()) {
      if (performance.now() > deadline) throw new Error(`failed to see ${what} settle`);
      await sleep(LOOK_MS);
    }
  };
  const own = new Set<string>();
  return {
    async next() {
      const began = performance.now();
      const { id } = await berth.create(body(`single-${own.size}`, 0), key);
      own.add(id);
      await until(id, () => settledAt.has(id));
      const after = (at = Number.NaN) => at - began;
      return { placed: after(placedAt.get(id)), settled: after(settledAt.get(id)) };
    },
    untilSettled: (count) =>
      until('the crowd', () => [...settledAt.keys()].filter((id) => !own.has(id)).length >= count),
  };
}
