import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';

/** A command and all that it starts: one group of processes, which ends as a whole. */

export interface GroupOptions {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Noted there while it runs, so that whoever comes after us can end it. */
  readonly pidFile: string;
  readonly onOutput: (chunk: string) => void;
}

export interface Ended {
  readonly exitCode: number;
  readonly signal?: number;
  /** Why it could not be started. */
  readonly startError?: string;
}

/** Exit code of a container whose command cannot be run. */
const CANNOT_START = 128;

export class ProcessGroup {
  /** Resolves when the command has ended and all that it started. Never rejects. */
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
      // What it has left behind may hold its output open: it goes with it.
      this.#child.once('exit', () => this.kill('SIGKILL'));
      this.#child.once('close', (code, name) => {
        rmSync(pidFile, { force: true });
        const signal = name === null ? undefined : constants.signals[name];
        resolve(signal === undefined ? { exitCode: code ?? 1 } : { exitCode: 128 + signal, signal });
      });
    });
  }

  /** Sends a signal to the command and all that it started. */
  kill(signal: NodeJS.Signals): void {
    if (this.#child.pid !== undefined) killGroup(this.#child.pid, signal);
  }
}

function killGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // Nothing of it is left.
  }
}

/** When a process began, as the kernel counts; '' where that cannot be told. A number that is used again differs in it. */
function startTime(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

/** Ends the group that a process before us noted, if it still is the same one. */
export function killNoted(pidFile: string): void {
  if (!existsSync(pidFile)) return;
  const [pid = '', began = ''] = readFileSync(pidFile, 'utf8').trim().split(' ');
  if (began !== '' && startTime(Number(pid)) === began) killGroup(Number(pid), 'SIGKILL');
  rmSync(pidFile, { force: true });
}
