/** What is released: version, commit and date. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
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

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}

function revisionOf(): string {
  try {
    const commit = git('rev-parse', 'HEAD');
    return git('status', '--porcelain') === '' ? commit : `${commit}-dirty`;
  } catch {
    return '';
  }
}

/** SOURCE_DATE_EPOCH (https://reproducible-builds.org/specs/source-date-epoch), or the date of the commit. */
function timestampOf(env: NodeJS.ProcessEnv): Date {
  const given = env['SOURCE_DATE_EPOCH'];
  if (given !== undefined && !/^\d{1,11}$/.test(given))
    throw new Error(
      `failed to read SOURCE_DATE_EPOCH: ${JSON.stringify(given)} is not a number of seconds; next: set it to the output of \`git log -1 --format=%ct\``,
    );
  if (given !== undefined) return new Date(Number(given) * 1000);
  try {
    return new Date(Number(git('log', '-1', '--format=%ct')) * 1000);
  } catch (cause) {
    throw new Error(
      'failed to read the date of the commit: this folder is not a git repository; next: set SOURCE_DATE_EPOCH to a number of seconds',
      { cause },
    );
  }
}

/** @throws Error if neither SOURCE_DATE_EPOCH nor a commit gives a date */
export function readSource(env: NodeJS.ProcessEnv): Source {
  const text = (path: string) => readFileSync(join(ROOT, path), 'utf8');
  const { version } = JSON.parse(text('package.json')) as { version: string };
  const { sources } = parse(text('manifests/helm/berth/Chart.yaml')) as { sources: [string] };
  return { version, revision: revisionOf(), timestamp: timestampOf(env), url: sources[0] };
}
