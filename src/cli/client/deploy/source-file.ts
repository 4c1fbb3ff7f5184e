import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { UsageError } from '../../command/usage-error.ts';
import { cell } from '../table.ts';
import type { SourceEntry } from './source.ts';

/** Reads the files of a folder as they were when the folder was read. */

/** @throws UsageError that names the entry */
export function packProblem(path: string, reason: string): UsageError {
  return new UsageError(`failed to pack ${cell(path)}: ${reason}`);
}

export const readProblem = (path: string, { code, message }: NodeJS.ErrnoException): UsageError =>
  packProblem(
    path,
    `it cannot be read (${code ?? message}). Change its permissions, or exclude it in .berthignore`,
  );

const changed = ({ path }: SourceEntry) =>
  packProblem(path, 'it was changed while the folder was packed. Run the command again');

/** Another process may have replaced the file: a link is not followed, and a fifo does not block. Windows has no such flags. */
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
/** Errors of a file that was removed or replaced by a link or a folder. */
const REPLACED: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO']);

async function opened(root: string, entry: SourceEntry): Promise<FileHandle> {
  return await open(join(root, entry.path), FLAGS).catch((error: NodeJS.ErrnoException) => {
    throw REPLACED.has(error.code) ? changed(entry) : readProblem(entry.path, error);
  });
}

async function checkUnchanged(handle: FileHandle, entry: SourceEntry): Promise<void> {
  const found = await handle.stat();
  if (!found.isFile() || found.size !== entry.size || found.mtimeMs !== entry.changed) throw changed(entry);
}

const CHUNK_BYTES = 256 * 1024;

/**
 * The content of a file, exactly as many bytes as the entry has.
 * @throws UsageError when it cannot be read, or was changed after the folder was read
 */
export async function* contentOf(root: string, entry: SourceEntry): AsyncGenerator<Uint8Array> {
  const handle = await opened(root, entry);
  try {
    await checkUnchanged(handle, entry);
    for (let left = entry.size; left > 0; ) {
      const length = Math.min(left, CHUNK_BYTES);
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(length), 0, length);
      if (bytesRead === 0) throw changed(entry);
      yield buffer.subarray(0, bytesRead);
      left -= bytesRead;
    }
    await checkUnchanged(handle, entry);
  } finally {
    await handle.close();
  }
}
