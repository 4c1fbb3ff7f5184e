import type { Dirent } from 'node:fs';
import { lstat, readdir, readFile, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, posix, relative, sep } from 'node:path';
import { UsageError } from '../../command/usage-error.ts';
import { cell } from '../table.ts';
import { type FolderPatterns, type IgnoreRules, ignoreRules, patternsOf } from './ignore-rules.ts';
import { checkLimits, type Limits, nameProblem } from './limits.ts';
import type { LeftOut, LeftOutReason, SourceEntry, SourceFolder } from './source.ts';
import { packProblem, readProblem } from './source-file.ts';

/** Reads which files of a folder are sent. Links are never followed, so nothing outside the folder is read. */

export interface FolderOptions {
  readonly includeEnv: boolean;
  readonly stopped: AbortSignal;
  readonly limits: Limits;
}

/** The state of one walk. */
interface Walk extends FolderOptions {
  readonly root: string;
  /** The path of the folder, relative to the root of the rules. Empty, or with a slash at its end. */
  readonly base: string;
  readonly entries: SourceEntry[];
  readonly leftOut: LeftOut[];
}

const asPosix = (path: string) => path.split(sep).join('/');

/** The text of a file with patterns. A link to such a file is no such file, as for git. */
async function textOf(path: string, shown: string): Promise<string> {
  const found = await lstat(path).catch(() => null);
  if (found?.isFile() !== true) return '';
  return await readFile(path, 'utf8').catch((error) => {
    throw readProblem(shown, error);
  });
}

/**
 * The patterns in a folder.
 * @param place the folder, relative to the root of the rules
 */
async function patternsIn(folder: string, place: string): Promise<FolderPatterns> {
  const read = async (name: string) => {
    const text = await textOf(join(folder, name), `${place}${name}`);
    return text === '' ? [] : patternsOf(place, text);
  };
  const [git, berth] = await Promise.all([read('.gitignore'), read('.berthignore')]);
  return { git, berth };
}

/** The root of the repository that contains a folder. null: no folder above has `.git`. */
async function repositoryOf(folder: string): Promise<string | null> {
  if ((await lstat(join(folder, '.git')).catch(() => null)) !== null) return folder;
  const above = dirname(folder);
  return above === folder ? null : repositoryOf(above);
}

interface Start {
  readonly base: string;
  readonly rules: IgnoreRules;
}

/**
 * The rules of the folders above, up to the root of the repository. If they exclude the folder itself, they do not count,
 * because the user has named the folder.
 */
async function rulesAbove(root: string): Promise<Start> {
  const repository = await repositoryOf(root);
  const alone = { base: '', rules: ignoreRules() };
  if (repository === null || repository === root) return alone;
  const steps = asPosix(relative(repository, root)).split('/');
  let rules = ignoreRules();
  let place = '';
  for (const step of steps) {
    const { git } = await patternsIn(join(repository, place), place);
    rules = rules.with({ git, berth: [] });
    place = `${place}${step}/`;
    if (rules.excludes(place)) return alone;
  }
  return { base: place, rules };
}

/** Whether a file or folder has a name of files with environment variables. */
const isEnvironmentName = (name: string): boolean => name.startsWith('.env');

/** Why an entry is left out. null: it is sent, or read if it is a folder. */
function leftOutReason(
  { base, includeEnv }: Walk,
  rules: IgnoreRules,
  path: string,
  kind: { readonly isFolder: boolean; readonly isSpecial: boolean },
): LeftOutReason | null {
  const place = `${base}${path}${kind.isFolder ? '/' : ''}`;
  const isEnvironment = isEnvironmentName(posix.basename(path));
  if (rules.isExcludedByBerth(place)) return 'ignored';
  if (isEnvironment && !includeEnv) return 'environment';
  // --include-env names these files, although most repositories exclude them in .gitignore.
  if (!(isEnvironment && !kind.isFolder) && rules.excludes(place)) return 'ignored';
  return kind.isSpecial ? 'not a file' : null;
}

/**
 * Why the API rejects a link. null: it does not. `..` is allowed at the start of a target only, because later it could follow
 * another link.
 */
function linkProblem(path: string, target: string): string | null {
  const parts = target.split('/').filter((part) => part !== '' && part !== '.');
  const first = parts.findIndex((part) => part !== '..');
  const up = first === -1 ? parts.length : first;
  const leaves = target.startsWith('/') || isAbsolute(target) || up > path.split('/').length - 1;
  if (leaves) return `it is a link out of the folder (to ${cell(target)})`;
  return parts.slice(up).includes('..') ? `its target has .. after its start (${cell(target)})` : null;
}

/** @throws UsageError when the entry cannot be sent */
async function entryOf(root: string, path: string): Promise<SourceEntry> {
  const found = await lstat(join(root, path)).catch((error) => {
    throw readProblem(path, error);
  });
  const { size, mode, mtimeMs: changed } = found;
  if (!found.isSymbolicLink())
    return { path, size, isExecutable: (mode & 0o100) !== 0, target: null, changed };
  const target = asPosix(await readlink(join(root, path)));
  const wrong = linkProblem(path, target);
  if (wrong !== null) throw packProblem(path, `${wrong}. Change it, or exclude it in .berthignore`);
  return { path, size: 0, isExecutable: false, target, changed };
}

/** What a folder contains: paths of files and links to send, and of folders to read. */
interface Contents {
  readonly sent: readonly string[];
  readonly folders: readonly string[];
}

/** Decides what is sent of a folder. Adds the rest to what is left out. */
function choose(state: Walk, rules: IgnoreRules, folder: string, found: readonly Dirent[]): Contents {
  const sent: string[] = [];
  const folders: string[] = [];
  for (const entry of found) {
    if (entry.name === '.git') continue;
    const path = `${folder}${entry.name}`;
    const isFolder = entry.isDirectory();
    const isSpecial = !isFolder && !entry.isFile() && !entry.isSymbolicLink();
    const reason = leftOutReason(state, rules, path, { isFolder, isSpecial });
    if (reason !== null) {
      state.leftOut.push({ path: isFolder ? `${path}/` : path, reason });
      continue;
    }
    const wrong = nameProblem(path);
    if (wrong !== null) throw packProblem(path, `${wrong}. Rename it, or exclude it in .berthignore`);
    (isFolder ? folders : sent).push(path);
  }
  return { sent, folders };
}

/** Reads a folder and the folders below. Stops when there are too many entries. */
async function walk(state: Walk, folder: string, above: IgnoreRules): Promise<void> {
  const { root, base, entries, stopped, limits } = state;
  stopped.throwIfAborted();
  const rules = above.with(await patternsIn(join(root, folder), `${base}${folder}`));
  const found = await readdir(join(root, folder), { withFileTypes: true }).catch((error) => {
    throw readProblem(folder === '' ? basename(root) : folder, error);
  });
  const inOrder = found.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const { sent, folders } = choose(state, rules, folder, inOrder);
  // One more than the limit is an error. The rest of a huge folder is not read.
  const more = sent.slice(0, limits.entries + 1 - entries.length);
  for (const entry of await Promise.all(more.map((path) => entryOf(root, path)))) entries.push(entry);
  if (entries.length > limits.entries) return;
  for (const path of folders) await walk(state, `${path}/`, rules);
}

/** @throws UsageError when it is not a folder that can be read */
async function rootOf(folder: string): Promise<string> {
  const root = await realpath(folder).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`failed to read the folder ${cell(folder)} (${error.code})`);
  });
  if (!(await lstat(root)).isDirectory()) throw new UsageError(`${cell(folder)} is not a folder`);
  return root;
}

/**
 * The files of a folder that are sent: all but `.git`, what `.gitignore` and `.berthignore` exclude, and `.env*`.
 * @throws UsageError when an entry cannot be sent, when a limit is exceeded, or when nothing is left
 */
export async function readFolder(folder: string, options: FolderOptions): Promise<SourceFolder> {
  const root = await rootOf(folder);
  const { base, rules } = await rulesAbove(root);
  const state: Walk = { ...options, root, base, entries: [], leftOut: [] };
  await walk(state, '', rules);
  const entries = state.entries.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  checkLimits(entries, options.limits);
  if (!entries.some(({ target }) => target === null))
    throw new UsageError(`the folder ${cell(folder)} has no files to send`);
  const environment = entries
    .map(({ path }) => path)
    .filter((path) => path.split('/').some(isEnvironmentName));
  return { root, entries, leftOut: state.leftOut, environment };
}
