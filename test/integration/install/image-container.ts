/** Containers of an image whose root file system is unpacked, run by runc as the chart and the commands of the pages run them. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { resolveRunc } from '../../cluster/images/tools.ts';
import { uniqueName } from '../harness/environment.ts';

const run = promisify(execFile);

/** What an image says about its containers. */
export interface ImageConfig {
  User: string;
  Env: string[];
  Entrypoint: string[];
  Cmd: string[];
  Labels: Record<string, string>;
  Healthcheck: { Test: string[] };
}

interface RuncSpec {
  process: object;
  root: object;
  mounts: object[];
  linux: { namespaces: { type: string }[] };
}

/**
 * Starts a container with the network of this machine, without capabilities, on a root file system that is only read.
 * @param options.bundles folder with the root file system in `rootfs`, for the files of runc
 * @param options.args arguments of the entry point
 * @param options.settings environment variables, in addition to those of the image
 * @param options.folders folders of this machine, by their path in the container
 * @param options.workdir in one of these folders, the container runs as the user of this process, who can read and write it
 */
export async function startContainer(options: {
  readonly bundles: string;
  readonly config: ImageConfig;
  readonly args: readonly string[];
  readonly settings: Readonly<Record<string, string>>;
  readonly folders: Readonly<Record<string, string>>;
  readonly workdir: string;
}): Promise<ChildProcess> {
  const { bundles, config, args, settings, folders, workdir } = options;
  const runc = await resolveRunc();
  const bundle = join(bundles, uniqueName('bundle'));
  mkdirSync(bundle);
  await run(runc, ['spec', '--bundle', bundle]);
  const path = join(bundle, 'config.json');
  const spec = JSON.parse(readFileSync(path, 'utf8')) as RuncSpec;
  const [uid = 0, gid = 0] = config.User.split(':').map(Number);
  const own = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const capabilities = { bounding: [], effective: [], permitted: [], inheritable: [], ambient: [] };
  Object.assign(spec.process, {
    terminal: false,
    user: workdir in folders ? own : { uid, gid },
    args: [...config.Entrypoint, ...args],
    env: [...config.Env, ...Object.entries(settings).map(([name, value]) => `${name}=${value}`)],
    cwd: workdir,
    capabilities,
    noNewPrivileges: true,
  });
  spec.root = { path: join(bundles, 'rootfs'), readonly: true };
  spec.mounts.push({ destination: '/tmp', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'nodev'] });
  for (const [destination, source] of Object.entries(folders))
    spec.mounts.push({ destination, type: 'bind', source, options: ['bind', 'rw', 'nosuid', 'nodev'] });
  spec.linux.namespaces = spec.linux.namespaces.filter(({ type }) => type !== 'network');
  writeFileSync(path, JSON.stringify(spec));
  const state = join(bundles, 'runc');
  return spawn(runc, ['--root', state, 'run', '--bundle', bundle, uniqueName('berth')], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** What a container prints, and how it ends. */
export async function output(child: ChildProcess): Promise<{ code: number | null; text: string }> {
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (text += String(chunk)));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, text };
}
