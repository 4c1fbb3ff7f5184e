import { createTarPacker, type TarHeader, type TarPackController } from 'modern-tar';
import type { SourceEntry, SourceFolder } from './source.ts';
import { contentOf } from './source-file.ts';

/** A folder as a tar archive, which depends only on the paths and contents of the entries. */

/** The time of every entry, as in packages of npm. Zip files that a build creates cannot contain times before 1980. */
const TIME = new Date('1985-10-26T08:15:00Z');

function headerOf({ path, size, isExecutable, target }: SourceEntry): TarHeader {
  const common = { name: path, mtime: TIME, uid: 0, gid: 0 };
  return target === null
    ? { ...common, type: 'file', size, mode: isExecutable ? 0o755 : 0o644 }
    : { ...common, type: 'symlink', size: 0, mode: 0o777, linkname: target };
}

async function add({ root, entries }: SourceFolder, tar: TarPackController): Promise<void> {
  for (const entry of entries) {
    const body = tar.add(headerOf(entry)).getWriter();
    if (entry.target === null) for await (const chunk of contentOf(root, entry)) await body.write(chunk);
    await body.close();
  }
  tar.finalize();
}

/** The archive. It is written while it is read. An error of an entry ends the stream. */
export function tarOf(folder: SourceFolder): ReadableStream<Uint8Array> {
  const { readable, controller } = createTarPacker();
  add(folder, controller).catch((error) => controller.error(error));
  return readable;
}
