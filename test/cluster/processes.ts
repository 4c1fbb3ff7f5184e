/**
 * Background processes of a local cluster or database.
 *
 * Their records are files in the state folder (`pids/<name>.pid`, `logs/<name>.log`), so every process that knows the folder
 * can control them: the process that started them, a test worker, or a later `cluster down`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export interface ProcessSpec {
  /** Short name, also of the pid file and the log. */
  name: string;
  command: string;
  /** Must contain a path in the state folder. By this path, a running process is distinguished from one with a reused pid. */
  args: string[];
  /** The complete environment. Default: that of this process. */
  env?: NodeJS.ProcessEnv;
  uid?: number;
  gid?: number;
  /** Signal of the watchdog. Default: SIGKILL, because the state is deleted anyway. */
  watchdogSignal?: NodeJS.Signals;
}

/** A process has ended unexpectedly. */
export class ProcessDiedError extends Error {
  readonly process: string;
  readonly log: string;
  constructor(stateDir: string, name: string) {
    const log = tailOfLog(stateDir, name, 25);
    super(`${name} stopped unexpectedly; the end of ${logPath(stateDir, name)}:\n${log || '(empty)'}`);
    this.name = 'ProcessDiedError';
    this.process = name;
    this.log = log;
  }
}

export function logPath(stateDir: string, name: string): string {
  return join(stateDir, 'logs', `${name}.log`);
}

function pidPath(stateDir: string, name: string): string {
  return join(stateDir, 'pids', `${name}.pid`);
}

/** The last `lines` lines of a log. Empty if there is no log. */
export function tailOfLog(stateDir: string, name: string, lines: number): string {
  const path = logPath(stateDir, name);
  if (!existsSync(path)) return '';
  return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
}

/**
 * Starts a process in a separate session, so that Ctrl-C in the terminal does not reach it before its client has ended. Its
 * output is appended to its log, and its pid is recorded. It does not keep this process running.
 */
export async function startProcess(stateDir: string, spec: ProcessSpec): Promise<ChildProcess> {
  mkdirSync(join(stateDir, 'pids'), { recursive: true });
  mkdirSync(join(stateDir, 'logs'), { recursive: true });
  const output = openSync(logPath(stateDir, spec.name), 'a');
  try {
    const child = spawn(spec.command, spec.args, {
      detached: true,
      stdio: ['ignore', output, output],
      cwd: stateDir,
      env: spec.env ?? process.env,
      uid: spec.uid,
      gid: spec.gid,
    });
    await spawned(child, spec.command);
    await untilNamed(child);
    writeFileSync(pidPath(stateDir, spec.name), `${child.pid} ${spec.watchdogSignal ?? 'SIGKILL'}\n`);
    child.unref();
    return child;
  } finally {
    closeSync(output);
  }
}

function spawned(child: ChildProcess, command: string): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (cause) =>
      reject(new Error(`failed to start ${command}: ${cause.message}`, { cause })),
    );
  });
}

const commandLineOf = (pid: number): string => readFileSync(`/proc/${pid}/cmdline`, 'utf8');

/**
 * Waits until /proc shows the command line of a new process, or the process has ended. "spawn" is emitted before exec has set
 * the command line. If the program must be read from disk, this takes tens of milliseconds. In this time the process, which
 * is identified by its command line, would count as ended.
 * @param read reads the command line; throws if it is not available
 */
export async function untilNamed(
  child: Pick<ChildProcess, 'pid' | 'exitCode' | 'signalCode'>,
  read: (pid: number) => string = commandLineOf,
): Promise<void> {
  while (child.exitCode === null && child.signalCode === null) {
    try {
      if (read(child.pid ?? 0) !== '') return;
    } catch {
      // The process has ended, or there is no /proc.
      return;
    }
    await delay(1);
  }
}

/** The pid of a running process of this state folder. Undefined if it is not running. */
export function runningPid(stateDir: string, name: string): number | undefined {
  const path = pidPath(stateDir, name);
  if (!existsSync(path)) return undefined;
  const pid = Number.parseInt(readFileSync(path, 'utf8'), 10);
  return Number.isInteger(pid) && pid > 1 && isOurs(pid, stateDir) ? pid : undefined;
}

function isOurs(pid: number, stateDir: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  // Without /proc (macOS), the pid file is trusted.
  if (!existsSync('/proc/self/cmdline')) return true;
  try {
    // A zombie has an empty command line, so it counts as ended.
    return commandLineOf(pid).includes(`${stateDir}/`);
  } catch {
    return false;
  }
}

/** @throws ProcessDiedError unless all these processes are running */
export function assertRunning(stateDir: string, names: readonly string[]): void {
  for (const name of names) {
    if (runningPid(stateDir, name) === undefined) throw new ProcessDiedError(stateDir, name);
  }
}

export interface StopOptions {
  signal?: NodeJS.Signals;
  /** Milliseconds until SIGKILL is sent. */
  timeoutMs?: number;
}

/** Stops a process, and waits until it has ended. Does nothing if it is not running. */
export async function stopProcess(stateDir: string, name: string, options: StopOptions = {}): Promise<void> {
  const pid = runningPid(stateDir, name);
  if (pid !== undefined) {
    signalQuietly(pid, options.signal ?? 'SIGTERM');
    const deadline = Date.now() + (options.timeoutMs ?? 10_000);
    while (runningPid(stateDir, name) !== undefined) {
      if (Date.now() > deadline) signalQuietly(pid, 'SIGKILL');
      await delay(20);
    }
    const closed = Date.now() + CLOSED_WITHIN_MS;
    while (hasThreads(pid) && Date.now() < closed) await delay(5);
  }
  rmSync(pidPath(stateDir, name), { force: true });
}

const CLOSED_WITHIN_MS = 2_000;

/**
 * Whether a process still has threads. An ending process has no command line any more while its last threads still hold its
 * files. On a busy machine its port stays occupied meanwhile, and a successor could not use it.
 */
function hasThreads(pid: number): boolean {
  try {
    const [, state] = /\) (\w) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    return state !== 'Z' || readdirSync(`/proc/${pid}/task`).length > 1;
  } catch {
    // The process has ended, or there is no /proc.
    return false;
  }
}

function signalQuietly(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended meanwhile.
  }
}

export interface Watchdog {
  /** Ends the watchdog, which then does nothing. */
  release(): void;
}

/**
 * Starts a small shell process that stops the processes of `stateDir` when *this* process ends for any reason. The watchdog
 * waits for the end of a pipe whose other end only this process holds.
 */
export function startWatchdog(stateDir: string, options: { removeState: boolean }): Watchdog {
  const script = join(dirname(fileURLToPath(import.meta.url)), 'watchdog.sh');
  const child = spawn('/bin/sh', [script, stateDir, options.removeState ? 'remove' : 'keep'], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    cwd: '/',
  });
  child.on('error', () => {});
  child.stdin.on('error', () => {});
  child.unref();
  (child.stdin as unknown as { unref(): void }).unref();
  return { release: () => child.stdin.end('released\n') };
}
