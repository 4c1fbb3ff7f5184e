import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Runs `action` while holding a lock, which is a file with the pid. Waits while another live process holds the lock, and calls
 * `onWait` once with its pid.
 */
export async function withLock<T>(
  path: string,
  onWait: (pid: number) => void,
  action: () => Promise<T>,
): Promise<T> {
  await takeLock(path, onWait);
  try {
    return await action();
  } finally {
    rmSync(path, { force: true });
  }
}

async function takeLock(path: string, onWait: (pid: number) => void): Promise<void> {
  // The lock appears by a link together with its content, so a reader never sees an empty file.
  const own = `${path}.${randomUUID()}`;
  writeFileSync(own, `${process.pid}\n`);
  try {
    for (let waiting = false; !tryLink(own, path); ) {
      const holder = lockHolder(path);
      if (holder === undefined) {
        rmSync(path, { force: true });
        continue;
      }
      if (!waiting) onWait(holder);
      waiting = true;
      await delay(500);
    }
  } finally {
    rmSync(own, { force: true });
  }
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Pid in the lock file. Undefined if the process has ended. */
function lockHolder(path: string): number | undefined {
  let pid = Number.NaN;
  try {
    pid = Number.parseInt(readFileSync(path, 'utf8'), 10);
    process.kill(pid, 0);
    return pid;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' ? pid : undefined;
  }
}
