import { UsageError } from '../../command/usage-error.ts';
import { cell } from '../table.ts';
import type { SourceEntry } from './source.ts';

/** Limits of an upload. They are checked before it starts, so that a folder that is too large is not sent. */

const MIB = 1024 * 1024;

export interface Limits {
  /** Bytes of the archive as it is sent. */
  readonly packedBytes: number;
  /** Bytes of the archive before it is compressed. */
  readonly unpackedBytes: number;
  readonly entries: number;
}

/** The limits of the API with its default policy. */
export const LIMITS: Limits = { packedBytes: 64 * MIB, unpackedBytes: 512 * MIB, entries: 50_000 };
/** The largest limits that a policy can have. */
export const MAX_LIMITS: Limits = {
  packedBytes: 1024 * MIB,
  unpackedBytes: 16 * 1024 * MIB,
  entries: 200_000,
};

/** Bytes of the path of an entry, and of each of its parts. */
const PATH_BYTES = 1024;
const NAME_BYTES = 255;

/** A number of bytes for people. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < MIB ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / MIB).toFixed(1)} MiB`;
}

const BLOCK = 512;

/** Least bytes of an entry in the archive: its header, and its content in whole blocks. A long path has another header. */
const archivedBytes = ({ size }: SourceEntry): number => BLOCK + Math.ceil(size / BLOCK) * BLOCK;

export const totalBytes = (entries: readonly SourceEntry[]): number =>
  entries.reduce((sum, { size }) => sum + size, 0);

interface Total {
  /** Of a folder: with a slash at its end. */
  readonly path: string;
  readonly bytes: number;
  readonly count: number;
}

/** The entries of the first level, with all that they contain, and each file below. */
function totals(entries: readonly SourceEntry[]): Total[] {
  const groups = Map.groupBy(entries, ({ path }) => path.replace(/\/.*$/, '/'));
  const first = [...groups].map(([path, members]) => ({
    path,
    bytes: totalBytes(members),
    count: members.length,
  }));
  const below = entries.filter(({ path }) => path.includes('/'));
  return [...first, ...below.map(({ path, size }) => ({ path, bytes: size, count: 1 }))];
}

const SHOWN = 6;

const totalText = ({ path, bytes, count }: Total) =>
  `${cell(path)} (${sizeText(bytes)}${path.endsWith('/') ? ` in ${count} files` : ''})`;

/**
 * The error of a folder that is too large. It names the largest entries.
 * @param by the measure that exceeds its limit
 */
export function tooLarge(reason: string, entries: readonly SourceEntry[], by: 'bytes' | 'count'): UsageError {
  const largest = totals(entries)
    .toSorted((a, b) => b[by] - a[by])
    .slice(0, SHOWN);
  return new UsageError(
    `${reason}; its largest entries: ${largest.map(totalText).join(', ')}. Exclude what the build does not need in .gitignore or .berthignore`,
  );
}

/**
 * Checks what is known before the folder is packed. The size of the archive is checked while it is written.
 * @throws UsageError when the upload would exceed a limit
 */
export function checkLimits(entries: readonly SourceEntry[], limits: Limits): void {
  if (entries.length > limits.entries)
    throw tooLarge(`the folder has more than ${limits.entries} files`, entries, 'count');
  const unpacked = entries.reduce((sum, entry) => sum + archivedBytes(entry), 0);
  if (unpacked <= limits.unpackedBytes) return;
  const limit = sizeText(limits.unpackedBytes);
  throw tooLarge(`the folder has ${sizeText(unpacked)}, more than the limit of ${limit}`, entries, 'bytes');
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: matches control characters on purpose
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/**
 * Why the API rejects a name. null: it does not.
 * @param path relative to the folder, with slashes
 */
export function nameProblem(path: string): string | null {
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (CONTROL.test(name)) return 'its name has a control character';
  // Node replaces invalid UTF-8 with U+FFFD.
  if (name.includes('\uFFFD') || !name.isWellFormed()) return 'its name is not UTF-8';
  if (Buffer.byteLength(name) > NAME_BYTES) return `its name has more than ${NAME_BYTES} bytes`;
  return Buffer.byteLength(path) > PATH_BYTES ? `its path has more than ${PATH_BYTES} bytes` : null;
}
