/** Runs `berth --version` in the file system of an image, without a container runtime. */
import { execFile } from 'node:child_process';
import { globSync, mkdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { ImageConfig } from './base-image.ts';
import { blobPath, type Manifest, readBlob } from './oci-layout.ts';

const run = promisify(execFile);

/** The architecture of this machine, as images name it. */
export const ownPlatform = () => `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`;

/** Files whose names start with this prefix remove a file of the layers below (layer.md, "Whiteouts"). */
const WHITEOUT = '.wh.';
const OPAQUE = '.wh..wh..opq';

/** Removes what the whiteouts of a layer name. Called before the layer itself is unpacked. */
function applyWhiteouts(root: string, paths: readonly string[]): void {
  for (const path of paths) {
    const [folder, name] = [join(root, dirname(path)), basename(path)];
    if (name === OPAQUE)
      for (const entry of globSync('{*,.*}', { cwd: folder }))
        rmSync(join(folder, entry), { recursive: true, force: true });
    else if (name.startsWith(WHITEOUT))
      rmSync(join(folder, name.slice(WHITEOUT.length)), { recursive: true, force: true });
  }
}

/** Unpacks the layers of an image into a folder. Devices are left out, because creating them needs more rights. */
export async function unpackImage(layout: string, manifest: Manifest, root: string): Promise<void> {
  mkdirSync(root, { recursive: true });
  for (const { digest } of manifest.layers) {
    const file = blobPath(layout, digest);
    const { stdout } = await run('tar', ['--list', '--file', file], { maxBuffer: 1 << 28 });
    applyWhiteouts(root, stdout.split('\n'));
    const leaveOut = [`--exclude=${WHITEOUT}*`, '--exclude=dev/*', '--exclude=./dev/*'];
    await run('tar', ['--extract', '--file', file, '--directory', root, '--no-same-owner', ...leaveOut]);
  }
}

/** Root changes its root folder. Other users need a user namespace. */
const inside = (root: string): [string, ...string[]] =>
  process.getuid?.() === 0 ? ['chroot', root] : ['unshare', '--map-root-user', `--root=${root}`];

/** The first folders are those of the image. The others, for chroot, do not exist there. */
const pathWith = (folders: string | undefined) =>
  [folders, process.env['PATH'], '/usr/sbin', '/sbin'].filter(Boolean).join(':');

const messageOf = (cause: unknown) =>
  (cause as { stderr?: string }).stderr?.trim() || (cause as Error).message;

/** Why this machine cannot run an image of a platform. Undefined: it can. */
export async function whyNotRun(platform: string): Promise<string | undefined> {
  if (platform !== ownPlatform()) return `this machine is ${ownPlatform()}`;
  const [program, ...args] = inside('/');
  try {
    await run(program, [...args, 'true'], { env: { PATH: pathWith(undefined) } });
    return undefined;
  } catch (cause) {
    return `this user cannot change the root folder (${messageOf(cause)})`;
  }
}

/**
 * Runs the entry point of an image with `--version`.
 * @returns what it prints
 * @throws Error with its message
 */
export async function versionInImage(layout: string, digest: string, work: string): Promise<string> {
  const manifest = readBlob<Manifest>(layout, digest);
  const { config } = readBlob<ImageConfig>(layout, manifest.config.digest);
  const root = join(work, 'rootfs');
  await unpackImage(layout, manifest, root);
  const pairs = (config?.Env ?? []).map((line) => [
    line.slice(0, line.indexOf('=')),
    line.slice(line.indexOf('=') + 1),
  ]);
  const variables = Object.fromEntries(pairs) as Record<string, string>;
  const env = { ...variables, PATH: pathWith(variables['PATH']) };
  const [program, ...args] = inside(root);
  try {
    const { stdout } = await run(program, [...args, ...(config?.Entrypoint ?? []), '--version'], { env });
    return stdout.trim();
  } catch (cause) {
    throw new Error(
      `failed to run \`berth --version\` in the image: ${messageOf(cause)}; next: check that the base contains Node 24`,
      { cause },
    );
  }
}
