/**
 * Berth in a process of its own, `node src/main.ts ROLE`, with its settings in the environment and what the chart sets besides.
 * An image has its sources without types; here what node made of them is read from where node keeps it, in about as much memory.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import {
  assertRunning,
  logPath,
  ProcessDiedError,
  runningPid,
  startProcess,
  stopProcess,
} from '../cluster/processes.ts';
import { waitFor } from '../cluster/wait.ts';
import { logLines, logSize } from './log-file.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** The program of a checkout. */
export const mainOf = (checkout = root) => join(checkout, 'src/main.ts');
/**
 * The folder in which node caches compiled modules. It more than halves the processor time of a start. The variable also
 * covers the first module, unlike a call of `enableCompileCache`.
 */
export const compileCache = (checkout = root) => ({
  NODE_COMPILE_CACHE: join(checkout, 'node_modules/.cache/berth'),
});

interface PodTemplate {
  spec: { template: { spec: { containers: { env?: { name: string; value?: string }[] }[] } } };
}

/**
 * What the chart of a checkout sets in the pods of a role besides Berth's settings: by its profile `single` for the role
 * `all`, else by its profile `ha`. Nothing for a checkout without manifests.
 */
export function podEnvironment(role: string, checkout = root): Record<string, string> {
  const [profile, name] = role === 'all' ? ['single', 'berth'] : ['ha', `berth-${role}`];
  const path = join(checkout, `manifests/${profile}.yaml`);
  // Only this one is parsed: custom resources are most of the file.
  const text = (existsSync(path) ? readFileSync(path, 'utf8') : '')
    .split('\n---\n')
    .find((each) => each.includes(`kind: Deployment\nmetadata:\n  name: ${name}\n`));
  const [container] = text === undefined ? [] : (parse(text) as PodTemplate).spec.template.spec.containers;
  const set = (container?.env ?? []).flatMap(({ name: variable, value }) =>
    value === undefined || variable.startsWith('BERTH_') ? [] : [[variable, value] as const],
  );
  return Object.fromEntries(set);
}

/** The environment of a role: the options of node in the settings are added to those of the chart. */
function environmentOf({ role, checkout, settings }: BerthOptions): Record<string, string> {
  const environment = { ...compileCache(checkout), ...podEnvironment(role, checkout), ...settings };
  const options = [podEnvironment(role, checkout), settings].flatMap((each) => each['NODE_OPTIONS'] ?? []);
  return options.length === 0 ? environment : { ...environment, NODE_OPTIONS: options.join(' ') };
}

export interface BerthProcess {
  /** Base URL of the API; empty for roles without one. */
  readonly url: string;
  readonly logPath: string;
  /** Ends it as Kubernetes would (SIGTERM), or with another signal; resolves when it is gone. */
  stop(signal?: NodeJS.Signals): Promise<void>;
  isRunning(): boolean;
}

export interface BerthOptions {
  /** Folder for settings, pid and log. */
  stateDir: string;
  /** Names pid file and log; default: the role. */
  name?: string;
  role: 'api' | 'listener' | 'operator' | 'all';
  /** Settings as environment variables; nothing else of Berth's reaches the process. */
  settings: Readonly<Record<string, string>>;
  /** Folder of another version of Berth; default: this one. */
  checkout?: string | undefined;
}

/** The settings as a file for `node --env-file`: secrets stay out of the arguments. */
export function writeSettings(
  stateDir: string,
  name: string,
  settings: Readonly<Record<string, string>>,
): string {
  mkdirSync(stateDir, { recursive: true });
  const path = join(stateDir, `${name}.env`);
  const lines = Object.entries(settings).map(([key, value]) => `${key}='${value}'\n`);
  writeFileSync(path, lines.join(''), { mode: 0o600 });
  return path;
}

/**
 * Starts a role and waits until it says that it is ready.
 * @throws ProcessDiedError with the end of its log when it ends before
 */
export async function startBerth(options: BerthOptions): Promise<BerthProcess> {
  const { stateDir, role, settings } = options;
  const name = options.name ?? `berth-${role}`;
  const envFile = writeSettings(stateDir, name, settings);
  const log = logPath(stateDir, name);
  const from = logSize(log);
  await startProcess(stateDir, {
    name,
    command: process.execPath,
    args: [`--env-file=${envFile}`, mainOf(options.checkout), role],
    // Again as environment: there it wins over what the caller's own environment holds.
    env: environmentOf(options),
  });
  const ready = await waitFor(
    `${name} to be ready`,
    async () => logLines(log, from).find((line) => line['msg'] === 'berth is ready'),
    { timeoutMs: 180_000, giveUpIf: () => assertRunning(stateDir, [name]) },
  );
  return {
    url: typeof ready['url'] === 'string' ? ready['url'] : '',
    logPath: log,
    stop: (signal) => stopProcess(stateDir, name, { signal, timeoutMs: 25_000 }),
    isRunning: () => runningPid(stateDir, name) !== undefined,
  };
}

/** As `startBerth`; a port that its settings name is tried some times: who looks for free ones holds each for a moment. */
export async function startOnPort(options: BerthOptions): Promise<BerthProcess> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startBerth(options);
    } catch (error) {
      const isTaken = error instanceof ProcessDiedError && error.log.includes('EADDRINUSE');
      if (!isTaken || attempt === 4) throw error;
    }
  }
}

/**
 * Runs a command of Berth to its end (`migrate`, `keys create …`) and returns what it prints.
 * @throws Error with what it wrote to standard error
 */
export async function runBerth(
  stateDir: string,
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
  checkout?: string,
): Promise<string> {
  const envFile = writeSettings(stateDir, `berth-${args[0] ?? 'command'}`, settings);
  try {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [`--env-file=${envFile}`, mainOf(checkout), ...args],
      {
        cwd: checkout ?? root,
        env: { ...process.env, ...compileCache(checkout), ...settings },
      },
    );
    return stdout;
  } catch (error) {
    const stderr = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
    throw new Error(`failed to run berth ${args.join(' ')}: ${stderr || String(error)}`, { cause: error });
  }
}

/**
 * Creates a key with all scopes of a tenant, also with the program of an older checkout. Older programs print JSON with
 * another option, and the same text.
 */
export async function createTenantKey(
  stateDir: string,
  tenant: string,
  settings: Readonly<Record<string, string>>,
  checkout?: string,
): Promise<{ readonly apiKey: string; readonly tenantId: string }> {
  const args = ['keys', 'create', '--tenant', tenant, '--name', tenant];
  const text = await runBerth(stateDir, args, settings, checkout);
  const [, apiKey, tenantId] = /^(\S+)\n.* Tenant (\S+), scopes /.exec(text) ?? [];
  if (apiKey === undefined || tenantId === undefined) throw new Error('berth keys create printed no key');
  return { apiKey, tenantId };
}
