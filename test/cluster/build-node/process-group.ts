import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';

/** A command and all processes that it starts, as one process group. */

export interface GroupOptions {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Contains the process id while the command runs, so that the next process of the node can end it. */
  readonly pidFile: string;
  readonly onOutput: (chunk: string) => void;
}

export interface Ended {
  readonly exitCode: number;
  readonly signal?: number;
  /** Why the command could not be started. */
  readonly startError?: string;
}

/** Exit code of a container whose command cannot be run. */
const CANNOT_START = 128;

export class ProcessGroup {
  /** Resolves when all processes of the group have ended. Never rejects. */
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;

  constructor({ command, env, cwd, pidFile, onOutput }: GroupOptions) {
    const [program = '', ...args] = command;
    this.#child = spawn(program, args, { env, cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8');
      stream?.on('data', onOutput);
    }
    const { pid } = this.#child;
    if (pid !== undefined) writeFileSync(pidFile, `${pid} ${startTime(pid)}\n`);
    this.ended = new Promise((resolve) => {
      this.#child.once('error', (error) => {
        if (pid === undefined) resolve({ exitCode: CANNOT_START, startError: error.message });
      });
      // Remaining processes of the group may keep the output open.
      this.#child.once('exit', () => this.kill('SIGKILL'));
      this.#child.once('close', (code, name) => {
        rmSync(pidFile, { force: true });
        const signal = name === null ? undefined : constants.signals[name];
        resolve(signal === undefined ? { exitCode: code ?? 1 } : { exitCode: 128 + signal, signal });
      });
    });
  }

  /** Sends a signal to all processes of the group. */
  kill(signal: NodeJS.Signals): void {
    if (this.#child.pid !== undefined) killGroup(this.#child.pid, signal);
  }
}

function killGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // All processes of the group have ended.
  }
}

/** Start time of a process in ticks of the kernel, '' if unknown. It distinguishes processes that had the same id. */
function startTime(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

/** Ends the process group of a pid file, if the id still belongs to the same process. */
export function killRecorded(pidFile: string): void {
  if (!existsSync(pidFile)) return;
  const [pid = '', started = ''] = readFileSync(pidFile, 'utf8').trim().split(' ');
  if (started !== '' && startTime(Number(pid)) === started) killGroup(Number(pid), 'SIGKILL');
  rmSync(pidFile, { force: true });
}
