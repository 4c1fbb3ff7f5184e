/**
 * Base images for builds without a public registry. They are built from packages of Debian and npm, cached as OCI image
 * layouts, and pushed to the registry of a test.
 *
 * `static`: busybox. `node`: node and npm like the official images, with busybox as shell. `node-git`: `node` with git.
 * `python`: python3 and pip, with busybox. `nginx`: like the official image. `buildkit`: its daemon and client. None contains CA
 * certificates or a package manager of a distribution.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cacheRoot } from '../binaries.ts';
import { withLock } from '../lock.ts';
import {
  assembleRoot,
  type BaseImageName,
  type BaseOptions,
  baseImageNames,
  type Parts,
  partsOf,
} from './base-roots.ts';
import { crane } from './crane.ts';
import { writeOciLayout } from './oci-layout.ts';

export { type BaseImageName, baseImageNames };

export interface PushedImage {
  /** `127.0.0.1:port/base/node:latest`. */
  readonly ref: string;
  /** Digest of its manifest, `sha256:…`. */
  readonly digest: string;
}

export interface PushOptions extends BaseOptions {
  /** Default: `base/<name>:latest`. */
  repository?: string;
  /** Folder with credentials, for a registry with passwords: see `crane`. */
  dockerConfig?: string;
}

/**
 * Pushes a base image to a registry. Builds it first if it is not in the cache (seconds, once).
 * @param host `127.0.0.1:port`
 * @throws BinariesMissingError if its parts are not available
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

/** Folder of the image in the cache, as an OCI image layout. */
export async function baseImage(name: BaseImageName, options: BaseOptions = {}): Promise<string> {
  const log = options.log ?? ((line: string) => console.error(line));
  const parts = await partsOf(name, options);
  const key = createHash('sha256').update(parts.version).digest('hex').slice(0, 12);
  const home = join(dirname(cacheRoot(options.env ?? process.env)), 'images');
  const { architecture = process.arch } = options;
  const folder = join(home, `${name}-${key}-${architecture}`);
  mkdirSync(home, { recursive: true });
  const onWait = (pid: number) =>
    log(`Waiting for process ${pid}, which is already building the image ${name} …`);
  return await withLock(`${folder}.lock`, onWait, async () => {
    if (existsSync(folder)) return folder;
    log(`Building the base image ${name} in ${folder}, once …`);
    await make(name, parts, folder, architecture);
    return folder;
  });
}

async function make(name: BaseImageName, parts: Parts, folder: string, architecture: string): Promise<void> {
  const temporary = mkdtempSync(`${folder}.tmp-`);
  try {
    const [root, layout] = [join(temporary, 'root'), join(temporary, 'layout')];
    const config = await assembleRoot(name, parts, root);
    await writeOciLayout(layout, root, config, architecture);
    renameSync(layout, folder);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}
