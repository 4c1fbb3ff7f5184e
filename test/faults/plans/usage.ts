/** What the roles use: memory, heap, open files. */
import { readFileSync } from 'node:fs';
import { openFiles } from '../role-process.ts';
import type { FaultWorld, RoleProcess } from '../world.ts';

export const MIB = 1024 * 1024;

export interface Usage {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly role: string;
  /** Bytes. */
  readonly rss: number;
  /** Bytes of the JavaScript heap in use, garbage that was not collected yet included. */
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

export async function usageOf(process: RoleProcess): Promise<Usage> {
  const heap = await heapOf(process);
  const { sockets, others: files } = openFiles(process.pid);
  return { at: Date.now(), role: process.name, rss: rssOf(process.pid), heap, sockets, files };
}

/** Of every role. */
export function usage(world: FaultWorld): Promise<Usage[]> {
  return Promise.all(world.processes().map(usageOf));
}

export const mib = (bytes: number) => `${(bytes / MIB).toFixed(1)} MiB`;
