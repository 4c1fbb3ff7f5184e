import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Writable } from 'node:stream';

/** Runs git isolated from the configuration of the machine. No code of the repository (hooks, filters) can run. */

interface CredentialFiles {
  readonly usernameFile: string;
  readonly tokenFile: string;
}

/** Both are one line. */
interface CredentialValues {
  readonly username: string;
  readonly token: string;
}

export interface GitSettings {
  /** Folder for git's home and configuration. The folder contains no secret. */
  readonly folder: string;
  /** PATH of the process. */
  readonly path: string;
  /** PEM of the certificate authorities to trust. */
  readonly authorities: readonly string[];
  /** Base URL (`https://host:port`). Only this host receives the credentials. */
  readonly host: string;
  /** Credentials, or the files that contain them; null: no credentials are sent. */
  readonly credentials: CredentialFiles | CredentialValues | null;
  /** `host:port:address,…`: the addresses that were checked for the name; null: git resolves the name. */
  readonly resolve: string | null;
  /** Limit for the data of each process, in KiB. Absent: no limit. */
  readonly memoryKiB?: number;
}

/** A quoted string in a git configuration file. */
const quoted = (text: string) => `"${text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`;
/** A quoted word of the shell. */
const word = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * git runs this helper when it needs the credentials. They come from files, or from a pipe (file descriptor 3), and pass
 * through another pipe to git. `printf` and `read` are shell builtins, so no process has the token in its arguments or
 * variables.
 */
function credentialHelper(credentials: CredentialFiles | CredentialValues): string {
  const [user, token] =
    'tokenFile' in credentials
      ? [`< ${word(credentials.usernameFile)}`, `< ${word(credentials.tokenFile)}`]
      : ['<&3', '<&3'];
  const read = (name: string, from: string) => `IFS= read -r ${name} ${from} || [ -n "$${name}" ]`;
  const answer = `printf 'username=%s\\npassword=%s\\n' "$user" "$token"`;
  return `!f() { test "$1" = get || return 0; ${read('user', user)} && ${read('token', token)} && ${answer}; }; f`;
}

/** Allows only https, credentials only for this host, and no hooks, filters or redirects. */
function configurationOf({ host, credentials, resolve }: GitSettings, authoritiesFile: string): string {
  const http = [
    'followRedirects = false',
    'lowSpeedLimit = 1000',
    'lowSpeedTime = 60',
    `sslCAInfo = ${quoted(authoritiesFile)}`,
    ...(resolve === null ? [] : [`curloptResolve = ${quoted(resolve)}`]),
  ];
  const helper =
    credentials === null
      ? []
      : [`[credential ${quoted(host)}]`, `helper = ${quoted(credentialHelper(credentials))}`];
  return [
    '[protocol]',
    'allow = never',
    '[protocol "https"]',
    'allow = always',
    '[http]',
    ...http,
    '[core]',
    'hooksPath = /dev/null',
    'fsmonitor = false',
    'askPass =',
    '[advice]',
    'detachedHead = false',
    '[init]',
    'defaultBranch = main',
    '[submodule]',
    'recurse = false',
    '[fetch]',
    'fsckObjects = false',
    '[gc]',
    'auto = 0',
    // One thread, to save memory: each thread has its own cache, and by default git starts one thread per processor of
    // the node.
    '[pack]',
    'threads = 1',
    ...helper,
    '',
  ].join('\n');
}

export interface GitResult {
  readonly code: number;
  readonly stdout: string;
  /** The end of standard error. */
  readonly stderr: string;
}

export interface GitRun {
  /** Timeout in milliseconds. Afterwards git is ended with all its child processes. */
  readonly timeoutMs: number;
  /** Standard input; default: none. */
  readonly input?: string;
  /** Called every half second. A returned text stops the run with this text as the reason. */
  readonly watch?: () => string | null;
  /** Receives standard output instead of `stdout`. A returned text stops the run with this text as the reason. */
  readonly onOutput?: (chunk: Buffer) => string | null;
}

/** The run was stopped by the timeout, by `watch` or by `onOutput`. */
export class GitEndedError extends Error {}

const MAX_OUTPUT = 64 * 1024;
const WATCH_EVERY_MS = 500;
/** Exit code of the shell when it does not find the program. */
const GIT_MISSING = 127;
/** Time that git has to end its child processes before all are killed. */
const GRACE_MS = 500;

export type Git = (args: readonly string[], run: GitRun) => Promise<GitResult>;

/** Prepares the folder and returns the command. The environment of the command contains paths but no secrets. */
export function gitOf(settings: GitSettings): Git {
  const { folder, credentials, memoryKiB } = settings;
  const home = join(folder, 'home');
  mkdirSync(home, { recursive: true });
  const config = join(folder, 'gitconfig');
  const authoritiesFile = join(folder, 'authorities.pem');
  writeFileSync(authoritiesFile, `${settings.authorities.join('\n')}\n`);
  writeFileSync(config, configurationOf(settings, authoritiesFile), { mode: 0o600 });
  const env = {
    PATH: settings.path,
    HOME: home,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: config,
    GIT_TERMINAL_PROMPT: '0',
    GIT_ALLOW_PROTOCOL: 'https',
    GIT_ATTR_NOSYSTEM: '1',
  };
  const secret =
    credentials === null || 'tokenFile' in credentials
      ? null
      : `${credentials.username}\n${credentials.token}\n`;
  const limit = memoryKiB === undefined ? '' : `ulimit -d ${memoryKiB} && `;
  return (args, run) => runGit(['-c', `${limit}exec git "$@"`, 'git', ...args], { env, secret }, run);
}

interface Environment {
  readonly env: Record<string, string>;
  /** Input of the credential helper; null: none. */
  readonly secret: string | null;
}

/** A process group of its own, so that child processes can be killed with it. */
function start(args: readonly string[], { env, secret }: Environment, { input }: GitRun): ChildProcess {
  const child = spawn('sh', args, {
    env,
    detached: true,
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe', secret === null ? 'ignore' : 'pipe'],
  });
  const write = (stream: unknown, text: string) => {
    // Git may exit before it has read everything.
    (stream as Writable).on('error', () => undefined).end(text);
  };
  if (input !== undefined) write(child.stdin, input);
  if (secret !== null) write(child.stdio[3], secret);
  return child;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has exited by itself meanwhile.
  }
}

function runGit(args: readonly string[], environment: Environment, run: GitRun): Promise<GitResult> {
  return new Promise((resolve, reject) => {
    const child = start(args, environment, run);
    const { pid } = child;
    let stdout = '';
    let stderr = '';
    let ended: string | null = null;
    let killing: NodeJS.Timeout | undefined;
    const end = (why: string) => {
      ended ??= why;
      if (pid === undefined || killing !== undefined) return;
      // A killed git leaves its child processes to PID 1. In a container that is Berth, which does not reap them.
      signal(pid, 'SIGTERM');
      killing = setTimeout(() => signal(-pid, 'SIGKILL'), GRACE_MS);
    };
    const late = setTimeout(() => end(`it took longer than ${run.timeoutMs / 1000} s`), run.timeoutMs);
    const watch = setInterval(() => {
      const why = run.watch?.() ?? null;
      if (why !== null) end(why);
    }, WATCH_EVERY_MS);
    const settle = () => {
      clearTimeout(late);
      clearTimeout(killing);
      clearInterval(watch);
    };
    child.stdout?.on('data', (chunk: Buffer) => {
      if (run.onOutput !== undefined) {
        const why = ended === null ? run.onOutput(chunk) : null;
        if (why !== null) end(why);
      } else stdout = (stdout + chunk.toString('utf8')).slice(-MAX_OUTPUT);
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      stderr = (stderr + chunk.toString('utf8')).slice(-MAX_OUTPUT);
    });
    child.once('error', (cause) => {
      settle();
      reject(new Error(`failed to run git: ${cause.message}`, { cause }));
    });
    child.once('close', (code) => {
      settle();
      if (ended !== null) reject(new GitEndedError(ended));
      else if (code === GIT_MISSING)
        reject(new Error('failed to run git: it is not in PATH; next: install git'));
      else resolve({ code: code ?? 1, stdout, stderr });
    });
  });
}
