/** The version before this one: the last commit that was handed over as a whole before the newest migration. */
import { execFileSync, type StdioOptions } from 'node:child_process';
import { readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const MIGRATIONS = 'src/hub/store/migrations';

function git(...args: string[]): string {
  const stdio: StdioOptions = ['ignore', 'pipe', 'ignore'];
  return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio }).trim();
}

/**
 * Pinned, because a commit in the middle of a change may be inconsistent. Update it with the next migration: to the last
 * commit before the change of the migration began.
 */
const PINNED_COMMIT = '8c20edf3cec132b2145a16850e24d76bf57a53b9';

/** Its commit, or why there is none to be had here: a shallow clone, no clone at all. Nothing is fetched. */
export function previousVersion(): { commit: string } | { missing: string } {
  const newest = readdirSync(join(root, MIGRATIONS))
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .at(-1);
  const path = `${MIGRATIONS}/${newest}`;
  try {
    return { commit: git('rev-parse', '--verify', `${PINNED_COMMIT}^{commit}`) };
  } catch {
    // Another history than that one: the commit before the newest migration.
  }
  try {
    const [added] = git('log', '--follow', '--diff-filter=A', '--format=%H', '--', path).split('\n');
    if (!added) return { missing: `no commit of this clone adds ${path}` };
    return { commit: git('rev-parse', '--verify', `${added}^{commit}^`) };
  } catch {
    return { missing: `this clone does not reach back to the commit before ${path} (git fetch --unshallow)` };
  }
}

/** Puts the files of a commit into `folder`, which exists, with the packages of this checkout. */
export function checkOut(commit: string, folder: string): void {
  const archive = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 256 * 1024 * 1024 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
}
