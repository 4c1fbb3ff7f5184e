/** One round of requests to one server, and what they cost the server. */
import type { Measure, Sample } from '../bench.ts';
import type { Load, LoadJob } from '../load/load.ts';
import { processUsage } from '../process-usage.ts';
import type { Goal } from '../statistics.ts';
import type { ApiProcess } from './hub.ts';

/** Number of requests in progress at any time. */
export const CONNECTIONS = 16;

const MS = 1000;

/** Measures of each round. @param share goal for the rate, as a share of the floor's rate; null: no goal */
export function requestMeasures(share: number | null): Measure[] {
  const goal: Goal | null = share === null ? null : { of: 'ratio', is: 'at least', limit: share };
  return [
    { name: 'rate', unit: 'req/s', ...(goal === null ? {} : { goal }) },
    { name: 'p50', unit: 'ms' },
    { name: 'p99', unit: 'ms' },
    { name: 'processor', unit: 'ms/req' },
    { name: 'memory', unit: 'MiB' },
  ];
}

type Job = Pick<LoadJob, 'method' | 'paths' | 'headers' | 'body' | 'requests' | 'expected'>;

let rounds = 0;

/** Runs a round, and measures the server before and after it. */
export async function requestRound(load: Load, server: ApiProcess, job: Job): Promise<Sample> {
  rounds += 1;
  const before = processUsage(server.pid);
  const result = await load.run({
    ...job,
    url: server.url,
    namePrefix: `load-${rounds}-`,
    connections: CONNECTIONS,
  });
  const after = processUsage(server.pid);
  return {
    rate: job.requests / result.seconds,
    p50: result.p50Ms,
    p99: result.p99Ms,
    processor: ((after.cpuSeconds - before.cpuSeconds) * MS) / job.requests,
    memory: after.rssMib,
  };
}
