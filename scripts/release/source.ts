/** What is released: version, commit and date. */
import { execFileSync, type StdioOptions } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

/** Folder of the checkout. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Everything that identifies a release. */
export interface Source {
  readonly version: string;
  /** Commit, with `-dirty` if files were changed since. Empty outside of a git repository. */
  readonly revision: string;
  /** Date of every file in the artifacts, in whole seconds. */
  readonly timestamp: Date;
  /** URL of the repository, from the chart. */
  readonly url: string;
}

interface Chart {
  readonly version: string;
  readonly appVersion: string;
  readonly sources: readonly [string];
}

/** @throws Error with the message of git */
function git(root: string, ...args: string[]): string {
  try {
    const stdio: StdioOptions = ['ignore', 'pipe', 'pipe'];
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio }).trim();
  } catch (cause) {
    const message = (cause as { stderr?: string }).stderr?.trim() || (cause as Error).message;
    throw new Error(
      `failed to read the commit: git ${args[0]}: ${message}; next: run \`git status\` in ${root}, and correct what it reports`,
      { cause },
    );
  }
}

/** A folder of sources without `.git` may be part of another repository, whose commits say nothing about it. */
const isRepository = (root: string) => existsSync(join(root, '.git'));

function revisionOf(root: string): string {
  if (!isRepository(root)) return '';
  const commit = git(root, 'rev-parse', 'HEAD');
  return git(root, 'status', '--porcelain') === '' ? commit : `${commit}-dirty`;
}

/** SOURCE_DATE_EPOCH (https://reproducible-builds.org/specs/source-date-epoch), or the date of the commit. */
function timestampOf(env: NodeJS.ProcessEnv, root: string): Date {
  const given = env['SOURCE_DATE_EPOCH'];
  if (given !== undefined && !/^\d{1,11}$/.test(given))
    throw new Error(
      `failed to read SOURCE_DATE_EPOCH: ${JSON.stringify(given)} is not a number of seconds; next: set it to the output of \`git log -1 --format=%ct\``,
    );
  if (given !== undefined) return new Date(Number(given) * 1000);
  if (!isRepository(root))
    throw new Error(
      'failed to read the date of the commit: this folder is not a git repository; next: set SOURCE_DATE_EPOCH to a number of seconds',
    );
  return new Date(Number(git(root, 'log', '-1', '--format=%ct')) * 1000);
}

/** @throws Error unless package.json and both versions of the chart are equal */
function checkVersions(version: string, chart: Chart): void {
  if (chart.version === version && chart.appVersion === version) return;
  throw new Error(
    `failed to read the version: package.json has ${version}, and Chart.yaml has the version ${chart.version} and the appVersion ${chart.appVersion}; next: npm run set-version -- ${version}`,
  );
}

/**
 * @param root folder of the checkout
 * @throws Error if the versions differ, if git fails, or if neither SOURCE_DATE_EPOCH nor a commit gives a date
 */
export function readSource(env: NodeJS.ProcessEnv, root = ROOT): Source {
  const text = (path: string) => readFileSync(join(root, path), 'utf8');
  const { version } = JSON.parse(text('package.json')) as { version: string };
  const chart = parse(text('manifests/helm/berth/Chart.yaml')) as Chart;
  checkVersions(version, chart);
  return { version, revision: revisionOf(root), timestamp: timestampOf(env, root), url: chart.sources[0] };
}
