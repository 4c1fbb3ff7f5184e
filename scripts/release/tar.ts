/** Archives that depend only on their contents: sorted entries, no owners, one time, fixed modes. */
import { gzipSync } from 'node:zlib';

/** A file of an archive. */
export interface TarFile {
  /** Path in the archive, such as `package/README.md`. */
  readonly path: string;
  readonly content: Buffer | string;
  readonly isExecutable?: boolean;
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
function header({ path, isExecutable = false }: TarFile, size: number, seconds: number): Buffer {
  const [name, prefix] = splitPath(path);
  const block = Buffer.alloc(BLOCK);
  block.write(name, 0);
  block.write(octal(isExecutable ? 0o755 : 0o644, 7), 100);
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

/**
 * A tar archive of files.
 * @throws Error when a path is too long or occurs twice
 */
export function tar(files: readonly TarFile[], timestamp: Date): Buffer {
  const seconds = Math.floor(timestamp.getTime() / 1000);
  const sorted = files.toSorted((one, other) => (one.path < other.path ? -1 : 1));
  const blocks = sorted.flatMap((file, index) => {
    if (file.path === sorted[index + 1]?.path) throw new Error(`failed to archive ${file.path} twice`);
    const content = Buffer.from(file.content);
    return [
      header(file, content.length, seconds),
      content,
      Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK),
    ];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

/** Position of the operating system in the header of gzip (RFC 1952), and the value for an unknown one. */
const GZIP_SYSTEM = [9, 255] as const;

/** Compresses data with gzip. The result depends on the zlib of Node, and not on the time or the operating system. */
export function gzip(data: Buffer): Buffer {
  const compressed = gzipSync(data, { level: 9 });
  compressed[GZIP_SYSTEM[0]] = GZIP_SYSTEM[1];
  return compressed;
}
