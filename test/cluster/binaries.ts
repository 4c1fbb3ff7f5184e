/**
 * Finds the programs of the local cluster, and builds missing ones.
 *
 * Each program is taken from the first of: the folder KUBEBUILDER_ASSETS (the convention of envtest), the cache folder
 * outside of the checkout, a build with Go from the pinned modules next to this file.
 */
import { accessSync, constants, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildWithGo } from './build-with-go.ts';

export type BinaryName =
  | 'etcd'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kube-scheduler'
  | 'kubectl'
  | 'kwok';

/** Absolute path of each program. */
export type ClusterBinaries = Record<BinaryName, string>;

/** An upstream module, and how to build its programs. */
export interface BinaryGroup<Name extends string = string> {
  name: string;
  version: string;
  /** Folder of the Go module that pins it. */
  moduleDir: string;
  /** Go package of each program. */
  packages: Partial<Record<Name, string>>;
  ldflags: string[];
  /** Build tags. Default: none. */
  tags?: readonly string[];
}

/** The programs cannot be found or built. The message contains the next step. */
export class BinariesMissingError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BinariesMissingError';
  }
}

export interface ResolveOptions {
  env?: NodeJS.ProcessEnv;
  log?: (line: string) => void;
  /** Folders in which Go is searched, in addition to the PATH. */
  goFolders?: readonly string[];
}

const here = dirname(fileURLToPath(import.meta.url));

/** Version of a module in the go.mod that pins it. This is the only place with the version. */
export function pinnedVersion(goMod: string, module: string): string {
  const line = goMod.split('\n').find((candidate) => {
    const words = candidate
      .trim()
      .replace(/^require\s+/, '')
      .split(/\s+/);
    return words[0] === module && /^v\d/.test(words[1] ?? '');
  });
  const version = line?.match(/\sv\S+/)?.[0].trim();
  if (!version) throw new Error(`failed to read the version of ${module}: not required by go.mod`);
  return version;
}

/** Commands of Kubernetes in the pinned version. */
export function kubernetesGroup<Name extends string>(names: readonly Name[]): BinaryGroup<Name> {
  const moduleDir = join(here, 'control-plane');
  const version = pinnedVersion(readFileSync(join(moduleDir, 'go.mod'), 'utf8'), 'k8s.io/kubernetes');
  const packages = Object.fromEntries(names.map((name) => [name, `k8s.io/kubernetes/cmd/${name}`]));
  return {
    name: 'kubernetes',
    version,
    moduleDir,
    packages: packages as Partial<Record<Name, string>>,
    ldflags: kubernetesVersionFlags(version),
  };
}

function groups(): BinaryGroup<BinaryName>[] {
  const tools = join(here, 'tools');
  const toolsMod = readFileSync(join(tools, 'go.mod'), 'utf8');
  const kwok = pinnedVersion(toolsMod, 'sigs.k8s.io/kwok');
  return [
    kubernetesGroup(['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl']),
    {
      name: 'etcd',
      version: pinnedVersion(toolsMod, 'go.etcd.io/etcd/server/v3'),
      moduleDir: tools,
      packages: { etcd: 'go.etcd.io/etcd/server/v3' },
      ldflags: [],
    },
    {
      name: 'kwok',
      version: kwok,
      moduleDir: tools,
      packages: { kwok: 'sigs.k8s.io/kwok/cmd/kwok' },
      ldflags: [`-X sigs.k8s.io/kwok/pkg/consts.Version=${kwok}`],
    },
  ];
}

/** Without these flags, a build has the version v0.0.0-master+$Format:%H$, which version checks of clients reject. */
function kubernetesVersionFlags(version: string): string[] {
  const [, major, minor] = /^v(\d+)\.(\d+)/.exec(version) ?? [];
  return ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].flatMap((pkg) => [
    `-X ${pkg}.gitVersion=${version}`,
    `-X ${pkg}.gitMajor=${major}`,
    `-X ${pkg}.gitMinor=${minor}`,
    `-X ${pkg}.gitTreeState=clean`,
  ]);
}

/** Folder of built programs: ${XDG_CACHE_HOME:-~/.cache}/berth/bin. */
export function cacheRoot(env: NodeJS.ProcessEnv): string {
  return join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'berth', 'bin');
}

/**
 * Paths of all programs of the cluster. Builds missing ones, which takes minutes once per version.
 * @throws BinariesMissingError if a program is missing and Go is not installed
 */
export async function resolveBinaries(options: ResolveOptions = {}): Promise<ClusterBinaries> {
  const found: Partial<ClusterBinaries> = {};
  for (const group of groups()) {
    const names = Object.keys(group.packages) as BinaryName[];
    Object.assign(found, await resolveGroup(group, names, installHint, options));
  }
  return found as ClusterBinaries;
}

/** Path of kubectl, for use with an existing cluster. A kubectl on the PATH is good enough. */
export async function resolveKubectl(options: ResolveOptions = {}): Promise<string> {
  const env = options.env ?? process.env;
  const onPath = locateBinary('kubectl', pathFolders(env));
  const [kubernetes] = groups();
  if (onPath || !kubernetes) return onPath ?? 'kubectl';
  const { kubectl } = await resolveGroup(kubernetes, ['kubectl'], installHint, options);
  return kubectl;
}

/**
 * Paths of some programs of a group. Builds missing ones.
 * @param advice error message if programs are missing and Go is not installed
 * @throws BinariesMissingError
 */
export async function resolveGroup<Name extends string>(
  group: BinaryGroup<Name>,
  names: readonly Name[],
  advice: (missing: readonly Name[]) => string,
  options: ResolveOptions,
): Promise<Record<Name, string>> {
  const env = options.env ?? process.env;
  const log = options.log ?? ((line: string) => console.error(line));
  const cacheDir = join(cacheRoot(env), `${group.name}-${group.version}-${process.platform}-${process.arch}`);
  const found = {} as Record<Name, string>;
  const locate = (): Name[] =>
    names.filter((name) => {
      const path = locateBinary(name, [env['KUBEBUILDER_ASSETS'], cacheDir]);
      if (path !== undefined) found[name] = path;
      return path === undefined;
    });
  const missing = locate();
  if (missing.length === 0) return found;
  const go = resolveGo(options);
  if (!go) throw new BinariesMissingError(advice(missing));
  await buildWithGo({ go, group, names: missing, cacheDir, env, log });
  const still = locate();
  if (still.length > 0) throw new Error(`failed to build ${still.join(', ')}: no program in ${cacheDir}`);
  return found;
}

/** Path of the go command; undefined: Go is not installed. */
export function resolveGo({ env = process.env, goFolders }: ResolveOptions): string | undefined {
  return locateBinary('go', [...pathFolders(env), ...(goFolders ?? ['/usr/local/go/bin'])]);
}

function pathFolders(env: NodeJS.ProcessEnv): string[] {
  return (env['PATH'] ?? '').split(delimiter);
}

function locateBinary(name: string, folders: readonly (string | undefined)[]): string | undefined {
  return folders
    .map((folder) => (folder ? join(folder, name) : ''))
    .find((path) => path !== '' && isExecutable(path));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function installHint(missing: readonly string[]): string {
  return [
    `The local Kubernetes needs ${missing.join(', ')}, and there is no Go to build ${missing.length > 1 ? 'them' : 'it'} with. Do one of these:`,
    '  - install Go 1.26 or newer (https://go.dev/dl) and try again: the build takes 5 to 10 minutes, once;',
    '  - set KUBEBUILDER_ASSETS to a folder that holds these programs;',
    '  - use a cluster of your own: --kubeconfig <file> (for the tests: BERTH_TEST_KUBECONFIG=<file>).',
  ].join('\n');
}
