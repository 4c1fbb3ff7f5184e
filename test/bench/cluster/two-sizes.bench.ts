import type { Bench, Sample } from '../bench.ts';
import { ROLES } from './berth.ts';
import { MACHINE_COSTS, ROLE_COSTS, withCosts } from './costs.ts';
import { fill } from './fill.ts';
import { BESIDE_MANY, type FilledWorld, filledWorld } from './sides.ts';

/** The other one has a fifth: as the second step of `growth` beside its last. */
const FEWER = 5;
const MORE = 100;
const MS = 1000;
const OBJECTS = 1;

const fewer = (count: number) => Math.max(1, Math.round(count / FEWER));

/** One more crowd beside what is there. */
async function more({ berth, apps, load }: FilledWorld, count: number, prefix: string): Promise<Sample> {
  const { result, costs } = await withCosts({ berth, count, roles: ROLES }, () =>
    fill(berth, apps, load, { count, pods: 0, prefix, objects: OBJECTS }),
  );
  const processor = ROLES.reduce((sum, role) => sum + (costs[`${role} processor`] ?? 0), 0);
  return { ...costs, processor, time: (result.seconds * MS) / count };
}

export const bench: Bench = {
  name: 'two-sizes',
  what: `What a deployment takes beside {n}, switched off: ${MORE} more (of fewer, as many as there are), over 16 connections, until every one is settled. They stay. processor: of all roles of Berth together.`,
  floor: `The same beside a fifth as many, by another Berth with a Kubernetes of its own, in turn, so that a machine that is quicker in one minute than in the next is so for both. Both are there all the time; the one that is not asked is at rest.`,
  n: BESIDE_MANY.n,
  goalsFrom: BESIDE_MANY.goalsFrom,
  runs: 5,
  measures: [
    { name: 'processor', unit: 'ms/deployment', goal: { of: 'ratio', is: 'at most', limit: 1.1 } },
    ...ROLE_COSTS,
    { name: 'time', unit: 'ms/deployment' },
    ...MACHINE_COSTS,
  ],
  start: async (context) => {
    const count = context.n ?? BESIDE_MANY.n;
    const many = await filledWorld(context, count);
    const few = await filledWorld(context, fewer(count));
    const crowd = Math.min(MORE, fewer(count));
    let rounds = 0;
    const round = (world: FilledWorld) => () => {
      rounds += 1;
      return more(world, crowd, `more-${rounds}-`);
    };
    return {
      ours: round(many),
      floor: round(few),
      notes: () => [
        `Beside ${count} and ${fewer(count)}, ${crowd} more a round, after one that does not count.`,
        many.berth.note,
      ],
      // By its name it is the last of those that share the many.
      stop: async () => {
        await few.stop();
        await many.stop();
      },
    };
  },
};
