/**
 * Programs and libraries of Debian's packages, unpacked into the cache and never installed: nothing of the machine
 * changes. Needs apt and dpkg, so a Debian or one of its children; works without being root.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { BinariesMissingError, cacheRoot, type ResolveOptions } from '../binaries.ts';
import { withLock } from '../lock.ts';

type Run = (command: string, args: readonly string[], cwd?: string) => Promise<string>;

/** Runs programs as this machine's user would, and gives what they print. */
const runner =
  (env: NodeJS.ProcessEnv): Run =>
  async (command, args, cwd) =>
    (await promisify(execFile)(command, args, { cwd, env, maxBuffer: 1 << 26 })).stdout;

export interface DebianTree {
  /** Names its folder in the cache. */
  name: string;
  /** The first one's version names what was unpacked. */
  packages: readonly string[];
  /** Which of the packages that these depend on, and so on, to unpack as well; default: none. */
  dependencies?: RegExp;
}

/**
 * Folder with the content of these packages, in the version that the machine's sources offer at the first call: Debian's
 * mirrors keep no older ones, so none can be pinned. What was taken is listed in `packages.txt` beside it.
 * @throws BinariesMissingError where there is no apt, or it does not reach the packages
 */
export async function debianTree(wanted: DebianTree, options: ResolveOptions = {}): Promise<string> {
  const log = options.log ?? ((line: string) => console.error(line));
  const env = options.env ?? process.env;
  const run = runner(env);
  const recipe = createHash('sha256').update(JSON.stringify([wanted.packages, `${wanted.dependencies}`]));
  const name = `${wanted.name}-${recipe.digest('hex').slice(0, 8)}-${process.platform}-${process.arch}`;
  const home = join(dirname(cacheRoot(env)), 'debian');
  const folder = join(home, name);
  mkdirSync(home, { recursive: true });
  const onWait = (pid: number) =>
    log(`Waiting for process ${pid}, which is unpacking ${wanted.name} already …`);
  return await withLock(`${folder}.lock`, onWait, async () => {
    const present = unpackedIn(folder);
    if (present) return present;
    log(`Unpacking Debian's ${wanted.packages.join(', ')} into ${folder}, once …`);
    const temporary = mkdtempSync(`${folder}.tmp-`);
    try {
      const files = await download(wanted, join(temporary, 'deb'), join(home, 'apt'), run);
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

/** The one folder in it is named after the version. */
function unpackedIn(folder: string): string | undefined {
  if (!existsSync(folder)) return undefined;
  const version = readdirSync(folder).find((entry) => entry !== 'packages.txt');
  return version && join(folder, version);
}

/** File names of the downloaded packages, sorted: `<name>_<version>_<architecture>.deb`. */
async function download(wanted: DebianTree, into: string, aptHome: string, run: Run): Promise<string[]> {
  mkdirSync(into, { recursive: true });
  const sandbox = process.getuid?.() === 0 ? ['-o', 'APT::Sandbox::User=root'] : [];
  const attempt = async (settings: readonly string[]): Promise<void> => {
    const names = await withDependencies(wanted, settings, run);
    await run('apt-get', [...sandbox, ...settings, 'download', '-qq', ...names], into);
  };
  try {
    await attempt([]);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') throw cause;
    // The machine's own lists are missing or out of date; they are its owner's to renew, so we keep our own.
    const own = [`Dir::State::Lists=${join(aptHome, 'lists')}`, `Dir::Cache=${join(aptHome, 'cache')}`];
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
  // Names stand at the start of a line; virtual ones are in angle brackets.
  const all = stdout.split('\n').filter((line) => /^[a-z0-9]/.test(line) && !line.includes(':'));
  return [...new Set([...wanted.packages, ...all.filter((name) => wanted.dependencies?.test(name))])];
}

/** Versions hold no underscore; an epoch's colon is written %3a. */
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
  return new BinariesMissingError(
    `Building images for real needs Debian's ${packages.join(', ')}, which could not be had: ${why}`,
  );
}
