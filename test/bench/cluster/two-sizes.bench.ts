import { waitFor } from '../../cluster/wait.ts';
import type { Bench, BenchContext, Sample } from '../bench.ts';
import { ROLES } from './berth.ts';
import { untilCalm } from './calm.ts';
import { MACHINE_COSTS, ROLE_COSTS, withCosts } from './costs.ts';
import { fill, patience } from './fill.ts';
import { untilQuiet } from './recording.ts';
import { BESIDE_MANY, type FilledWorld, filledWorld } from './sides.ts';

/** The other one has a fifth: as the second step of `growth` beside its last. */
const FEWER = 5;
const MORE = 200;
const MS = 1000;

const fewer = (count: number) => Math.max(1, Math.round(count / FEWER));

/** So many more beside what is there, of what they take; then they are deleted, which is in nothing. */
async function more({ berth, apps, load }: FilledWorld, count: number): Promise<Sample> {
  const before = apps.size;
  const prefix = `more-${performance.now().toFixed(0)}-`;
  const { result, costs } = await withCosts({ berth, count, roles: ROLES }, () =>
    fill(berth, apps, load, { count, pods: 0, prefix, objects: 1 }),
  );
  await berth.deleteAll(prefix);
  await waitFor(`${count} deployments to be gone`, async () => apps.size === before, {
    timeoutMs: patience(count),
  });
  await untilQuiet(berth.proxy, undefined, patience(count));
  // What hub and listener have to say to each other about the end does not pass the proxy.
  await untilCalm(berth, ROLES, patience(count));
  berth.proxy.clear();
  const processor = ROLES.reduce((sum, role) => sum + (costs[`${role} processor`] ?? 0), 0);
  return { ...costs, processor, time: (result.seconds * MS) / count };
}

/** A world whose processes are new, so that none has a longer past than those of the other one, and warm again. */
async function startedAnew(context: BenchContext, count: number, crowd: number): Promise<FilledWorld> {
  const world = await filledWorld(context, count);
  const { berth } = world;
  for (const role of ROLES) {
    await berth.end(role);
    await berth.start(role, true);
  }
  await untilQuiet(berth.proxy, undefined, patience(count));
  await more(world, crowd);
  return world;
}

export const bench: Bench = {
  name: 'two-sizes',
  what: `What a deployment takes beside {n}, switched off: ${MORE} more (of fewer, a fifth of them), over 16 connections, until every one is settled; they are deleted before the next round, which begins once all roles are at rest. All roles are new, and had twice as many before what counts. processor: of all roles of Berth together.`,
  floor:
    'The same beside a fifth as many, by another Berth with a Kubernetes of its own, in turn, so that a machine that is quicker in one minute than in the next is so for both. Both are there all the time; the one that is not asked is at rest.',
  n: BESIDE_MANY.n,
  goalsFrom: BESIDE_MANY.goalsFrom,
  besideMany: true,
  runs: 5,
  measures: [
    { name: 'processor', unit: 'ms/deployment', goal: { of: 'ratio', is: 'at most', limit: 1.1 } },
    ...ROLE_COSTS,
    { name: 'time', unit: 'ms/deployment' },
    ...MACHINE_COSTS,
  ],
  start: async (context) => {
    const count = context.n ?? BESIDE_MANY.n;
    const crowd = Math.min(MORE, fewer(count));
    const many = await startedAnew(context, count, crowd);
    // Of two checkouts there is no floor.
    const few = context.side === undefined ? await startedAnew(context, fewer(count), crowd) : null;
    return {
      ours: () => more(many, crowd),
      ...(few === null ? {} : { floor: () => more(few, crowd) }),
      notes: () => [
        `Beside ${many.apps.size} and ${few?.apps.size ?? 'none'}, ${crowd} more a round.`,
        many.berth.note,
      ],
    };
  },
};
