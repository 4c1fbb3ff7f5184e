/** Schemathesis (PyPI), which makes requests from an OpenAPI document: installed once, then run. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheRoot } from '../cluster/binaries.ts';
import { withLock } from '../cluster/lock.ts';

const folder = fileURLToPath(new URL('.', import.meta.url));
const requirements = join(folder, 'requirements.txt');
const INSTALL_TIMEOUT_MS = 300_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

interface Outcome {
  readonly code: number;
  readonly output: string;
}

function run(
  program: string,
  args: readonly string[],
  options: { timeout?: number; env?: NodeJS.ProcessEnv } = {},
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

/** Whether there is a Python at all. */
export async function hasPython(): Promise<boolean> {
  try {
    return (await run('python3', ['--version'])).code === 0;
  } catch {
    return false;
  }
}

async function orFail(what: string, outcome: Promise<Outcome>): Promise<void> {
  const { code, output } = await outcome;
  if (code !== 0) throw new Error(`failed to ${what} (exit code ${code}):\n${output}`);
}

async function install(cacheDir: string): Promise<void> {
  // Scripts of a venv hold its path: it is made in its place, and marked as whole at the end.
  rmSync(cacheDir, { recursive: true, force: true });
  await orFail('make a Python venv', run('python3', ['-m', 'venv', cacheDir]));
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--require-hashes'];
  const args = [...pip, '--only-binary=:all:', '-r', requirements];
  await orFail(
    'install Schemathesis',
    run(join(cacheDir, 'bin/python'), args, { timeout: INSTALL_TIMEOUT_MS }),
  );
  const mark = mkdtempSync(`${cacheDir}.mark-`);
  renameSync(mark, join(cacheDir, 'whole'));
}

/** The `st` command; installed first, once for each content of requirements.txt. */
export async function schemathesis(): Promise<string> {
  const hash = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 16);
  const cacheDir = join(cacheRoot(process.env), `schemathesis-${hash}-${process.platform}-${process.arch}`);
  const isWhole = () => existsSync(join(cacheDir, 'whole'));
  if (!isWhole()) {
    mkdirSync(dirname(cacheDir), { recursive: true });
    const onWait = (pid: number) =>
      console.error(`Waiting for process ${pid}, which is installing Schemathesis …`);
    await withLock(`${cacheDir}.lock`, onWait, async () => {
      if (!isWhole()) await install(cacheDir);
    });
  }
  return join(cacheDir, 'bin/st');
}

export interface FuzzRequest {
  /** Base URL of the API; its document is at /openapi.json. */
  readonly url: string;
  /** Goes by the environment, never by the command line. */
  readonly apiKey: string;
  readonly tenantId: string;
  /** examples, coverage, fuzzing, stateful. */
  readonly phases: readonly string[];
  readonly seed: number;
  readonly seconds: number;
  /** Parameters with fixed values, as tables of the configuration. */
  readonly parameters: string;
}

/** Runs phases for a bounded time. The exit code is 0 only when nothing was found. */
export async function fuzz(st: string, request: FuzzRequest): Promise<Outcome> {
  const { url, apiKey, tenantId, phases, seed, seconds, parameters } = request;
  const temporary = mkdtempSync(join(tmpdir(), 'berth-fuzz-'));
  const config = join(temporary, 'schemathesis.toml');
  writeFileSync(config, `${readFileSync(join(folder, 'schemathesis.toml'), 'utf8')}${parameters}`);
  const options = ['--phases', phases.join(','), '--seed', String(seed), '--max-time', String(seconds)];
  const args = ['--config-file', config, 'run', `${url}/openapi.json`, ...options, '--no-color'];
  try {
    return await run(st, args, {
      env: { ...process.env, BERTH_API_KEY: apiKey, BERTH_TENANT_ID: tenantId, PYTHONDONTWRITEBYTECODE: '1' },
      timeout: (seconds + 60) * 1000,
    });
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}
