/** Archives that depend only on their contents: sorted entries, no owners, one time, fixed modes. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

/** A file of an archive. */
export interface TarEntry {
  /** Path in the archive, such as `package/README.md`. */
  readonly path: string;
  readonly content: Buffer | string;
  readonly executable?: boolean;
}

const BLOCK = 512;
const NAME_BYTES = 100;
const PREFIX_BYTES = 155;

/** The name and the prefix of a header, which are joined with a slash. */
function splitPath(path: string): readonly [name: string, prefix: string] {
  if (Buffer.byteLength(path) <= NAME_BYTES) return [path, ''];
  for (let slash = path.indexOf('/'); slash !== -1; slash = path.indexOf('/', slash + 1)) {
    const [prefix, name] = [path.slice(0, slash), path.slice(slash + 1)];
    if (Buffer.byteLength(name) <= NAME_BYTES && Buffer.byteLength(prefix) <= PREFIX_BYTES)
      return [name, prefix];
  }
  throw new Error(`failed to archive ${path}: the path is too long for a tar header`);
}

/** A number as `digits` octal digits and a null byte. */
const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`;

/** The header of a regular file (POSIX.1-1988, "ustar"). */
function header({ path, executable = false }: TarEntry, size: number, seconds: number): Buffer {
  const [name, prefix] = splitPath(path);
  const block = Buffer.alloc(BLOCK);
  block.write(name, 0);
  block.write(octal(executable ? 0o755 : 0o644, 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  block.write(octal(size, 11), 124);
  block.write(octal(seconds, 11), 136);
  // The checksum is computed with spaces in its place.
  block.write(' '.repeat(8), 148);
  block.write('0', 156);
  block.write('ustar\x0000', 257);
  block.write(prefix, 345);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 6)} `, 148);
  return block;
}

/** @throws Error when a path is too long or occurs twice */
function tar(entries: readonly TarEntry[], time: Date): Buffer {
  const seconds = Math.floor(time.getTime() / 1000);
  const sorted = entries.toSorted((one, other) => (one.path < other.path ? -1 : 1));
  const blocks = sorted.flatMap((entry, index) => {
    if (entry.path === sorted[index + 1]?.path) throw new Error(`failed to archive ${entry.path} twice`);
    const content = Buffer.from(entry.content);
    const padding = Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK);
    return [header(entry, content.length, seconds), content, padding];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

/**
 * A tar archive, compressed with gzip. The bytes depend only on the entries, the time and the zlib of Node.
 * @throws Error when a path is too long or occurs twice
 */
export async function tarGz(entries: readonly TarEntry[], time: Date): Promise<Buffer> {
  return promisify(gzip)(tar(entries, time), { level: 9 });
}
