/** Folders for the tests of `berth deploy`. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { readFolder } from '../../../../../src/cli/client/deploy/folder.ts';
import { LIMITS } from '../../../../../src/cli/client/deploy/limits.ts';
import type { SourceFolder } from '../../../../../src/cli/client/deploy/source.ts';

/** The content of a file, a link, or a program. */
export type Content = string | { readonly link: string } | { readonly program: string };

/** An empty folder, which is removed after the test. */
export function emptyFolder(): string {
  const made = mkdtempSync(join(realpathSync(tmpdir()), 'berth-folder-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** Writes files by their paths. */
export function fill(folder: string, files: Readonly<Record<string, Content>>): string {
  for (const [path, content] of Object.entries(files)) {
    const at = join(folder, path);
    mkdirSync(dirname(at), { recursive: true });
    if (typeof content === 'string') writeFileSync(at, content);
    else if ('link' in content) symlinkSync(content.link, at);
    else {
      writeFileSync(at, content.program);
      chmodSync(at, 0o755);
    }
  }
  return folder;
}

/** A folder with these files. */
export const folderWith = (files: Readonly<Record<string, Content>>): string => fill(emptyFolder(), files);

const NO_USER = 65534;

/** Runs a part of a test as a user whom permissions stop. Root can read every file. */
export async function withoutRoot(folder: string, run: () => Promise<unknown>): Promise<void> {
  const isRoot = process.geteuid?.() === 0;
  chmodSync(folder, 0o755);
  if (isRoot) process.seteuid?.(NO_USER);
  try {
    await run();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

const never = new AbortController().signal;

export const read = (folder: string, includeEnv = false): Promise<SourceFolder> =>
  readFolder(folder, { includeEnv, stopped: never, limits: LIMITS });

export const pathsOf = ({ entries }: SourceFolder): string[] => entries.map(({ path }) => path);

/** Runs git without the configuration of the user. */
export function git(folder: string, ...words: string[]): string {
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
  };
  return execFileSync('git', words, {
    cwd: folder,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Makes a folder a repository, as `git init` does, but without a process. */
export function makeRepository(folder: string): void {
  for (const path of ['objects', 'refs']) mkdirSync(join(folder, '.git', path), { recursive: true });
  writeFileSync(join(folder, '.git/HEAD'), 'ref: refs/heads/main\n');
}

/** The files that git would add to the repository of the folder. */
export const filesOfGit = (folder: string): string[] =>
  git(folder, 'ls-files', '--others', '--exclude-standard', '-z')
    .split('\0')
    .filter((path) => path !== '')
    .sort();
