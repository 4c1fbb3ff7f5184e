/** Memory, heap and open files of the roles. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { summarise } from '../../bench/statistics.ts';
import { waitFor } from '../../cluster/wait.ts';
import { openFiles } from '../role-process.ts';
import type { FaultWorld, RoleProcess } from '../world.ts';

export const MIB = 1024 * 1024;
const MS_AN_HOUR = 3_600_000;

/** Memory and open files of one process. */
export interface Usage {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly role: string;
  /** Bytes. */
  readonly rss: number;
  /** Used bytes of the JavaScript heap: with garbage (`usage`), or of live objects only (`liveUsage`). */
  readonly heap: number;
  readonly sockets: number;
  readonly files: number;
}

/** The number that the pattern finds. @throws Error if the pattern finds no number, because 0 would hide a leak */
function readNumber(text: string, pattern: RegExp, what: string): number {
  const [, value] = pattern.exec(text) ?? [];
  const number = Number(value);
  if (value === undefined || !(number > 0))
    throw new Error(`failed to measure: ${what} does not match ${pattern}`);
  return number;
}

function rssOf(pid: number): number {
  const status = `/proc/${pid}/status`;
  return readNumber(readFileSync(status, 'utf8'), /^VmRSS:\s+(\d+) kB$/m, status) * 1024;
}

const HEAP = /^nodejs_heap_size_used_bytes(?:\{.*\})? (\S+)$/m;

/** Heap of a process, from its own metrics. */
async function heapOf(process: RoleProcess): Promise<number> {
  const port = process.log().find(({ msg }) => msg === 'started')?.['metricsPort'];
  const response = await fetch(`http://127.0.0.1:${String(port)}/metrics`, {
    signal: AbortSignal.timeout(10_000),
  });
  return readNumber(await response.text(), HEAP, `/metrics of ${process.name}`);
}

async function usageOf<P extends Pick<RoleProcess, 'name' | 'pid'>>(
  process: P,
  measure: (process: P) => Promise<number>,
): Promise<Usage> {
  // Before a collection, which may close leaked files.
  const { sockets, others: files } = openFiles(process.pid);
  const heap = await measure(process);
  return { at: Date.now(), role: process.name, rss: rssOf(process.pid), heap, sockets, files };
}

/** Usage of every role. The heap includes garbage. */
export function usage(world: FaultWorld): Promise<Usage[]> {
  return Promise.all(world.processes().map((process) => usageOf(process, heapOf)));
}

const COLLECTED_MS = 20_000;
const LIVE_HEAP = join(tmpdir(), 'berth-live-heap-');

/** Settings of a plan that calls `liveUsage`. */
export const COLLECTING: Readonly<Record<string, string>> = {
  NODE_OPTIONS: `--import=${fileURLToPath(new URL('../preload/live-heap.ts', import.meta.url))}`,
  FAULTS_LIVE_HEAP: LIVE_HEAP,
};

/** Bytes of live objects in heap and buffers of a process with `COLLECTING`, which collects its garbage first. */
async function liveHeapOf({ name, pid }: Pick<RoleProcess, 'name' | 'pid'>): Promise<number> {
  const file = `${LIVE_HEAP}${pid}`;
  rmSync(file, { force: true });
  // Not by `RoleProcess.signal`, which would count as a fault and extend the time limit of O1.
  process.kill(pid, 'SIGUSR2');
  const options = { timeoutMs: COLLECTED_MS, intervalMs: 20 };
  await waitFor(`${name} to collect its garbage`, async () => existsSync(file) || undefined, options);
  const heap = readNumber(readFileSync(file, 'utf8'), /^(\d+)$/, file);
  rmSync(file);
  return heap;
}

/** Usage of a process with `COLLECTING`. Its heap has only live objects. */
export const liveUsageOf = (process: Pick<RoleProcess, 'name' | 'pid'>) => usageOf(process, liveHeapOf);

/** Usage of every role, in a world with the settings of `COLLECTING`. */
export function liveUsage(world: FaultWorld): Promise<Usage[]> {
  return Promise.all(world.processes().map(liveUsageOf));
}

export const mib = (bytes: number) => `${(bytes / MIB).toFixed(1)} MiB`;

/**
 * Growth per hour: the median of the slopes between all pairs of samples (Theil-Sen), so single outliers have no effect. A
 * sample during a list may be 2 MiB above the others. In a quarter of an hour, least squares would turn this into 2 MiB an hour.
 * @param samples at least two, with times in milliseconds
 */
export function slopeAnHour<T extends { readonly at: number }>(
  samples: readonly T[],
  measured: (sample: T) => number,
): number {
  const slopes = samples.flatMap((from, index) =>
    samples.slice(index + 1).map((to) => ((measured(to) - measured(from)) / (to.at - from.at)) * MS_AN_HOUR),
  );
  return summarise(slopes).median;
}
