/**
 * Programs and libraries of Debian's packages, unpacked into the cache. Nothing is installed on the machine. Needs apt and
 * dpkg (Debian, or a distribution based on it), but not root.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { BinariesMissingError, cacheRoot, type ResolveOptions } from '../binaries.ts';
import { withLock } from '../lock.ts';

type Run = (command: string, args: readonly string[], cwd?: string) => Promise<string>;

/** Returns a function that runs programs and returns their output. */
const runner =
  (env: NodeJS.ProcessEnv): Run =>
  async (command, args, cwd) =>
    (await promisify(execFile)(command, args, { cwd, env, maxBuffer: 1 << 26 })).stdout;

export interface DebianTree {
  /** Name of its folder in the cache. */
  name: string;
  /** The version of the first package identifies the tree. */
  packages: readonly string[];
  /** Dependencies that are unpacked too, including indirect ones. Default: no dependencies. */
  dependencies?: RegExp;
  /** Architecture of the packages, as Node names it. Default: that of this machine. */
  architecture?: string;
}

/**
 * Folder with the contents of these packages. Their version is the one that the machine's sources offer at the first call. It
 * cannot be pinned, because Debian's mirrors keep no older versions. `packages.txt` next to the folder lists the packages.
 * @throws BinariesMissingError if apt is missing or cannot download the packages
 */
export async function debianTree(wanted: DebianTree, options: ResolveOptions = {}): Promise<string> {
  const log = options.log ?? ((line: string) => console.error(line));
  const env = options.env ?? process.env;
  const run = runner(env);
  const { architecture = process.arch } = wanted;
  const folder = folderOf(wanted, env);
  const home = dirname(folder);
  mkdirSync(home, { recursive: true });
  const onWait = (pid: number) =>
    log(`Waiting for process ${pid}, which is already unpacking ${wanted.name} …`);
  return await withLock(`${folder}.lock`, onWait, async () => {
    const present = unpackedIn(folder);
    if (present) return present;
    log(`Unpacking Debian's ${wanted.packages.join(', ')} into ${folder}, once …`);
    const temporary = mkdtempSync(`${folder}.tmp-`);
    try {
      // apt keeps the lists of one set of architectures.
      const aptHome = join(home, architecture === process.arch ? 'apt' : `apt-${architecture}`);
      const files = await download(wanted, join(temporary, 'deb'), aptHome, run);
      const version = versionOf(files, wanted.packages[0] ?? '');
      const tree = join(temporary, version);
      for (const file of files) await run('dpkg-deb', ['--extract', join(temporary, 'deb', file), tree]);
      rmSync(join(temporary, 'deb'), { recursive: true });
      writeFileSync(join(temporary, 'packages.txt'), `${files.join('\n')}\n`);
      renameSync(temporary, folder);
      return join(folder, version);
    } catch (cause) {
      rmSync(temporary, { recursive: true, force: true });
      throw cause instanceof BinariesMissingError ? cause : unavailable(wanted.packages, cause);
    }
  });
}

function folderOf(wanted: DebianTree, env: NodeJS.ProcessEnv): string {
  const recipe = createHash('sha256').update(JSON.stringify([wanted.packages, `${wanted.dependencies}`]));
  const { architecture = process.arch } = wanted;
  const name = `${wanted.name}-${recipe.digest('hex').slice(0, 8)}-${process.platform}-${architecture}`;
  return join(dirname(cacheRoot(env)), 'debian', name);
}

/** The folder that an earlier call of `debianTree` created. null: no call created it. */
export function unpackedTree(wanted: DebianTree, env: NodeJS.ProcessEnv = process.env): string | null {
  return unpackedIn(folderOf(wanted, env)) ?? null;
}

/** The only folder in it has the name of the version. */
function unpackedIn(folder: string): string | undefined {
  if (!existsSync(folder)) return undefined;
  const version = readdirSync(folder).find((entry) => entry !== 'packages.txt');
  return version && join(folder, version);
}

/** Downloads the packages. Returns their sorted file names: `<name>_<version>_<architecture>.deb`. */
async function download(wanted: DebianTree, into: string, aptHome: string, run: Run): Promise<string[]> {
  mkdirSync(into, { recursive: true });
  const sandbox = process.getuid?.() === 0 ? ['-o', 'APT::Sandbox::User=root'] : [];
  const attempt = async (settings: readonly string[]): Promise<void> => {
    const names = await withDependencies(wanted, settings, run);
    await run('apt-get', [...sandbox, ...settings, 'download', '-qq', ...names], into);
  };
  const foreign = wanted.architecture !== undefined && wanted.architecture !== process.arch;
  try {
    // The machine has no package lists of another architecture.
    if (foreign) throw new Error('separate lists are needed');
    await attempt([]);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') throw cause;
    // The package lists of the machine are missing or out of date. They are not changed: separate lists are used.
    const own = [
      ...(foreign ? architectureSettings(wanted.architecture ?? '') : []),
      `Dir::State::Lists=${join(aptHome, 'lists')}`,
      `Dir::Cache=${join(aptHome, 'cache')}`,
    ];
    const settings = own.flatMap((setting) => ['-o', setting]);
    for (const folder of ['lists/partial', 'cache/archives/partial'])
      mkdirSync(join(aptHome, folder), { recursive: true });
    await run('apt-get', [...sandbox, ...settings, 'update', '-qq']);
    await attempt(settings);
  }
  return readdirSync(into).toSorted();
}

async function withDependencies(
  wanted: DebianTree,
  settings: readonly string[],
  run: Run,
): Promise<string[]> {
  if (!wanted.dependencies) return [...wanted.packages];
  const kinds = ['recommends', 'suggests', 'conflicts', 'breaks', 'replaces', 'enhances'];
  const leaveOut = kinds.map((kind) => `--no-${kind}`);
  const args = [...settings, 'depends', '--recurse', ...leaveOut, ...wanted.packages];
  const stdout = await run('apt-cache', args);
  // Names are at the start of a line. Virtual packages are in angle brackets.
  const all = stdout.split('\n').filter((line) => /^[a-z0-9]/.test(line) && !line.includes(':'));
  return [...new Set([...wanted.packages, ...all.filter((name) => wanted.dependencies?.test(name))])];
}

/** Settings of apt for packages of another architecture, as Debian names it. */
function architectureSettings(architecture: string): string[] {
  const name = architecture === 'x64' ? 'amd64' : architecture;
  return [`APT::Architecture=${name}`, `APT::Architectures=${name}`];
}

/** Versions contain no underscore. The colon of an epoch is written as %3a. */
function versionOf(files: readonly string[], name: string): string {
  const version = files.find((file) => file.startsWith(`${name}_`))?.split('_')[1];
  if (!version) throw new Error(`failed to unpack ${name}: apt downloaded ${files.join(', ') || 'nothing'}`);
  return decodeURIComponent(version).replaceAll(':', '-');
}

function unavailable(packages: readonly string[], cause: unknown): BinariesMissingError {
  const { code, stderr, message } = cause as { code?: unknown; stderr?: string; message: string };
  const why =
    code === 'ENOENT'
      ? 'this machine has no apt-get, apt-cache and dpkg-deb (Debian or Ubuntu is needed)'
      : stderr?.trim() || message;
  return new BinariesMissingError(`Debian's ${packages.join(', ')} are needed, and not available: ${why}`);
}
