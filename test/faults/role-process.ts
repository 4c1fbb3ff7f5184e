/** A process of a role that a plan can signal, and its open files. */
import { readdirSync, readlinkSync } from 'node:fs';
import { logPath, startProcess, tailOfLog } from '../cluster/processes.ts';
import { waitFor } from '../cluster/wait.ts';
import { mainOf, writeSettings } from '../installation/berth-process.ts';
import { logLines, logSize, logText } from '../installation/log-file.ts';
import type { FaultRole, RoleProcess } from './world.ts';

const READY_MS = 60_000;

export interface RoleOptions {
  readonly stateDir: string;
  readonly role: FaultRole;
  readonly name: string;
  readonly settings: Readonly<Record<string, string>>;
  /** Folder of another version of Berth. Default: this checkout. */
  readonly checkout?: string | undefined;
}

export interface OpenFiles {
  readonly sockets: number;
  readonly others: number;
}

/** The open files of a process, according to /proc. All zero if the process has ended. */
export function openFiles(pid: number): OpenFiles {
  const folder = `/proc/${pid}/fd`;
  let sockets = 0;
  let others = 0;
  for (const entry of entriesOf(folder)) {
    try {
      if (readlinkSync(`${folder}/${entry}`).startsWith('socket:')) sockets += 1;
      else others += 1;
    } catch {
      // Closed meanwhile.
    }
  }
  return { sockets, others };
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Starts a role. Resolves before the role is ready. */
export async function startRole(options: RoleOptions): Promise<RoleProcess> {
  const { stateDir, role, name, settings, checkout } = options;
  const envFile = writeSettings(stateDir, name, settings);
  const path = logPath(stateDir, name);
  const from = logSize(path);
  const child = await startProcess(stateDir, {
    name,
    command: process.execPath,
    args: [`--env-file=${envFile}`, mainOf(checkout), role],
    env: { ...settings },
  });
  let isRunning = true;
  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.once('exit', (code, signal) => {
      isRunning = false;
      resolve({ code, signal });
    });
  });
  return {
    role,
    name,
    pid: child.pid ?? 0,
    isRunning: () => isRunning,
    // SIGKILL also ends a stopped process.
    signal: (signal) => void (isRunning && child.kill(signal)),
    ended,
    log: () => logLines(path, from),
    logText: () => logText(path, from),
  };
}

/** Describes an end that the plan did not cause. Undefined if the plan caused it by one of these signals. */
export function endedByItself(
  { code, signal }: Awaited<RoleProcess['ended']>,
  sent: ReadonlySet<string>,
): string | undefined {
  const isAsked = signal === null ? code === 0 && sent.has('SIGTERM') : sent.has(signal);
  return isAsked ? undefined : `ended by itself, with ${signal ?? code}`;
}

/**
 * Resolves when the process has logged that it is ready.
 * @throws Error with the end of its log, if it ends before
 */
export async function untilReady(started: RoleProcess, stateDir: string): Promise<void> {
  await waitFor(
    `${started.name} to be ready`,
    async () => started.log().some(({ msg }) => msg === 'berth is ready'),
    {
      timeoutMs: READY_MS,
      giveUpIf: () => {
        if (!started.isRunning())
          throw new Error(
            `${started.name} ended before it was ready:\n${tailOfLog(stateDir, started.name, 25)}`,
          );
      },
    },
  );
}
