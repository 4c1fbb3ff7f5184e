import { CONNECTIONS } from '../api/measure.ts';
import type { Bench, Sample } from '../bench.ts';
import { Apps } from './apps.ts';
import { ASKED } from './asked.ts';
import { ROLES } from './berth.ts';
import { MACHINE_COSTS, measured, ROLE_COSTS } from './costs.ts';
import { fill, progressOf } from './fill.ts';
import { EACH_ITS_OWN, ONE_TENANT, openStage, play } from './playing.ts';
import { statusesOf } from './recording.ts';
import { body } from './samples.ts';
import { besideNothing, inOwnWorld, recordingOf, WARM } from './sides.ts';

const DEPLOYMENTS = 20;
const MS = 1000;
const GOAL = { of: 'ratio', is: 'at most', limit: 1.35 } as const;

/** Compared with the writes of many tenants, of which as many are in progress as a role allows in total. */
const NO_SHARE = 'time, beside writes with no share for others';

/** The names of the costs of the machine, compared with those writes. */
const noShareOf = (name: string) => `${name}, beside no share`;

const withNoShare = (costs: Sample): Sample =>
  Object.fromEntries(MACHINE_COSTS.map(({ name }) => [noShareOf(name), costs[name] ?? Number.NaN]));

export const bench: Bench = {
  name: 'converge',
  what: `Time from the first of {n} POST requests over ${CONNECTIONS} connections until every object of every deployment exists and its status says so. The deployments are switched off: no pod runs. Each round has a new Kubernetes, and starts with ${WARM} deployments that do not count.`,
  floor:
    'A program repeats the writes that listener and operator sent for such a deployment, every object and every status, with other names. It uses two clients with the settings of the roles, and has as many writes in progress as the roles have for one tenant (decision 0048). It has no API and no database, and reads and decides nothing. With no share for others: each deployment has a tenant of its own, so that as many writes are in progress as the roles have for all tenants, in a separate Kubernetes. On both sides, the bench watches every kind.',
  n: DEPLOYMENTS,
  goalsFrom: 1000,
  runs: 1,
  fresh: true,
  measures: [
    { name: 'time', unit: 's', goal: GOAL },
    { name: NO_SHARE, unit: 's', only: 'floor', goal: GOAL },
    { name: 'rate', unit: 'deployments/s' },
    { name: 'statuses', unit: 'writes/deployment' },
    ...ROLE_COSTS,
    ...ASKED,
    ...MACHINE_COSTS,
    ...MACHINE_COSTS.map(({ name, unit }) => ({ name: noShareOf(name), unit, only: 'floor' }) as const),
  ],
  start: async (context) => {
    const recording = await recordingOf(context, 'converge', (name) => body(name, 0));
    const count = context.n ?? DEPLOYMENTS;
    const { log } = context;
    const { objects, waves, summary, reads } = recording;
    let note = '';
    const ours = () =>
      inOwnWorld(context, 'converge', async ({ berth, apps, load }): Promise<Sample> => {
        note = berth.note;
        await fill(berth, apps, load, { count: WARM, prefix: 'warm-', objects });
        const { result, costs } = await measured(berth, count, ROLES, () =>
          fill(berth, apps, load, { count, prefix: 'round-', objects, log }),
        );
        const { seconds, statuses } = result;
        return {
          time: seconds,
          [NO_SHARE]: seconds,
          rate: count / seconds,
          statuses,
          ...costs,
          ...withNoShare(costs),
        };
      });
    const writes = (tenant: string | typeof EACH_ITS_OWN) =>
      besideNothing(context, 'floor', async (berth): Promise<{ seconds: number; costs: Sample }> => {
        await using stage = await openStage(recording, berth);
        const player = stage.player(tenant);
        await using _watches = await Apps.start(berth.admin, berth.namespace);
        await play(player, { prefix: 'warm', count: WARM });
        const reportProgress = progressOf(count, log);
        const { result: seconds, costs } = await measured(berth, count, [], async () => {
          const began = performance.now();
          let done = 0;
          await play(player, { prefix: 'floor', count }, () => {
            done += 1;
            reportProgress(done);
          });
          return (performance.now() - began) / MS;
        });
        return { seconds, costs };
      });
    const floor = async (): Promise<Sample> => {
      const { seconds, costs } = await writes(ONE_TENANT);
      const noShare = await writes(EACH_ITS_OWN);
      return {
        time: seconds,
        [NO_SHARE]: noShare.seconds,
        rate: count / seconds,
        statuses: statusesOf(recording),
        ...costs,
        ...withNoShare(noShare.costs),
      };
    };
    return {
      ours,
      floor,
      notes: () => [
        `${count} deployments a round, ${objects} objects each, by ${waves.flat().length} writes: ${summary}. Berth also reads: ${reads}.`,
        note,
      ],
    };
  },
};
