/** How soon readers of a stream of changes learn of a change, and what many readers cost the API. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Sample } from '../bench.ts';
import { processUsage } from '../process-usage.ts';
import { create } from './bodies.ts';
import type { ApiProcess, BenchHub } from './hub.ts';
import { seedDeployments } from './seed.ts';
import { withHub } from './sides.ts';
import { startWatchFloor } from './watch-floor.ts';
import { openReaders } from './watch-readers.ts';

const DEPLOYMENTS = 5_000;
/** One reader for so many deployments: 500 readers of 5,000 deployments, and few in a trial run with a small n. */
const DEPLOYMENTS_PER_READER = 10;
const readersOf = (deployments: number) => Math.max(1, Math.round(deployments / DEPLOYMENTS_PER_READER));
/** Number of changes of a round, and the time between two, in which a change reaches all readers. */
const CHANGES = 50;
const EVERY_MS = 100;
const MS = 1000;

/** The time at a part of sorted times. */
const partOf = (times: readonly number[], part: number) =>
  times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0;

/** Changes one deployment after the other, as reports of an operator do, and waits for the line of each reader. */
async function round(
  hub: BenchHub,
  server: ApiProcess,
  { ids, readers: count }: { readonly ids: readonly string[]; readonly readers: number },
  isFloor: boolean,
): Promise<Sample> {
  const readers = await openReaders(`${server.url}/v2/watch`, hub.apiKey, count);
  try {
    // Background work of the start ends.
    await sleep(MS);
    const before = processUsage(server.pid);
    const times: number[] = [];
    for (let change = 0; change < CHANGES; change += 1) {
      const id = ids[Math.floor((change * ids.length) / CHANGES)] ?? '';
      const arrived = readers.next(id);
      await hub.sql(
        `UPDATE deployments SET conditions = jsonb_build_array(jsonb_build_object('type', 'Ready', 'message', $2::text))
         WHERE id = $1`,
        [id, `${isFloor} ${performance.now()}`],
      );
      const at = performance.now();
      // A line can arrive before the response to the statement.
      times.push(...(await arrived).map((time) => Math.max(0, time - at)));
      await sleep(EVERY_MS);
    }
    times.sort((a, b) => a - b);
    const after = processUsage(server.pid);
    return {
      p50: partOf(times, 0.5),
      p99: partOf(times, 0.99),
      processor: ((after.cpuSeconds - before.cpuSeconds) * MS) / CHANGES,
      memory: after.rssMib,
    };
  } finally {
    readers.close();
  }
}

export const bench: Bench = {
  name: 'watch-readers',
  what: `A change of one of {n} deployments reaches ${readersOf(DEPLOYMENTS)} readers of GET /v2/watch (one for ${DEPLOYMENTS_PER_READER} deployments): the time from its commit to the line of a reader.`,
  n: DEPLOYMENTS,
  goalsFrom: DEPLOYMENTS,
  floor:
    'node:http and pg receive the same notification over one connection, and write a line of the same size to each reader. No key, no sweep, no limits.',
  runs: 5,
  measures: [
    { name: 'p50', unit: 'ms' },
    { name: 'p99', unit: 'ms', goal: { of: 'value', is: 'at most', limit: 1000 } },
    { name: 'processor', unit: 'ms/change' },
    { name: 'memory', unit: 'MiB' },
  ],
  start: (context) =>
    withHub(context, async (hub, _load, stack) => {
      const api = await hub.startApi('api');
      const { id } = await create(api.url, hub.apiKey, 'pattern');
      const count = context.n ?? DEPLOYMENTS;
      context.log(`seeding ${count} deployments`);
      const ids = await seedDeployments(hub, id, count);
      const load = { ids, readers: readersOf(count) };
      const ours = () => round(hub, api, load, false);
      const notes = () => [`${load.readers} readers, ${CHANGES} changes a round, one every ${EVERY_MS} ms.`];
      if (context.side !== undefined) return { ours, notes };
      const floor = await startWatchFloor(context, hub);
      stack.defer(() => floor.stop());
      return { ours, floor: () => round(hub, floor, load, true), notes };
    }),
};
