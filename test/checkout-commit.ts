/** Which commit results were made at. */
import { execFileSync } from 'node:child_process';

function git(folder: string, ...args: string[]): string | undefined {
  try {
    const said = execFileSync('git', args, {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return said.trim();
  } catch {
    return undefined;
  }
}

/**
 * The commit of a checkout, and whether the program is another one than there; undefined: it is none, or git is missing.
 * @param root of the checkout
 */
export function checkoutCommit(root: string): string | undefined {
  const commit = git(root, 'rev-parse', '--short', 'HEAD');
  const isChanged = (git(root, 'status', '--porcelain', '--', 'src', 'test', 'scripts') ?? '') !== '';
  return commit === undefined || !isChanged ? commit : `${commit} with changes`;
}
