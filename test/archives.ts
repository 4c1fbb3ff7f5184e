import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';

/** Archives of folders for tests, also invalid ones. */

export interface ArchiveFile {
  readonly name: string;
  /** Default: file. Any type, also one that is not allowed. */
  readonly type?: string;
  readonly content?: string | Buffer;
  readonly linkname?: string;
  readonly mode?: number;
  /** Values of an extended header, which replace those of the entry. */
  readonly pax?: Readonly<Record<string, string>>;
}

/** The archive without compression. */
export async function tarOf(files: readonly ArchiveFile[]): Promise<Buffer> {
  const archive = pack();
  const parts: Uint8Array[] = [];
  const read = (async () => {
    for await (const part of archive) parts.push(part as Uint8Array);
  })();
  for (const { name, type = 'file', content = '', linkname, mode = 0o644, pax } of files) {
    const header = { name, type, linkname, mode, mtime: new Date(0), ...(pax === undefined ? {} : { pax }) };
    archive.entry(header as Parameters<typeof archive.entry>[0], Buffer.from(content));
  }
  archive.finalize();
  await read;
  return Buffer.concat(parts);
}

/** The archive with another type of its first entry, such as `x` for an extended header. */
export function retyped(tar: Buffer, flag: string): Buffer {
  const made = Buffer.from(tar);
  made.write(flag, 156);
  made.fill(' ', 148, 156);
  const sum = made.subarray(0, 512).reduce((all, byte) => all + byte, 0);
  made.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return made;
}

/** The archive as it is uploaded. */
export const gzipped = async (files: readonly ArchiveFile[]): Promise<Buffer> => gzipSync(await tarOf(files));
