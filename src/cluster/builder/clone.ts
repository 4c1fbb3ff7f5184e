import { chmodSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { commitShaSchema } from '../../domain/builds/build.ts';
import { type Git, GitEndedError, type GitResult } from '../../outbound/git-process.ts';
import { StepFailure } from './step-failure.ts';

/** Checks out one commit of a repository as plain files, without history and without git's own files. */

export interface CloneLimits {
  /** Limit for the fetched bytes, and for the total size of the files of the commit. */
  readonly bytes: number;
  readonly files: number;
  /** For all calls of the git host, in milliseconds. */
  readonly timeoutMs: number;
}

export interface CloneRequest {
  readonly git: Git;
  readonly url: string;
  /** Branch, tag, refs/… or commit; absent: the HEAD of the repository. */
  readonly ref?: string | undefined;
  /**
   * Takes precedence over `ref`, but must be in the history of `ref`, because hosts also serve commits of forks by
   * their ids.
   */
  readonly commit?: string | undefined;
  /** Folder for git's own files. */
  readonly gitDir: string;
  /** Folder for the files of the commit, which the clone creates. */
  readonly into: string;
  readonly limits: CloneLimits;
  readonly log: (line: string) => void;
}

const MEGABYTE = 1024 * 1024;
/**
 * Timeout of git commands that do not call the host. The timeout is needed because a few git objects can expand to an
 * unlimited number of paths.
 */
const LOCAL_MS = 120_000;
const SLOW = 'the time limit for reading and writing the files of the commit expired';

/** Total size of all files below a folder. Files that disappear during the scan are not counted. */
function folderBytes(folder: string): number {
  let bytes = 0;
  for (const entry of existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : []) {
    try {
      bytes += statSync(join(folder, entry)).size;
    } catch {
      // Git has renamed or removed the file.
    }
  }
  return bytes;
}

const isCommit = (ref: string | undefined) => commitShaSchema.safeParse(ref).success;

/**
 * Names to request from the server, the most likely first. Like git, a branch takes precedence over a tag of the same
 * name.
 */
function candidates(ref: string | undefined): string[] {
  if (ref === undefined) return ['HEAD'];
  if (isCommit(ref) || ref.startsWith('refs/')) return [ref];
  return [`refs/heads/${ref}`, `refs/tags/${ref}`];
}

/** Depths to which the history of a branch is searched for a commit. Most commits are among the newest. */
const DEPTHS = [100, 10_000];

const isMissingRef = ({ stderr }: GitResult) =>
  /couldn't find remote ref|not our ref|unadvertised object|no such ref/i.test(stderr);

/** The last lines of git's output, which contain the cause. */
function lastLines({ stderr }: GitResult): string {
  const lines = stderr
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^(From |remote: (Enumerating|Counting|Compressing|Total))/.test(line));
  return lines.slice(-3).join('; ');
}

class Cloning {
  readonly #request: CloneRequest;
  readonly #deadline: number;

  constructor(request: CloneRequest) {
    this.#request = request;
    this.#deadline = Date.now() + request.limits.timeoutMs;
  }

  /**
   * Runs git in the repository.
   * @param onOutput a returned text stops git: the commit is too large
   * @throws StepFailure when a limit stops git
   */
  async git(args: readonly string[], onOutput?: (chunk: Buffer) => string | null): Promise<GitResult> {
    const { git, gitDir, limits } = this.#request;
    // The options of git itself may precede the name of the command.
    const asksHost = args.includes('fetch');
    const tooLarge = `the repository is larger than the limit for builds (${limits.bytes / MEGABYTE} MiB)`;
    let ended: string | null = null;
    const output = (chunk: Buffer) => {
      ended ??= onOutput?.(chunk) ?? null;
      return ended;
    };
    try {
      return await git([`--git-dir=${gitDir}`, ...args], {
        timeoutMs: asksHost ? Math.max(1, this.#deadline - Date.now()) : LOCAL_MS,
        watch: () => (folderBytes(gitDir) > limits.bytes ? tooLarge : null),
        ...(onOutput === undefined ? {} : { onOutput: output }),
      });
    } catch (error) {
      if (!(error instanceof GitEndedError)) throw error;
      if (error.message === tooLarge || ended !== null) throw new StepFailure('BuildTooLarge', error.message);
      if (!asksHost) throw new StepFailure('BuildTooLarge', SLOW);
      throw new StepFailure('GitHostUnavailable', 'the time limit for fetching the repository expired');
    }
  }

  /** Like `git`, but throws when the command fails. */
  async must(what: string, args: readonly string[]): Promise<string> {
    const result = await this.git(args);
    if (result.code !== 0) throw new Error(`failed to ${what}: ${lastLines(result)}`);
    return result.stdout.trim();
  }

  /**
   * Fetches the commit to build, without its history.
   * @returns the id of the commit, or the name under which it was fetched
   */
  async fetch(): Promise<string> {
    const { ref, commit } = this.#request;
    const name = await this.#fetchNewest(candidates(ref));
    if (name === null) throw missing(ref);
    if (commit === undefined) return 'FETCH_HEAD';
    if (ref === commit || (await this.#newest()) === commit) return commit;
    if (isCommit(ref) || !(await this.#isInHistory(name, commit))) throw notOn(ref, commit);
    if ((await this.#fetchNewest([commit])) !== null) return commit;
    // The server does not serve commits by id, so fetch the whole history of the ref.
    const whole = ['fetch', '--no-tags', '--unshallow', '--end-of-options', this.#request.url, name];
    const fetched = await this.git(whole);
    if (fetched.code !== 0) throw unavailable(this.#request.url, fetched);
    return commit;
  }

  /** Fetches the newest commit of the first name that exists; null when no name exists. */
  async #fetchNewest(names: readonly string[]): Promise<string | null> {
    const { url } = this.#request;
    for (const name of names) {
      const result = await this.git(['fetch', '--no-tags', '--depth=1', '--end-of-options', url, name]);
      if (result.code === 0) return name;
      if (!isMissingRef(result)) throw unavailable(url, result);
    }
    return null;
  }

  async #newest(): Promise<string> {
    const result = await this.git(['rev-parse', '--verify', '--quiet', 'FETCH_HEAD^{commit}']);
    return result.stdout.trim();
  }

  /**
   * Whether the commit is in the history of the ref. A separate repository holds the history, without file contents
   * if the server supports that.
   */
  async #isInHistory(name: string, commit: string): Promise<boolean> {
    const { gitDir, url } = this.#request;
    const inHistory = `--git-dir=${join(gitDir, 'history')}`;
    await this.must('create a repository', [inHistory, 'init', '--quiet']);
    for (const depth of DEPTHS) {
      const how = ['--no-tags', '--filter=tree:0', `--depth=${depth}`];
      const fetched = await this.git([inHistory, 'fetch', ...how, '--end-of-options', url, name]);
      if (fetched.code !== 0) throw unavailable(url, fetched);
      if (await this.#isListed(inHistory, commit)) return true;
      const shallow = await this.must('read the history', [
        inHistory,
        'rev-parse',
        '--is-shallow-repository',
      ]);
      if (shallow === 'false') return false;
    }
    return false;
  }

  /** Searches the list of commits. A lookup by id would fetch a missing commit from the server. */
  async #isListed(inHistory: string, commit: string): Promise<boolean> {
    let [found, rest] = [false, ''];
    await this.git([inHistory, 'rev-list', 'FETCH_HEAD'], (chunk) => {
      const lines = (rest + chunk.toString('latin1')).split('\n');
      rest = lines.pop() ?? '';
      found ||= lines.includes(commit);
      return null;
    });
    return found;
  }

  /**
   * Checks the sizes of the files before any file is written, because a small pack can expand to very large or very
   * many files.
   */
  async check(commit: string): Promise<void> {
    const { limits, log } = this.#request;
    let [bytes, files, folders, submodules] = [0, 0, 0, 0];
    let rest = '';
    const count = (entry: string) => {
      const [, type, , size] = entry.split(/\s+/, 4);
      if (type === 'tree') folders += 1;
      else files += 1;
      if (type === 'commit') submodules += 1;
      bytes += Number(size) || 0;
    };
    const most = `the limit for builds is ${limits.files} files and ${limits.bytes / MEGABYTE} MiB`;
    const result = await this.git(['ls-tree', '-r', '-t', '-l', '-z', '--full-tree', commit], (chunk) => {
      const entries = (rest + chunk.toString('latin1')).split('\0');
      rest = entries.pop() ?? '';
      for (const entry of entries) count(entry);
      const isTooMuch = bytes > limits.bytes || files > limits.files || folders > limits.files;
      return isTooMuch ? `the commit is too large: ${most}` : null;
    });
    if (result.code !== 0) throw new Error(`failed to read the commit: ${lastLines(result)}`);
    log(`${files} files, ${Math.ceil(bytes / 1024)} KiB`);
    if (submodules > 0) log(`submodules are not fetched: ${submodules}`);
  }
}

function missing(name: string | undefined): StepFailure {
  if (name === undefined) return new StepFailure('RefNotFound', 'the repository is empty');
  const short = /^[0-9a-f]{4,39}$/.test(name) ? '; if it is a commit, set the full id of 40 digits' : '';
  return new StepFailure('RefNotFound', `the repository has no branch, tag or commit ${name}${short}`);
}

function unavailable(url: string, result: GitResult): StepFailure {
  return new StepFailure('GitHostUnavailable', `fetching ${url} failed: ${lastLines(result)}`, {
    passing: true,
  });
}

/** If a host has several servers, a new push may take a moment to reach all of them. */
function notOn(ref: string | undefined, commit: string): StepFailure {
  const where = ref === undefined ? 'the default branch' : ref;
  const message =
    `commit ${commit} is not in the history of ${where}: a force push removed it, or it is on another ` +
    `branch; push to the branch to build its newest commit`;
  return new StepFailure('RefNotFound', message, { passing: true });
}

/**
 * Fetches one commit without its history, and writes its files.
 * @returns the id of the commit
 * @throws StepFailure GitHostUnavailable, RefNotFound, BuildTooLarge
 */
export async function clone(request: CloneRequest): Promise<string> {
  const cloning = new Cloning(request);
  const { commit, into, log } = request;
  await cloning.must('create a repository', ['init', '--quiet']);
  const revision = `${await cloning.fetch()}^{commit}`;
  const found = await cloning.git(['rev-parse', '--verify', '--quiet', '--end-of-options', revision]);
  // A tag may also point to a file or a folder instead of a commit.
  if (found.code !== 0) throw missing(commit ?? request.ref);
  const sha = found.stdout.trim();
  log(`commit ${sha}`);
  await cloning.check(sha);
  mkdirSync(into, { recursive: true });
  // New files may inherit the group permissions of the folder of a volume, and these permissions would become part of
  // the image.
  chmodSync(into, 0o755);
  await cloning.must('write the files', [
    `--work-tree=${into}`,
    'checkout',
    '--quiet',
    '--force',
    '--detach',
    sha,
  ]);
  return sha;
}
