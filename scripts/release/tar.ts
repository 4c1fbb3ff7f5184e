/** Tar files whose bytes depend only on the names and contents of their entries, and on one date. */
import { createReadStream, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { type Header, type Pack, pack } from 'tar-stream';

/** An entry of a tar file. Folders that contain an entry need no entry of their own. */
export type TarEntry = { readonly path: string } & (
  | { readonly content: Buffer | string; readonly executable?: boolean }
  /** A file of this machine, which may be larger than the memory. */
  | { readonly file: string; readonly executable?: boolean }
  | { readonly link: string }
  | { readonly folder: true }
);

/**
 * The files, links and folders below a folder.
 * @param prefix path of the folder in the tar file; empty: its root
 */
export function folderEntries(folder: string, prefix: string): TarEntry[] {
  const at = (name: string) => (prefix === '' ? name : `${prefix}/${name}`);
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry): TarEntry[] => {
    const [path, source] = [at(entry.name), join(folder, entry.name)];
    if (entry.isDirectory()) return [{ path, folder: true }, ...folderEntries(source, path)];
    if (entry.isSymbolicLink()) return [{ path, link: readlinkSync(source) }];
    return [{ path, file: source, executable: (statSync(source).mode & 0o100) !== 0 }];
  });
}

/**
 * The entries in the order in which a tar file contains them: sorted by path, each folder before its contents.
 * @throws Error if two entries have the same path
 */
export function inOrder(entries: readonly TarEntry[]): TarEntry[] {
  const byPath = new Map<string, TarEntry>();
  for (const entry of entries) {
    const known = byPath.get(entry.path);
    if (known !== undefined && !('folder' in known && 'folder' in entry))
      throw new Error(`failed to create a tar file: two entries have the path ${entry.path}`);
    byPath.set(entry.path, entry);
    const parts = entry.path.split('/');
    for (let depth = 1; depth < parts.length; depth++) {
      const path = parts.slice(0, depth).join('/');
      if (!byPath.has(path)) byPath.set(path, { path, folder: true });
    }
  }
  return [...byPath.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Owner root, one date, and one of two modes, whatever the umask and the owner of the files are. */
function headerOf(entry: TarEntry, time: Date): Partial<Header> & { name: string } {
  const common = { name: entry.path, mtime: time, uid: 0, gid: 0, uname: '', gname: '' };
  if ('folder' in entry) return { ...common, name: `${entry.path}/`, type: 'directory', mode: 0o755 };
  if ('link' in entry) return { ...common, type: 'symlink', linkname: entry.link, mode: 0o777 };
  return { ...common, type: 'file', mode: entry.executable ? 0o755 : 0o644 };
}

/** Files up to this size are read as a whole, which is faster than a stream for each. */
const SMALL_BYTES = 1024 * 1024;

async function addFile(tar: Pack, header: Partial<Header> & { name: string }, file: string): Promise<void> {
  const { size } = statSync(file);
  if (size <= SMALL_BYTES) return add(tar, header, readFileSync(file));
  await pipeline(createReadStream(file), tar.entry({ ...header, size }) as unknown as NodeJS.WritableStream);
}

function add(tar: Pack, header: Partial<Header> & { name: string }, content: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    tar.entry(header, content, (error) => (error ? reject(error) : resolve()));
  });
}

/**
 * The tar file as a stream.
 * @param time modification time of every entry, in whole seconds
 */
export function tarStream(entries: readonly TarEntry[], time: Date): Readable {
  const tar = pack();
  const fill = async () => {
    for (const entry of inOrder(entries)) {
      const header = headerOf(entry, time);
      if ('file' in entry) await addFile(tar, header, entry.file);
      else await add(tar, header, Buffer.from('content' in entry ? entry.content : ''));
    }
    tar.finalize();
  };
  fill().catch((error: Error) => tar.destroy(error));
  return tar as unknown as Readable;
}

/** Compresses with gzip. Node writes neither a time nor a name into the header. */
export const gzip = () => createGzip({ level: 9 });

/** A tar file, compressed with gzip, in memory. */
export async function tarGz(entries: readonly TarEntry[], time: Date): Promise<Buffer> {
  const chunks: Buffer[] = [];
  await pipeline(tarStream(entries, time), gzip(), async (output: AsyncIterable<Buffer>) => {
    for await (const chunk of output) chunks.push(chunk);
  });
  return Buffer.concat(chunks);
}
