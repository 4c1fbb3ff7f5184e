import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { authorities } from './authorities.ts';

/** Runs git isolated from the configuration of the machine. No code of the repository (hooks, filters) can run. */

export interface GitSettings {
  /** Folder for git's home and configuration. The folder contains no secret. */
  readonly folder: string;
  /** PATH of the process. */
  readonly path: string;
  /** PEM file of additional certificate authorities. */
  readonly caFile: string | null;
  /** Base URL (`https://host:port`). Only this host receives the credentials. */
  readonly host: string;
  /** Files with user name and token; null: no credentials are sent. */
  readonly credentials: { readonly usernameFile: string; readonly tokenFile: string } | null;
  /** `host:port:address,…`: the addresses that were checked for the name; null: git resolves the name. */
  readonly resolve: string | null;
}

/** A quoted string in a git configuration file. */
const quoted = (text: string) => `"${text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`;
/** A quoted word of the shell. */
const word = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * git reads the credential files through this helper when it needs them. The token passes only through a pipe between
 * two processes. `printf` and `read` are shell builtins, so no process has the token among its arguments.
 */
function credentialHelper(usernameFile: string, tokenFile: string): string {
  const read = (name: string, file: string) => `IFS= read -r ${name} < ${word(file)} || [ -n "$${name}" ]`;
  const answer = `printf 'username=%s\\npassword=%s\\n' "$user" "$token"`;
  return `!f() { test "$1" = get || return 0; ${read('user', usernameFile)} && ${read('token', tokenFile)} && ${answer}; }; f`;
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
      : [
          `[credential ${quoted(host)}]`,
          `helper = ${quoted(credentialHelper(credentials.usernameFile, credentials.tokenFile))}`,
        ];
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
  /** Timeout in milliseconds. After the timeout, git is killed with all its child processes. */
  readonly timeoutMs: number;
  /** Called every half second. A returned text stops the run with this text as the reason. */
  readonly watch?: () => string | null;
  /** Receives standard output instead of `stdout`. A returned text stops the run with this text as the reason. */
  readonly onOutput?: (chunk: Buffer) => string | null;
}

/** The run was stopped by the timeout, by `watch` or by `onOutput`. */
export class GitEndedError extends Error {}

const MAX_OUTPUT = 64 * 1024;
const WATCH_EVERY_MS = 500;

export type Git = (args: readonly string[], run: GitRun) => Promise<GitResult>;

/** Prepares the folder and returns the command. The environment of the command contains paths but no secrets. */
export function gitOf(settings: GitSettings): Git {
  const home = join(settings.folder, 'home');
  mkdirSync(home, { recursive: true });
  const config = join(settings.folder, 'gitconfig');
  const authoritiesFile = join(settings.folder, 'authorities.pem');
  writeFileSync(authoritiesFile, `${authorities(settings.caFile).join('\n')}\n`);
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
  return (args, run) => runGit(args, env, run);
}

function runGit(args: readonly string[], env: Record<string, string>, run: GitRun): Promise<GitResult> {
  return new Promise((resolve, reject) => {
    // git gets a separate process group, so that git-remote-https can be killed together with git.
    const child = spawn('git', args, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    let ended: string | null = null;
    const end = (why: string) => {
      ended ??= why;
      if (child.pid === undefined) return;
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        // git has already exited.
      }
    };
    const late = setTimeout(() => end(`it took longer than ${run.timeoutMs / 1000} s`), run.timeoutMs);
    const watch = setInterval(() => {
      const why = run.watch?.() ?? null;
      if (why !== null) end(why);
    }, WATCH_EVERY_MS);
    const settle = () => {
      clearTimeout(late);
      clearInterval(watch);
    };
    child.stdout.on('data', (chunk: Buffer) => {
      if (run.onOutput !== undefined) {
        const why = ended === null ? run.onOutput(chunk) : null;
        if (why !== null) end(why);
      } else stdout = (stdout + chunk.toString('utf8')).slice(-MAX_OUTPUT);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      stderr = (stderr + chunk.toString('utf8')).slice(-MAX_OUTPUT);
    });
    child.once('error', (cause) => {
      settle();
      reject(new Error(`failed to run git: ${cause.message}`, { cause }));
    });
    child.once('close', (code) => {
      settle();
      if (ended !== null) reject(new GitEndedError(ended));
      else resolve({ code: code ?? 1, stdout, stderr });
    });
  });
}
