import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Measure, Sample } from '../bench.ts';
import { cpuShare, processUsage, watchUsage } from '../process-usage.ts';
import { ROLES } from './berth.ts';
import { isRead, isWrite, summaryOf, untilQuiet } from './recording.ts';
import { BESIDE_MANY, filledWorld, MEMORY_GOAL, secondsBeside } from './sides.ts';

/** The shortest and the longest time in seconds: with 5,000 deployments five minutes, so that watches end in this time. */
const SECONDS = [15, 300] as const;
const MINUTE_S = 60;
const MS = 1000;

const atMost = (limit: number) => ({ of: 'value', is: 'at most', limit }) as const;
const ROLE_MEASURES: readonly Measure[] = ROLES.flatMap((role) => [
  { name: `${role} processor`, unit: '% of a core', goal: atMost(1) },
  { name: `${role} memory`, unit: 'MiB', goal: MEMORY_GOAL },
]);

export const bench: Bench = {
  name: 'steady',
  what: `{n} deployments, switched off, without changes: the requests of listener and operator to the API server, counted by a proxy, and the processor time and memory of each role. Requests for leases are counted separately: the listener reads the Lease of the operators to know that the cluster responds.`,
  ...BESIDE_MANY,
  measures: [
    { name: 'writes', unit: 'a minute', goal: atMost(0) },
    { name: 'reads', unit: 'a minute', goal: atMost(0) },
    { name: 'lease writes', unit: 'a minute' },
    { name: 'lease reads', unit: 'a minute' },
    { name: 'watches reopened', unit: 'a minute and kind', goal: atMost(0.2) },
    ...ROLE_MEASURES,
    { name: 'processor of all roles', unit: '% of a core' },
  ],
  start: async (context) => {
    const count = context.n ?? BESIDE_MANY.n;
    const { berth } = await filledWorld(context, count);
    const { proxy } = berth;
    const seconds = secondsBeside(count, SECONDS);
    let watches = 0;
    let requests = '';
    const ours = async (): Promise<Sample> => {
      watches = proxy.openWatches().length;
      // Continues after the timeout, because endless work is to be measured.
      await untilQuiet(proxy).catch((error: Error) => context.log(error.message));
      proxy.clear();
      const samplers = ROLES.map((role) => ({ role, usage: watchUsage(berth.pidOf(role)) }));
      await sleep(seconds * MS);
      const taken = samplers.map(({ role, usage }) => ({
        role,
        processor: 100 * cpuShare(usage.stop()),
        memory: processUsage(berth.pidOf(role)).rssMib,
      }));
      const seen = proxy.exchanges();
      // All requests except leases and watches count, also periodic ones.
      const calls = seen.filter(({ verb }) => verb !== 'watch');
      const work = calls.filter(({ resource }) => resource !== 'leases');
      const leases = calls.filter(({ resource }) => resource === 'leases');
      const reopened = seen.length - calls.length;
      requests = summaryOf(work) || 'nothing';
      const perMinute = (calls: number) => (calls * MINUTE_S) / seconds;
      const writes = work.filter(isWrite).length;
      const leaseReads = leases.filter(isRead).length;
      return {
        writes: perMinute(writes),
        reads: perMinute(work.length - writes),
        'lease writes': perMinute(leases.length - leaseReads),
        'lease reads': perMinute(leaseReads),
        'watches reopened': perMinute(reopened) / watches,
        ...Object.fromEntries(
          taken.flatMap(({ role, processor, memory }) => [
            [`${role} processor`, processor],
            [`${role} memory`, memory],
          ]),
        ),
        'processor of all roles': taken.reduce((sum, { processor }) => sum + processor, 0),
      };
    };
    return {
      ours,
      notes: () => [
        `${count} deployments, ${seconds} s a round, ${watches} watches. Requests except leases and watches: ${requests}. Not included: each watch lists again every 30 to 40 minutes ([decision 0046](decisions/0046-recover-lost-events.md)). PostgreSQL is not in the share of the API. In a run with \`restart\`, the processes were restarted before. In a run with \`soak\`, they have collected all garbage some dozen times.`,
        berth.note,
      ],
    };
  },
};
