/** The audit log of the run's cluster, which is that of all files and grows while it is read. */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { cluster } from './environment.ts';

/** Where the log ends now. */
export const auditedUntilNow = (): number => statSync(cluster().auditLogPath).size;

/** Whole lines since `from`: one that was half written then, or is now, is none of them. */
export function auditedSince(from: number): string[] {
  const path = cluster().auditLogPath;
  // With the byte before, an end of line unless `from` was in the middle of one.
  const begin = Math.max(from - 1, 0);
  const bytes = Buffer.alloc(statSync(path).size - begin);
  const file = openSync(path, 'r');
  const length = readSync(file, bytes, 0, bytes.length, begin);
  closeSync(file);
  return bytes
    .subarray(0, length)
    .toString('utf8')
    .split('\n')
    .slice(from === 0 ? 0 : 1, -1);
}
