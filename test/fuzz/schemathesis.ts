/** Schemathesis (PyPI), which makes requests from an OpenAPI document. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Outcome, pythonPrograms, runProgram } from '../cluster/python-venv.ts';

const folder = fileURLToPath(new URL('.', import.meta.url));

/** The `st` command; installed first if it is missing. */
export async function schemathesis(): Promise<string> {
  return join(await pythonPrograms('schemathesis', join(folder, 'requirements.txt')), 'st');
}

export interface FuzzRequest {
  /** Base URL of the API; its document is at /openapi.json. */
  readonly url: string;
  /** Goes by the environment, never by the command line. */
  readonly apiKey: string;
  readonly tenantId: string;
  /** examples, coverage, fuzzing, stateful. */
  readonly phases: readonly string[];
  /** `METHOD path` of the operations. Empty: all. */
  readonly only: readonly string[];
  readonly seed: number;
  readonly seconds: number;
  /** Parameters with fixed values, as tables of the configuration. */
  readonly parameters: string;
}

/** Runs phases for a bounded time. The exit code is 0 only when nothing was found. */
export async function fuzz(st: string, request: FuzzRequest): Promise<Outcome> {
  const { url, apiKey, tenantId, phases, only, seed, seconds, parameters } = request;
  const temporary = mkdtempSync(join(tmpdir(), 'berth-fuzz-'));
  const config = join(temporary, 'schemathesis.toml');
  writeFileSync(config, `${readFileSync(join(folder, 'schemathesis.toml'), 'utf8')}${parameters}`);
  const options = ['--phases', phases.join(','), '--seed', String(seed), '--max-time', String(seconds)];
  const names = only.flatMap((operation) => ['--include-name', operation]);
  const args = ['--config-file', config, 'run', `${url}/openapi.json`, ...options, ...names, '--no-color'];
  try {
    return await runProgram(st, args, {
      env: { ...process.env, BERTH_API_KEY: apiKey, BERTH_TENANT_ID: tenantId, PYTHONDONTWRITEBYTECODE: '1' },
      timeout: (seconds + 60) * 1000,
    });
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}
