/**
 * Base images for builds where no registry of the world is reached: made here from Debian's packages and npm's, kept in
 * the cache as OCI image layouts, and pushed to the registry of a test.
 *
 * `static`: busybox alone. `node`: node and npm, as official images have them, with busybox for a shell; `node-git`: with
 * git besides. `python`: python3 and pip, likewise. None holds certificates of authorities or a package manager of a distribution.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cacheRoot, type ResolveOptions } from '../binaries.ts';
import { withLock } from '../lock.ts';
import { assembleRoot, type BaseImageName, baseImageNames, type Parts, partsOf } from './base-roots.ts';
import { crane } from './crane.ts';
import { writeOciLayout } from './oci-layout.ts';

export { type BaseImageName, baseImageNames };

export interface PushedImage {
  /** `127.0.0.1:port/base/node:latest`. */
  readonly ref: string;
  /** `sha256:…` of its manifest. */
  readonly digest: string;
}

export interface PushOptions extends ResolveOptions {
  /** Default `base/<name>:latest`. */
  repository?: string;
  /** For a registry that asks for a password: see `crane`. */
  dockerConfig?: string;
}

/**
 * Pushes a base image to a registry; makes it first where the cache does not have it (seconds, once).
 * @param host `127.0.0.1:port`
 * @throws BinariesMissingError where its parts cannot be had
 */
export async function pushBaseImage(
  name: BaseImageName,
  host: string,
  options: PushOptions = {},
): Promise<PushedImage> {
  const layout = await baseImage(name, options);
  const ref = `${host}/${options.repository ?? `base/${name}:latest`}`;
  const pushed = await crane(['push', layout, ref], options);
  return { ref, digest: pushed.slice(pushed.indexOf('@') + 1) };
}

/** Folder of the image as an OCI image layout, in the cache. */
export async function baseImage(name: BaseImageName, options: ResolveOptions = {}): Promise<string> {
  const log = options.log ?? ((line: string) => console.error(line));
  const parts = await partsOf(name, options);
  const key = createHash('sha256').update(parts.version).digest('hex').slice(0, 12);
  const home = join(dirname(cacheRoot(options.env ?? process.env)), 'images');
  const folder = join(home, `${name}-${key}-${process.arch}`);
  mkdirSync(home, { recursive: true });
  const onWait = (pid: number) =>
    log(`Waiting for process ${pid}, which is making the image ${name} already …`);
  return await withLock(`${folder}.lock`, onWait, async () => {
    if (existsSync(folder)) return folder;
    log(`Making the base image ${name} in ${folder}, once …`);
    await make(name, parts, folder);
    return folder;
  });
}

async function make(name: BaseImageName, parts: Parts, folder: string): Promise<void> {
  const temporary = mkdtempSync(`${folder}.tmp-`);
  try {
    const [root, layout] = [join(temporary, 'root'), join(temporary, 'layout')];
    const config = await assembleRoot(name, parts, root);
    await writeOciLayout(layout, root, config);
    renameSync(layout, folder);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}
