/** Bare repositories on disk, and commits in them without a work tree. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';

/** Content of a file. Mode 100755: a program. Mode 120000: a symbolic link, whose content is its target. */
export type FileChange =
  | string
  | Buffer
  | { content: string | Buffer; mode: '100644' | '100755' | '120000' }
  /** Deletes the file. */
  | null;

/** Changes, by path in the repository. */
export type FileChanges = Readonly<Record<string, FileChange>>;

export interface CommitOptions {
  /** Default: main. */
  branch?: string;
  message?: string;
  /** Commit time in seconds since 1970. Default: now. Equal content and time result in the same id. */
  time?: number;
  /** Whether the branch starts again without history, so that earlier commits are not reachable by it. */
  orphan?: boolean;
}

/** Without the settings of the user, such as commit signing, hooks and branch names. */
const ENVIRONMENT = {
  PATH: process.env['PATH'] ?? '',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
};

/**
 * Runs git in a folder, and returns its output without the final line end.
 * @throws Error with the message of git
 */
export async function git(folder: string, args: readonly string[], input?: Buffer): Promise<string> {
  const child = spawn('git', ['-C', folder, ...args], { env: ENVIRONMENT });
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const [code, output, errors] = await Promise.all([ended, buffer(child.stdout), buffer(child.stderr)]);
  if (code !== 0) throw new Error(`failed to run git ${args.join(' ')}: ${errors.toString().trim()}`);
  return output.toString().trimEnd();
}

/** Folder of the bare repository with this name in `root`. Created if it does not exist. */
export async function createRepository(root: string, name: string): Promise<string> {
  const folder = join(root, `${name}.git`);
  if (existsSync(join(folder, 'HEAD'))) return folder;
  await git(root, ['init', '--quiet', '--bare', '--initial-branch=main', folder]);
  // Like public hosts: clients can fetch any commit by its id, and partial clones.
  const settings = { 'uploadpack.allowAnySHA1InWant': 'true', 'uploadpack.allowFilter': 'true' };
  for (const [key, value] of Object.entries(settings)) await git(folder, ['config', key, value]);
  return folder;
}

/** Writes a commit on top of a branch, which is created if necessary. Returns the id of the commit. */
export async function commitFiles(
  folder: string,
  files: FileChanges,
  { branch = 'main', message = 'A commit', time, orphan = false }: CommitOptions = {},
): Promise<string> {
  const ref = `refs/heads/${branch}`;
  const tip = orphan ? '' : await git(folder, ['for-each-ref', '--format=%(objectname)', ref]);
  const seconds = time ?? Math.floor(Date.now() / 1000);
  const stream = [
    `commit ${ref}\ncommitter Test <test@example.com> ${seconds} +0000\n`,
    data(message),
    tip === '' ? '' : `from ${tip}\n`,
    ...(tip === '' ? ['deleteall\n'] : []),
    ...Object.entries(files).map(([path, change]) => changeOf(path, change)),
    '\n',
  ];
  const input = Buffer.concat(stream.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
  await git(folder, ['fast-import', '--quiet', '--force', '--date-format=raw'], input);
  return git(folder, ['rev-parse', ref]);
}

/** In a quoted path, these characters need a backslash. */
const quoted = (path: string) => `"${path.replace(/["\\]/g, '\\$&').replaceAll('\n', '\\n')}"`;

function data(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content as string);
  return Buffer.concat([Buffer.from(`data ${bytes.length}\n`), bytes, Buffer.from('\n')]);
}

function changeOf(path: string, change: FileChange): Buffer {
  if (change === null) return Buffer.from(`D ${quoted(path)}\n`);
  const { content, mode } =
    typeof change === 'string' || Buffer.isBuffer(change)
      ? { content: change, mode: '100644' as const }
      : change;
  return Buffer.concat([Buffer.from(`M ${mode} inline ${quoted(path)}\n`), data(content)]);
}
