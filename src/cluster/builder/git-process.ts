import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { authorities } from './authorities.ts';

/** The git command, with nothing of the machine's own configuration and nothing of the repository's that could run. */

export interface GitSettings {
  /** Folder for git's home and configuration; nothing in it is a secret. */
  readonly folder: string;
  /** PATH of the process. */
  readonly path: string;
  /** PEM file of further authorities. */
  readonly caFile: string | null;
  /** Base URL (`https://host:port`) that alone gets the credentials. */
  readonly host: string;
  /** Files of user name and token; null: none are sent. */
  readonly credentials: { readonly usernameFile: string; readonly tokenFile: string } | null;
  /** `host:port:address,…`: what the name resolves to, as it was checked; null: resolve it. */
  readonly resolve: string | null;
}

/** Text in a configuration file of git, in quotes. */
const quoted = (text: string) => `"${text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`;
/** A word of the shell. */
const word = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * Reads the files when git asks: the token is in a pipe between two processes and nowhere else. `printf` and `read` are
 * the shell's own, so no process has it among its arguments.
 */
function credentialHelper(usernameFile: string, tokenFile: string): string {
  const read = (name: string, file: string) => `IFS= read -r ${name} < ${word(file)} || [ -n "$${name}" ]`;
  const answer = `printf 'username=%s\\npassword=%s\\n' "$user" "$token"`;
  return `!f() { test "$1" = get || return 0; ${read('user', usernameFile)} && ${read('token', tokenFile)} && ${answer}; }; f`;
}

/** Only https, only this host's credentials, no hook, no filter, no redirect to wherever. */
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
    // Each thread keeps a cache of its own, and there would be as many as the node has processors.
    '[pack]',
    'threads = 1',
    ...helper,
    '',
  ].join('\n');
}

export interface GitResult {
  readonly code: number;
  readonly stdout: string;
  /** Its end. */
  readonly stderr: string;
}

export interface GitRun {
  /** Milliseconds until it is killed, with all that it started. */
  readonly timeoutMs: number;
  /** Asked every half second; a text ends the run with this text as the reason. */
  readonly watch?: () => string | null;
  /** Takes standard output in place of `stdout`; a text ends the run with this text as the reason. */
  readonly onOutput?: (chunk: Buffer) => string | null;
}

/** The run was ended from outside: it took too long, or `watch` or `onOutput` said so. */
export class GitEndedError extends Error {}

const MOST_OUTPUT = 64 * 1024;
const WATCH_EVERY_MS = 500;

export type Git = (args: readonly string[], run: GitRun) => Promise<GitResult>;

/** Prepares the folder and returns the command. Its environment holds paths, and no secret. */
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
    // A group of its own: git-remote-https must not outlive it.
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
        // It has ended by itself meanwhile.
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
      } else stdout = (stdout + chunk.toString('utf8')).slice(-MOST_OUTPUT);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      stderr = (stderr + chunk.toString('utf8')).slice(-MOST_OUTPUT);
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
