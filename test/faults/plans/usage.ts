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

export interface Usage {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly role: string;
  /** Bytes. */
  readonly rss: number;
  /** Bytes of the JavaScript heap in use, with garbage, or of live objects only (`liveUsage`). */
  readonly heap: number;
  readonly sockets: number;
  readonly files: number;
}

/** @throws Error where it is not told: 0 would be flat for ever */
function told(text: string, pattern: RegExp, what: string): number {
  const [, value] = pattern.exec(text) ?? [];
  const number = Number(value);
  if (value === undefined || !(number > 0))
    throw new Error(`failed to measure: ${what} does not tell ${pattern}`);
  return number;
}

function rssOf(pid: number): number {
  const status = `/proc/${pid}/status`;
  return told(readFileSync(status, 'utf8'), /^VmRSS:\s+(\d+) kB$/m, status) * 1024;
}

const HEAP = /^nodejs_heap_size_used_bytes(?:\{.*\})? (\S+)$/m;

/** As its own metrics tell. */
async function heapOf(process: RoleProcess): Promise<number> {
  const port = process.log().find(({ msg }) => msg === 'started')?.['metricsPort'];
  const response = await fetch(`http://127.0.0.1:${String(port)}/metrics`, {
    signal: AbortSignal.timeout(10_000),
  });
  return told(await response.text(), HEAP, `/metrics of ${process.name}`);
}

async function usageOf<P extends Pick<RoleProcess, 'name' | 'pid'>>(
  process: P,
  measure: (process: P) => Promise<number>,
): Promise<Usage> {
  // Before anything is collected: what only a collection closes counts.
  const { sockets, others: files } = openFiles(process.pid);
  const heap = await measure(process);
  return { at: Date.now(), role: process.name, rss: rssOf(process.pid), heap, sockets, files };
}

/** Of every role. */
export function usage(world: FaultWorld): Promise<Usage[]> {
  return Promise.all(world.processes().map((process) => usageOf(process, heapOf)));
}

const COLLECTED_MS = 20_000;
const LIVE_HEAP = join(tmpdir(), 'berth-live-heap-');

/** Of a plan that asks for `liveUsage`. */
export const COLLECTING: Readonly<Record<string, string>> = {
  NODE_OPTIONS: `--import=${fileURLToPath(new URL('../preload/live-heap.ts', import.meta.url))}`,
  FAULTS_LIVE_HEAP: LIVE_HEAP,
};

/** Bytes of live objects in heap and buffers of a process with `COLLECTING`, which collects its garbage first. */
async function liveHeapOf({ name, pid }: Pick<RoleProcess, 'name' | 'pid'>): Promise<number> {
  const file = `${LIVE_HEAP}${pid}`;
  rmSync(file, { force: true });
  // It does no harm, so that it is no fault that Berth is given its time after (`RoleProcess.signal`).
  process.kill(pid, 'SIGUSR2');
  const options = { timeoutMs: COLLECTED_MS, intervalMs: 20 };
  await waitFor(`${name} to collect its garbage`, async () => existsSync(file) || undefined, options);
  const heap = told(readFileSync(file, 'utf8'), /^(\d+)$/, file);
  rmSync(file);
  return heap;
}

/** Of a process with `COLLECTING`: its heap has only live objects. */
export const liveUsageOf = (process: Pick<RoleProcess, 'name' | 'pid'>) => usageOf(process, liveHeapOf);

/** Of every role, in a world with the settings of `COLLECTING`. */
export function liveUsage(world: FaultWorld): Promise<Usage[]> {
  return Promise.all(world.processes().map(liveUsageOf));
}

export const mib = (bytes: number) => `${(bytes / MIB).toFixed(1)} MiB`;

/**
 * How much more there is with each hour: the median of what lies between every two samples. One that was taken while a list
 * was under way, and is 2 MiB above the others, decides nothing (by least squares it is 2 MiB an hour in a quarter of one).
 * @param samples at least two, with milliseconds
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
