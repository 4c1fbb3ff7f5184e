/** The contents of each base image. */
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { BinariesMissingError, type ResolveOptions } from '../binaries.ts';
import { type DebianTree, debianTree } from './debian-packages.ts';
import { entrypointOf } from './entrypoint.ts';
import { NPM, npmPackage } from './npm-package.ts';
import type { ImageConfig } from './oci-layout.ts';
import { linkApplets, linkMergedFolders, write, writeSystemFiles } from './root-files.ts';
import { addBuildkit, addNginx, BUILDKIT_TOOLS } from './stock-roots.ts';
import { imageToolVersion, resolveImageTools } from './tools.ts';

export const baseImageNames = [
  'static',
  'node',
  'node-git',
  'python',
  'postgres',
  'redis',
  'nginx',
  'buildkit',
] as const;
export type BaseImageName = (typeof baseImageNames)[number];

export interface BaseOptions extends ResolveOptions {
  /** Architecture of the image, as Node names it. Default: that of this machine. */
  architecture?: 'x64' | 'arm64';
}

/** The sources of the contents. */
export interface Parts {
  /** Identifies the contents. */
  version: string;
  /** Folder with the contents of Debian's packages. */
  debian: string;
  /** The same, or a folder with a busybox, for the architecture of this machine. */
  runnable: string;
  /** Folder of the npm package `node`, and its version. */
  node?: { folder: string; version: string };
  /** Folder of the npm package `npm`. */
  npm?: string;
  /** Absolute paths of programs that are built with Go. */
  programs?: readonly string[];
}

/** Incremented when the assembly of images changes. */
const RECIPE = 2;

const NODE_LIBRARIES = ['libc6', 'libstdc++6', 'libgcc-s1', 'libatomic1', 'busybox-static'];

const DEBIAN: Record<BaseImageName, DebianTree> = {
  static: { name: 'static', packages: ['busybox-static'] },
  node: { name: 'node', packages: NODE_LIBRARIES },
  'node-git': {
    name: 'node-git',
    packages: ['git', ...NODE_LIBRARIES],
    // Without perl, which clones do not need.
    dependencies: /^(lib(?!perl|error-perl)|zlib1g)/,
  },
  python: {
    name: 'python',
    packages: ['python3-minimal', 'libpython3-stdlib', 'python3-pip-whl', 'busybox-static'],
    // Without indirect dependencies that are no libraries, such as perl and dpkg.
    dependencies: /^(python3|lib(?!perl|gdbm|md0|selinux|acl|pcre)|zlib1g|media-types)/,
  },
  postgres: {
    // Its version depends on the distribution, such as postgresql-15.
    name: 'postgres',
    packages: ['postgresql', 'busybox-static'],
    // Without the JIT compiler (LLVM), which is larger than everything else.
    dependencies: /^(postgresql-(client-)?\d+$|lib(?!perl|llvm|z3|db|gdbm|icu-dev)|zlib1g|tzdata)/,
  },
  redis: {
    name: 'redis',
    packages: ['redis-server', 'redis-tools', 'busybox-static'],
    dependencies: /^(lib(?!perl)|lua-|zlib1g)/,
  },
  nginx: {
    name: 'nginx',
    packages: ['nginx', 'nginx-common', 'busybox-static'],
    dependencies: /^(lib(c6|crypt|gcc|pcre|ssl)|zlib1g)/,
  },
  buildkit: {
    name: 'buildkit',
    packages: ['runc', 'busybox-static'],
    dependencies: /^lib(c6|gcc|seccomp)/,
  },
};

/** @throws BinariesMissingError if a part is not available */
export async function partsOf(name: BaseImageName, options: BaseOptions): Promise<Parts> {
  if (process.platform !== 'linux') {
    throw new BinariesMissingError('Base images are made of the programs of this machine: it must be Linux.');
  }
  const { architecture = process.arch } = options;
  const debian = await debianTree({ ...DEBIAN[name], architecture }, options);
  const version = [RECIPE, basename(dirname(debian)), basename(debian), entrypointOf(name)].join(' ').trim();
  const native = architecture === process.arch;
  const runnable = native ? debian : await debianTree(DEBIAN.static, options);
  if (name === 'buildkit') return withPrograms({ version, debian, runnable }, options);
  if (!withNode(name)) return { version, debian, runnable };
  const node = native ? nodePackage() : await foreignNode(architecture, options);
  const npm = await npmPackage(NPM, options);
  return { version: `${version} node ${node.version} npm ${NPM.version}`, debian, runnable, node, npm };
}

/** BuildKit is not in Debian. The tests build it with Go, for the architecture of this machine. */
async function withPrograms(parts: Parts, options: BaseOptions): Promise<Parts> {
  const programs = Object.values(await resolveImageTools(BUILDKIT_TOOLS, options));
  return { ...parts, version: `${parts.version} buildkit ${imageToolVersion('buildkitd')}`, programs };
}

const withNode = (name: BaseImageName) => name === 'node' || name === 'node-git';

/** The Node that runs this project, as npm has installed it. */
function nodePackage(): { folder: string; version: string } {
  const folder = dirname(createRequire(import.meta.url).resolve('node/package.json'));
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
  if (existsSync(join(folder, 'bin', 'node'))) return { folder, version };
  throw new BinariesMissingError(
    `The base image of Node needs ${folder}/bin/node, which the package's install script makes: run npm install.`,
  );
}

/** The same Node for another architecture, from the package that the install script of `node` would install there. */
async function foreignNode(
  architecture: string,
  options: ResolveOptions,
): Promise<NonNullable<Parts['node']>> {
  const { version } = nodePackage();
  return { folder: await npmPackage({ name: `node-linux-${architecture}`, version }, options), version };
}

/** Creates `root` with the files of an image. Returns the configuration of the image. */
export async function assembleRoot(name: BaseImageName, parts: Parts, root: string): Promise<ImageConfig> {
  cpSync(parts.debian, root, { recursive: true, verbatimSymlinks: true });
  const unread = ['doc', 'man', 'locale', 'lintian', 'info', 'bug'].map((folder) => `usr/share/${folder}`);
  for (const path of unread) rmSync(join(root, path), { recursive: true, force: true });
  linkMergedFolders(root);
  writeSystemFiles(root);
  await linkApplets(root, parts.runnable);
  const environment = ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'];
  if (withNode(name)) return addNode(root, parts, environment);
  if (name === 'python') return addPython(root, environment);
  if (name === 'postgres') return addPostgres(root);
  if (name === 'redis') return addRedis(root, environment);
  if (name === 'nginx') return addNginx(root, environment);
  if (name === 'buildkit') return addBuildkit(root, environment, parts.programs ?? []);
  return { Env: environment, Cmd: ['/bin/sh'] };
}

function addNode(root: string, { node, npm }: Parts, environment: readonly string[]): ImageConfig {
  const [bin, modules] = [join(root, 'usr/local/bin'), join(root, 'usr/local/lib/node_modules')];
  mkdirSync(bin, { recursive: true });
  mkdirSync(modules, { recursive: true });
  copyFileSync(join(node?.folder ?? '', 'bin', 'node'), join(bin, 'node'));
  chmodSync(join(bin, 'node'), 0o755);
  cpSync(npm ?? '', join(modules, 'npm'), { recursive: true, verbatimSymlinks: true });
  for (const command of ['npm', 'npx'])
    symlinkSync(`../lib/node_modules/npm/bin/${command}-cli.js`, join(bin, command));
  // Scripts of packages use /usr/bin/env.
  mkdirSync(join(root, 'usr/bin'), { recursive: true });
  if (!existsSync(join(root, 'usr/bin/env'))) symlinkSync('/bin/busybox', join(root, 'usr/bin/env'));
  return { Env: [...environment, `NODE_VERSION=${node?.version}`], Cmd: ['node'] };
}

function addPython(root: string, environment: readonly string[]): ImageConfig {
  const wheels = readdirSync(join(root, 'usr/share/python-wheels'));
  const pip = wheels.find((file) => file.startsWith('pip-'));
  symlinkSync('python3', join(root, 'usr/bin/python'));
  const script = ['#!/bin/sh', `exec python3 /usr/share/python-wheels/${pip}/pip "$@"`];
  for (const command of ['pip', 'pip3']) write(root, `usr/local/bin/${command}`, script, 0o755);
  for (const version of readdirSync(join(root, 'usr/lib')).filter((file) => /^python3\.\d+$/.test(file))) {
    // An image contains one application, so pip may install packages globally.
    rmSync(join(root, 'usr/lib', version, 'EXTERNALLY-MANAGED'), { force: true });
  }
  if (!existsSync(join(root, 'usr/bin/env'))) symlinkSync('/bin/busybox', join(root, 'usr/bin/env'));
  return { Env: [...environment, 'PYTHONDONTWRITEBYTECODE=1'], Cmd: ['python3'] };
}

/** Has the properties of the official image on which Berth depends: user, entry point and signal. */
function addPostgres(root: string): ImageConfig {
  const [version = ''] = readdirSync(join(root, 'usr/lib/postgresql'));
  const home = join('usr/lib/postgresql', version);
  rmSync(join(root, home, 'lib/llvmjit.so'), { force: true });
  rmSync(join(root, home, 'lib/bitcode'), { recursive: true, force: true });
  mkdirSync(join(root, 'var/run/postgresql'), { recursive: true });
  chmodSync(join(root, 'var/run/postgresql'), 0o1777);
  write(root, 'usr/local/bin/docker-entrypoint.sh', [entrypointOf('postgres').trimEnd()], 0o755);
  return {
    Env: [
      `PATH=/${home}/bin:/usr/local/bin:/usr/bin:/bin`,
      'LANG=C.UTF-8',
      'PGDATA=/var/lib/postgresql/data',
    ],
    Entrypoint: ['docker-entrypoint.sh'],
    Cmd: ['postgres'],
    User: '999:999',
    StopSignal: 'SIGINT',
  };
}

function addRedis(root: string, environment: readonly string[]): ImageConfig {
  mkdirSync(join(root, 'data'), { recursive: true });
  chmodSync(join(root, 'data'), 0o777);
  write(root, 'usr/local/bin/docker-entrypoint.sh', [entrypointOf('redis').trimEnd()], 0o755);
  return {
    Env: environment,
    Entrypoint: ['docker-entrypoint.sh'],
    Cmd: ['redis-server', '--protected-mode', 'no'],
    WorkingDir: '/data',
    User: '999:999',
  };
}
