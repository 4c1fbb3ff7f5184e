import { createWriteStream } from 'node:fs';
import { link, mkdir, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ArchiveReader, type OnEntry } from '../../archive/archive-reader.ts';
import type { ArchiveLimits } from '../../domain/uploads/archive-limits.ts';

/** Unpacks an uploaded archive into a new folder. Only entries that the rules accept are written. */

/** Owner, times, and modes other than the executable bit are those of this process, not of the archive. */
const FILE_MODE = 0o644;
const EXECUTABLE_MODE = 0o755;
const isExecutable = (mode: number) => (mode & 0o111) !== 0;

/** Writes entries below a folder. No part of their paths is a link, because the rules reject such entries. */
function writer(into: string): OnEntry {
  return async (entry, { mode }, content) => {
    if (entry.kind === 'root') return;
    const path = join(into, entry.path);
    if (entry.kind === 'folder') {
      await mkdir(path, { recursive: true });
      return;
    }
    await mkdir(dirname(path), { recursive: true });
    switch (entry.kind) {
      case 'symlink':
        return symlink(entry.target, path);
      case 'hardlink':
        return link(join(into, entry.file), path);
      default: {
        // `wx`: an existing file or link is an error.
        const options = { flags: 'wx', mode: isExecutable(mode) ? EXECUTABLE_MODE : FILE_MODE };
        await pipeline(Readable.from(content), createWriteStream(path, options));
      }
    }
  };
}

/**
 * Unpacks an archive.
 * @param into a folder that exists and is empty
 * @throws ArchiveViolation; the error of `packed`; an error of the file system
 */
export async function unpack(
  packed: AsyncIterable<Uint8Array>,
  into: string,
  limits: ArchiveLimits,
): Promise<void> {
  const reader = new ArchiveReader(limits, writer(into));
  try {
    for await (const part of packed) await reader.write(part);
    await reader.end();
  } finally {
    reader.destroy();
  }
}
