/** The log of a process, a line of JSON each, from a place on: what stands before it may be much, and is not read. */
import { closeSync, existsSync, fstatSync, openSync, readSync, statSync } from 'node:fs';

/** In bytes; 0: there is none yet. Where what is written from now on begins. */
export function logSize(path: string): number {
  return existsSync(path) ? statSync(path).size : 0;
}

/** What a log holds from a place on, as it is. */
export function logText(path: string, from: number): string {
  if (!existsSync(path)) return '';
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(Math.max(0, fstatSync(file).size - from));
    return bytes.toString('utf8', 0, readSync(file, bytes, 0, bytes.length, from));
  } finally {
    closeSync(file);
  }
}

/** The lines of JSON that were written from a place on; those of another form (a stack, say) and half ones are passed over. */
export function logLines(path: string, from: number): Record<string, unknown>[] {
  return logText(path, from)
    .split('\n')
    .slice(0, -1)
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
