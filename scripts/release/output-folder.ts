/** The folder of a release. It gets all files at the end, so it is never incomplete, and a failure does not change it. */
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { constants } from 'node:os';
import { basename, dirname, join } from 'node:path';

/** Why a path cannot be the folder of a release. Undefined: it can. */
export function whyNotOutput(path: string): string | undefined {
  try {
    // Also finds a link that leads nowhere. Nothing can be renamed to its path.
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined && isBelowFolder(path)) return undefined;
    if (!statSync(path).isDirectory()) return `${path} is a file; name a folder with --output`;
    if (readdirSync(path).length === 0) return undefined;
    return `${path} is not empty; name another folder, or remove its files`;
  } catch (error) {
    return `${path} cannot be read: ${(error as Error).message}; name another folder with --output`;
  }
}

/** Whether the nearest parent that exists is a folder. */
function isBelowFolder(path: string): boolean {
  const parent = statSync(dirname(path), { throwIfNoEntry: false });
  return parent?.isDirectory() ?? isBelowFolder(dirname(path));
}

/** Creates a temporary folder beside the folder of the release, so that it can be renamed. */
export function temporaryFolderBeside(output: string): string {
  mkdirSync(dirname(output), { recursive: true });
  return mkdtempSync(join(dirname(output), `.${basename(output)}-`));
}

/** Puts the complete files into the folder of the release. A folder that exists may be a mount point, so it stays. */
export function moveFiles(from: string, output: string): void {
  if (existsSync(output)) cpSync(from, output, { recursive: true });
  else {
    // Only its owner can read a temporary folder.
    chmodSync(from, 0o777 & ~process.umask());
    renameSync(from, output);
  }
}

/** Removes a folder, also while a program that has to end still writes into it. */
export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
}

/** Passes a signal on to the programs that this process has started, so that they write no more files. */
function endChildren(signal: NodeJS.Signals): void {
  for (const list of globSync('/proc/self/task/*/children'))
    for (const id of readFileSync(list, 'utf8').split(' ').filter(Boolean))
      try {
        process.kill(Number(id), signal);
      } catch {
        // It has ended meanwhile.
      }
}

/** When the process is interrupted, removes folders, and exits as a shell expects: with 128 + the number of the signal. */
export function removeWhenInterrupted(folders: readonly string[]): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => {
      try {
        endChildren(signal);
        folders.forEach(removeFolder);
      } finally {
        process.exit(128 + constants.signals[signal]);
      }
    });
}
