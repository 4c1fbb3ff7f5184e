import { createHash } from 'node:crypto';
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { UsageError } from '../../command/usage-error.ts';
import { type Limits, sizeText, tooLarge } from './limits.ts';
import type { SourceFolder } from './source.ts';
import { tarOf } from './tar.ts';

/** A folder as one compressed file. */

export interface Archive {
  /** Bytes. */
  readonly size: number;
  /** SHA-256 in hexadecimal digits. */
  readonly digest: string;
  /** The content, from its start. It can be read several times. */
  chunks(): AsyncGenerator<Uint8Array>;
  /** Removes the file. */
  close(): Promise<void>;
}

const CHUNK_BYTES = 256 * 1024;

/**
 * Opens a temporary file without a name, so that it does not remain when the process is killed. Windows may keep the name
 * while the file is open.
 */
async function openTemporary(): Promise<{ handle: FileHandle; close(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-deploy-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const handle = await open(join(folder, 'source.tar.gz'), 'wx+', 0o600);
    const isRemoved = await remove().then(
      () => true,
      () => false,
    );
    return {
      handle,
      close: async () => {
        await handle.close();
        if (!isRemoved) await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function* chunksOf(handle: FileHandle, size: number): AsyncGenerator<Uint8Array> {
  for (let position = 0; position < size; ) {
    // Each part has its own memory, because the receiver may still use the previous one.
    const { bytesRead, buffer } = await handle.read(
      Buffer.allocUnsafe(CHUNK_BYTES),
      0,
      CHUNK_BYTES,
      position,
    );
    if (bytesRead === 0) throw new Error('failed to read the temporary file: it is shorter than before');
    yield buffer.subarray(0, bytesRead);
    position += bytesRead;
  }
}

interface Written {
  readonly size: number;
  readonly digest: string;
}

async function write(
  folder: SourceFolder,
  handle: FileHandle,
  stopped: AbortSignal,
  { packedBytes, unpackedBytes }: Limits,
): Promise<Written> {
  const hash = createHash('sha256');
  let size = 0;
  const exceeds = (what: string, maxBytes: number) =>
    tooLarge(`${what} is larger than the limit of ${sizeText(maxBytes)}`, folder.entries, 'bytes');
  // The sum of the files is checked earlier. The archive also has headers of long paths, and an end.
  async function* checked(unpacked: AsyncIterable<Uint8Array>) {
    let bytes = 0;
    for await (const chunk of unpacked) {
      bytes += chunk.length;
      if (bytes > unpackedBytes) throw exceeds('the archive without compression', unpackedBytes);
      yield chunk;
    }
  }
  const store = async (packed: AsyncIterable<Buffer>) => {
    for await (const chunk of packed) {
      size += chunk.length;
      if (size > packedBytes) throw exceeds('the packed folder', packedBytes);
      hash.update(chunk);
      await handle.appendFile(chunk);
    }
  };
  // Node writes neither a time nor a name into the header.
  await pipeline(Readable.fromWeb(tarOf(folder)), checked, createGzip(), store, { signal: stopped });
  return { size, digest: hash.digest('hex') };
}

/** Errors of the folder for temporary files. Those of the folder that is packed are UsageErrors already. */
const TEMPORARY: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT', 'ENOENT', 'EACCES', 'EROFS']);

function asUsageError(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  return TEMPORARY.has(code)
    ? new UsageError(`failed to write to the folder for temporary files, ${tmpdir()} (${code}). Set TMPDIR`)
    : error;
}

/**
 * Packs a folder into a temporary file. The same folder gives the same bytes, with the same version of Node on the same
 * platform. The caller closes it.
 * @throws UsageError when an entry cannot be read or was changed, or the archive is too large
 */
export async function pack(folder: SourceFolder, stopped: AbortSignal, limits: Limits): Promise<Archive> {
  const { handle, close } = await openTemporary().catch((error) => {
    throw asUsageError(error);
  });
  try {
    const written = await write(folder, handle, stopped, limits);
    return { ...written, chunks: () => chunksOf(handle, written.size), close };
  } catch (error) {
    await close();
    throw asUsageError(error);
  }
}
