/**
 * Finds the programs of the local cluster, and builds missing ones.
 *
 * Each program is taken from the first of: the folder KUBEBUILDER_ASSETS (the convention of envtest), the cache folder
 * outside of the checkout, the PATH (only for the demo, and if the version fits), a build with Go from the pinned modules
 * next to this file.
 */
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { locate, pathFolders } from './executables.ts';
import { buildWithGo, type GoBuild } from './go/build.ts';
import { type ProgramOnPath, programsOnPath } from './path-programs.ts';

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
  /** Whether programs on the PATH are used if their version fits. Default: false, so that tests run the pinned versions. */
  usePath?: boolean;
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

/**
 * Folder of the module that pins Kubernetes: the default one, or that of BERTH_TEST_KUBERNETES (a minor version such as
 * 1.35), which `npm run compat` sets.
 */
function kubernetesModule(env: NodeJS.ProcessEnv): string {
  const minor = env['BERTH_TEST_KUBERNETES'];
  return minor ? join(here, '..', 'compat', 'kubernetes', minor) : join(here, 'control-plane');
}

/** Commands of Kubernetes in the pinned version. */
export function kubernetesGroup<Name extends string>(
  names: readonly Name[],
  env: NodeJS.ProcessEnv = process.env,
): BinaryGroup<Name> {
  const moduleDir = kubernetesModule(env);
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
  const kubernetes = kubernetesGroup<BinaryName>([
    'kube-apiserver',
    'kube-controller-manager',
    'kube-scheduler',
    'kubectl',
  ]);
  const defaultModule = join(here, 'control-plane');
  const kwok = pinnedVersion(readFileSync(join(defaultModule, 'go.mod'), 'utf8'), 'sigs.k8s.io/kwok');
  const etcdDir = join(here, 'etcd');
  return [
    kubernetes,
    {
      name: 'kwok',
      version: kwok,
      // The module of the default Kubernetes, because most packages of kwok are those of Kubernetes.
      moduleDir: defaultModule,
      packages: { kwok: 'sigs.k8s.io/kwok/cmd/kwok' },
      ldflags: [`-X sigs.k8s.io/kwok/pkg/consts.Version=${kwok}`],
    },
    {
      name: 'etcd',
      version: pinnedVersion(readFileSync(join(etcdDir, 'go.mod'), 'utf8'), 'go.etcd.io/etcd/server/v3'),
      moduleDir: etcdDir,
      packages: { etcd: 'go.etcd.io/etcd/server/v3' },
      ldflags: [],
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
  return await resolveAll(everyProgram(), installHint, options);
}

/** The programs of the cluster that `resolveBinaries` would build. */
export async function missingBinaries(options: ResolveOptions = {}): Promise<BinaryName[]> {
  const wanted = everyProgram();
  const found = await find(wanted, { ...options, log: () => {} });
  return wanted.flatMap(({ names }) => names.filter((name) => !(name in found)));
}

/** The programs of a group that `resolveGroup` would build. */
export async function missingOf<Name extends string>(
  group: BinaryGroup<Name>,
  options: ResolveOptions = {},
): Promise<Name[]> {
  const names = Object.keys(group.packages) as Name[];
  const found = await find([{ group, names }], options);
  return names.filter((name) => !(name in found));
}

/** Path of kubectl, for use with an existing cluster. A kubectl on the PATH is good enough. */
export async function resolveKubectl(options: ResolveOptions = {}): Promise<string> {
  const env = options.env ?? process.env;
  const onPath = locate('kubectl', pathFolders(env));
  if (onPath) return onPath;
  const { kubectl } = await resolveGroup(kubernetesGroup(['kubectl']), ['kubectl'], installHint, options);
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
  return await resolveAll([{ group, names }], advice, options);
}

/** Programs of a group. */
interface Wanted<Name extends string> {
  readonly group: BinaryGroup<Name>;
  readonly names: readonly Name[];
}

function everyProgram(): Wanted<BinaryName>[] {
  return groups().map((group) => ({ group, names: Object.keys(group.packages) as BinaryName[] }));
}

async function resolveAll<Name extends string>(
  wanted: readonly Wanted<Name>[],
  advice: (missing: readonly Name[]) => string,
  options: ResolveOptions,
): Promise<Record<Name, string>> {
  const env = options.env ?? process.env;
  const log = options.log ?? ((line: string) => console.error(line));
  const found = await find(wanted, { ...options, log });
  const absent = wanted
    .map(({ group, names }) => ({ group, names: names.filter((name) => !(name in found)) }))
    .filter(({ names }) => names.length > 0);
  if (absent.length === 0) return found;
  const go = resolveGo(options);
  if (!go) throw new BinariesMissingError(advice(absent.flatMap(({ names }) => names)));
  await buildWithGo({ go, builds: buildsOf(absent, env), cacheRoot: cacheRoot(env), env, log });
  const built = await find(absent, { env, log });
  const still = absent.flatMap(({ names }) => names.filter((name) => !(name in built)));
  if (still.length > 0)
    throw new Error(`failed to build ${still.join(', ')}: no program in ${cacheRoot(env)}`);
  return { ...found, ...built };
}

/** The programs that exist. */
async function find<Name extends string>(
  wanted: readonly Wanted<Name>[],
  options: ResolveOptions,
): Promise<Record<Name, string>> {
  const env = options.env ?? process.env;
  const found = {} as Record<Name, string>;
  const onPath: ProgramOnPath[] = [];
  for (const { group, names } of wanted) {
    for (const name of names) {
      const path = locate(name, [env['KUBEBUILDER_ASSETS'], cacheDir(group, env)]);
      if (path !== undefined) found[name] = path;
      const other = path === undefined && options.usePath ? locate(name, pathFolders(env)) : undefined;
      if (other !== undefined) onPath.push({ name, path: other, pinned: group.version });
    }
  }
  const log = options.log ?? (() => {});
  return { ...found, ...((await programsOnPath(onPath, env, log)) as Record<Name, string>) };
}

function cacheDir({ name, version }: BinaryGroup, env: NodeJS.ProcessEnv): string {
  return join(cacheRoot(env), `${name}-${version}-${process.platform}-${process.arch}`);
}

/** One build for each module. */
function buildsOf(wanted: readonly Wanted<string>[], env: NodeJS.ProcessEnv): GoBuild[] {
  const modules = Map.groupBy(wanted, ({ group }) => group.moduleDir);
  return [...modules].map(([moduleDir, parts]) => ({
    moduleDir,
    programs: parts.flatMap(({ group, names }) =>
      names.map((name) => ({
        name,
        goPackage: group.packages[name] ?? name,
        folder: cacheDir(group, env),
      })),
    ),
    ldflags: parts.flatMap(({ group }) => group.ldflags),
    tags: parts.flatMap(({ group }) => group.tags ?? []),
  }));
}

/** Path of the go command; undefined: Go is not installed. */
export function resolveGo({ env = process.env, goFolders }: ResolveOptions): string | undefined {
  return locate('go', [...pathFolders(env), ...(goFolders ?? ['/usr/local/go/bin'])]);
}

function installHint(missing: readonly string[]): string {
  return [
    `The local Kubernetes needs ${missing.join(', ')}, and there is no Go to build ${missing.length > 1 ? 'them' : 'it'} with. Do one of these:`,
    '  - install Go 1.26 or newer (https://go.dev/dl) and try again: the build takes 5 to 10 minutes, once;',
    '  - set KUBEBUILDER_ASSETS to a folder that holds these programs;',
    '  - use a cluster of your own: --kubeconfig <file> (for the tests: BERTH_TEST_KUBECONFIG=<file>).',
  ].join('\n');
}
