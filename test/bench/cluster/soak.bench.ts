import { setTimeout as sleep } from 'node:timers/promises';
import { liveUsageOf, MIB, slopeAnHour, type Usage } from '../../faults/plans/usage.ts';
import type { Bench, BenchContext, Sample } from '../bench.ts';
import { forgetPeak, processUsage } from '../process-usage.ts';
import { CLUSTER_ROLES, type ClusterBerth, type ClusterRole } from './berth.ts';
import { untilQuiet } from './recording.ts';
import { BESIDE_MANY, filledWorld, MEMORY_GOAL, secondsBeside } from './sides.ts';

/** The shortest and the longest warm-up, in seconds: with 5,000 deployments 15 minutes. */
const WARM_SECONDS = [30, 900] as const;
/** The measured time as a multiple of the warm-up. In a longer time, a change of 0.1 MiB matters less. */
const COUNTED = 2;
const CUT_EVERY_MS = 3_000;
/** How the watches are cut, one after the other. After the last cut, everything is listed again and a sample is taken. */
const CYCLE = ['end', 'reset', 'end', 'reset', 'end', 'reset', 'end', 'gone-event'] as const;
const QUIET_MS = 1_500;
const MS = 1000;
const AN_HOUR = { of: 'value', is: 'at most', limit: 1 } as const;

export const bench: Bench = {
  name: 'soak',
  what: `{n} deployments, switched off, without changes, while every watch of listener and operator breaks every ${CUT_EVERY_MS / MS} s, with a pause after every ${CYCLE.length}th time. A watch ends normally, by a reset, or, once in ${CYCLE.length} times, because the server no longer has its version, so that everything is listed again. growth: of the live heap after a full collection at the end of each such cycle, as the median of the slopes between all pairs. Half of this time runs before and does not count. resident growth: the same of the resident memory, which includes what V8 and the C library keep. memory: the maximum of the resident memory. memory at rest, sockets: at the end of the first and of the last cycle, after a full collection.`,
  ...BESIDE_MANY,
  measures: [
    { name: 'breaks', unit: 'of each watch' },
    ...CLUSTER_ROLES.flatMap((role) => [
      { name: `${role} growth`, unit: 'MiB an hour', goal: AN_HOUR },
      { name: `${role} resident growth`, unit: 'MiB an hour', goal: AN_HOUR },
      { name: `${role} live heap`, unit: 'MiB' },
      { name: `${role} memory`, unit: 'MiB', goal: MEMORY_GOAL },
      { name: `${role} memory at rest, at first`, unit: 'MiB' },
      { name: `${role} memory at rest`, unit: 'MiB' },
      { name: `${role} sockets at first`, unit: 'open' },
      { name: `${role} sockets`, unit: 'open' },
    ]),
  ],
  start: async (context) => {
    const count = context.n ?? BESIDE_MANY.n;
    const { berth } = await filledWorld(context, count);
    const warmSeconds = secondsBeside(count, WARM_SECONDS);
    const seconds = COUNTED * warmSeconds;
    context.log(`${warmSeconds} s of warm-up, until caches are full`);
    await soak(context, berth, warmSeconds, new Map());
    context.log(`${seconds} s of measurement`);
    let lines = new Map<ClusterRole, Usage[]>();
    const ours = async (): Promise<Sample> => {
      lines = new Map(CLUSTER_ROLES.map((role) => [role, []]));
      for (const role of CLUSTER_ROLES) forgetPeak(berth.pidOf(role));
      const breaks = await soak(context, berth, seconds, lines);
      const figures = [...lines].flatMap(([role, line]) => {
        const [first, last] = [line[0], line.at(-1)];
        return [
          [`${role} growth`, slopeAnHour(line, ({ heap }) => heap / MIB)],
          [`${role} resident growth`, slopeAnHour(line, ({ rss }) => rss / MIB)],
          [`${role} live heap`, (last?.heap ?? Number.NaN) / MIB],
          [`${role} memory`, processUsage(berth.pidOf(role)).peakMib],
          [`${role} memory at rest, at first`, (first?.rss ?? Number.NaN) / MIB],
          [`${role} memory at rest`, (last?.rss ?? Number.NaN) / MIB],
          [`${role} sockets at first`, first?.sockets ?? Number.NaN],
          [`${role} sockets`, last?.sockets ?? Number.NaN],
        ];
      });
      return { breaks, ...Object.fromEntries(figures) };
    };
    return {
      ours,
      notes: () => [
        `${count} deployments, ${seconds} s a round, ${[...lines.values()][0]?.length} cycles.`,
        berth.note,
      ],
    };
  },
};

/** Cuts the watches and takes samples. Returns the number of cuts per watch. */
async function soak(
  { log }: BenchContext,
  { proxy, pidOf }: ClusterBerth,
  seconds: number,
  lines: ReadonlyMap<ClusterRole, Usage[]>,
): Promise<number> {
  const until = performance.now() + seconds * MS;
  let broken = 0;
  // Some watches may be reconnecting, so this is the maximum that was open.
  let watches = 0;
  const onCut = () => {
    broken += 1;
  };
  while (performance.now() < until) {
    for (const how of CYCLE) {
      watches = Math.max(watches, proxy.openWatches().length);
      const rule = proxy.add({
        match: ({ verb }) => verb === 'watch',
        fault: { kind: 'cut-watch', afterEvents: 0, how, onCut },
      });
      await sleep(0);
      rule.remove();
      await sleep(CUT_EVERY_MS);
    }
    await untilQuiet(proxy, QUIET_MS).catch((error: Error) => log(error.message));
    // Recorded requests are not needed any more.
    proxy.clear();
    for (const [role, line] of lines) line.push(await liveUsageOf({ name: role, pid: pidOf(role) }));
  }
  return broken / watches;
}
