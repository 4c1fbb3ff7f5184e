import { PATH } from '../api/bodies.ts';
import { CONNECTIONS } from '../api/measure.ts';
import type { Bench, Sample } from '../bench.ts';
import { quantile, summarise } from '../statistics.ts';
import { patience } from './fill.ts';
import { template } from './samples.ts';
import { inOwnWorld } from './sides.ts';
import {
  type BesideAndAlone,
  besideAndAlone,
  PAUSES_MS,
  SINGLES,
  type Single,
  type Singles,
  startSingles,
  WARM,
} from './singles.ts';

const CROWD = 30;
const GOAL = { of: 'ratio', is: 'at most', limit: 2.5 } as const;

/** A comparison of checkouts reports these as multiples of the single creations alone in the same rounds. */
const TIMES_ALONE = ['time', 'p90', 'rare'] as const;

export const bench: Bench = {
  name: 'fairness',
  what: `One tenant creates {n} deployments over ${CONNECTIONS} connections. Until the last of them exists, another tenant creates single deployments, ${PAUSES_MS.soon / 1000} s and ${PAUSES_MS.rare / 1000} s after the previous one, in turn. time: from before the POST until the status says that everything exists. rare: only those after the longer pause, whose tenant was not active. All deployments are switched off: no pod runs. Each round has a new Kubernetes, and starts with ${WARM} single deployments that do not count. handed: until the first object is in the cluster, a Secret; this is the time of hub and listener. placed: until the custom resource is there. slowest: the slowest single creation, usually the first. A comparison of checkouts reports how many times as long each creation takes as alone.`,
  floor: `The same single creations while the other tenant creates nothing: ${SINGLES} before its deployments and ${SINGLES} after them, with the same two pauses, in the same Kubernetes. The median is of all of them. alone before, alone after: only one half of them; the first half has an empty cluster.`,
  n: CROWD,
  goalsFrom: 1000,
  runs: 1,
  fresh: true,
  measures: [
    { name: 'time', unit: 'ms', goal: GOAL },
    { name: 'p90', unit: 'ms', goal: GOAL },
    { name: 'rare', unit: 'ms', goal: GOAL },
    { name: 'slowest', unit: 'ms' },
    { name: 'handed', unit: 'ms' },
    { name: 'placed', unit: 'ms' },
    { name: 'placed, of the slowest tenth', unit: 'ms' },
    { name: 'placed, of the slowest', unit: 'ms' },
    { name: 'time, alone before', unit: 'ms' },
    { name: 'time, alone after', unit: 'ms' },
    { name: 'p90, alone before', unit: 'ms' },
    ...TIMES_ALONE.map(
      (name) => ({ name: `${name}, beside those alone`, unit: 'times', only: 'compare' }) as const,
    ),
  ],
  start: async (context) => {
    const crowd = context.n ?? CROWD;
    const throughBerth = () =>
      inOwnWorld(context, 'fairness', async (world) => {
        const { next, untilSettled, untilCalm } = await startSingles(world, patience(crowd));
        const { berth, load } = world;
        const create = async () => {
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
        };
        return besideAndAlone(next, create, untilCalm);
      });
    const counts: number[] = [];
    /** All rounds together, because p90 of a hundred values is more exact than that of thirty. */
    const pooled = { beside: [] as Single[], alone: [] as Single[] };
    /** One round yields the samples of both sides. The one that is not requested first is kept. */
    const pending: { readonly beside: Sample[]; readonly alone: Sample[] } = { beside: [], alone: [] };
    const sample = async (side: 'beside' | 'alone'): Promise<Sample> => {
      const other = pending[side].shift();
      if (other !== undefined) return other;
      const berth = await throughBerth();
      const { alone, beside } = bySide(berth);
      counts.push(beside.all.length);
      pooled.beside.push(...beside.all);
      pooled.alone.push(...alone.all);
      const [many, few] = [sampleOf(beside), sampleOf(alone)];
      const samples = {
        beside: {
          ...many,
          ...halves(beside.all, beside.all),
          ...timesAlone(many, few),
        },
        alone: {
          ...few,
          ...halves(allOf(berth.before), allOf(berth.after)),
        },
      };
      const otherSide = side === 'beside' ? 'alone' : 'beside';
      pending[otherSide].push(samples[otherSide]);
      return samples[side];
    };
    return {
      ours: () => sample('beside'),
      floor: () => sample('alone'),
      notes: () => [
        `Single creations during the others, by round: ${counts.join(', ')}; alone: ${2 * SINGLES}. p90 and slowest of a round are of these. p90 of all rounds together: ${pooledP90(pooled)}.`,
      ],
    };
  },
};

const timesAlone = (beside: Sample, alone: Sample): Sample =>
  Object.fromEntries(
    TIMES_ALONE.map((name) => [
      `${name}, beside those alone`,
      (beside[name] ?? Number.NaN) / (alone[name] ?? Number.NaN),
    ]),
  );

const allOf = ({ soon, rare }: Singles) => [...soon, ...rare];

interface Side {
  readonly all: readonly Single[];
  readonly rare: readonly Single[];
}

const bySide = ({ before, beside, after }: BesideAndAlone): { beside: Side; alone: Side } => ({
  beside: { all: allOf(beside), rare: beside.rare },
  alone: { all: [...allOf(before), ...allOf(after)], rare: [...before.rare, ...after.rare] },
});

function pooledP90({ beside, alone }: Record<'beside' | 'alone', readonly Single[]>): string {
  const [many, few] = [ninetieth(beside), ninetieth(alone)];
  return `${many.toFixed(0)} ms of ${beside.length}, alone ${few.toFixed(0)} of ${alone.length}: ${(many / few).toFixed(2)} times`;
}

const medianOf = (some: readonly Single[]) => summarise(some.map(({ settled }) => settled)).median;

const medianUntil = (what: 'handed' | 'placed', some: readonly Single[]) =>
  summarise(some.map((single) => single[what])).median;

function sampleOf({ all, rare }: Side): Sample {
  const byTime = all.toSorted((a, b) => a.settled - b.settled);
  const times = byTime.map(({ settled }) => settled);
  return {
    time: summarise(times).median,
    p90: ninetieth(all),
    slowest: Math.max(...times),
    rare: medianOf(rare),
    handed: medianUntil('handed', all),
    placed: medianUntil('placed', all),
    'placed, of the slowest tenth': medianUntil('placed', byTime.slice(-Math.ceil(byTime.length / 10))),
    'placed, of the slowest': medianUntil('placed', byTime.slice(-1)),
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
