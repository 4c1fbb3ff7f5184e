/** Programs of PyPI: each in a virtual environment of its own, installed once for each content of its requirements. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cacheRoot } from './binaries.ts';
import { withLock } from './lock.ts';

const INSTALL_TIMEOUT_MS = 300_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

export interface Outcome {
  readonly code: number;
  /** Standard output and standard error. */
  readonly output: string;
}

/** Runs a program to its end. @throws Error if it cannot be started or is ended by a signal */
export function runProgram(
  program: string,
  args: readonly string[],
  options: { timeout?: number; env?: NodeJS.ProcessEnv; cwd?: string } = {},
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const settings = { ...options, maxBuffer: MAX_OUTPUT_BYTES, killSignal: 'SIGKILL' as const };
    execFile(program, args, settings, (error, stdout, stderr) => {
      const output = `${stdout}${stderr}`;
      if (error === null) resolve({ code: 0, output });
      else if (typeof error.code === 'number') resolve({ code: error.code, output });
      else reject(new Error(`failed to run ${program}: ${error.message}\n${output}`, { cause: error }));
    });
  });
}

/** Minor version of python3; null: there is no Python 3. */
export async function pythonMinor(): Promise<number | null> {
  try {
    const { output } = await runProgram('python3', ['--version']);
    const [, minor] = /^Python 3\.(\d+)/.exec(output) ?? [];
    return minor === undefined ? null : Number(minor);
  } catch {
    return null;
  }
}

async function orFail(what: string, outcome: Promise<Outcome>): Promise<void> {
  const { code, output } = await outcome;
  if (code !== 0) throw new Error(`failed to ${what} (exit code ${code}):\n${output}`);
}

async function install(name: string, requirements: string, cacheDir: string): Promise<void> {
  // Scripts of a venv hold its path: it is made in its place, and marked as whole at the end.
  rmSync(cacheDir, { recursive: true, force: true });
  await orFail('make a Python venv', runProgram('python3', ['-m', 'venv', cacheDir]));
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--require-hashes'];
  const args = [...pip, '--only-binary=:all:', '-r', requirements];
  await orFail(
    `install ${name}`,
    runProgram(join(cacheDir, 'bin/python'), args, { timeout: INSTALL_TIMEOUT_MS }),
  );
  renameSync(mkdtempSync(`${cacheDir}.mark-`), join(cacheDir, 'whole'));
}

/**
 * The folder of the programs of a virtual environment; installed first if it is missing.
 * @param requirements path of a file with pinned versions and hashes
 */
export async function pythonPrograms(name: string, requirements: string): Promise<string> {
  const hash = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 16);
  const cacheDir = join(cacheRoot(process.env), `${name}-${hash}-${process.platform}-${process.arch}`);
  const isWhole = () => existsSync(join(cacheDir, 'whole'));
  if (!isWhole()) {
    mkdirSync(dirname(cacheDir), { recursive: true });
    const onWait = (pid: number) =>
      console.error(`Waiting for process ${pid}, which is installing ${name} …`);
    await withLock(`${cacheDir}.lock`, onWait, async () => {
      if (!isWhole()) await install(name, requirements, cacheDir);
    });
  }
  return join(cacheDir, 'bin');
}
