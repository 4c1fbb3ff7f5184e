import { commitShaSchema } from '../../domain/builds/build.ts';
import type { BranchHead } from '../../domain/builds/git-host.ts';

/** Reads the refs that git's program for https lists (gitremote-helpers(7), command `list`). */

const HEAD = 'HEAD';
const BRANCHES = 'refs/heads/';

/** Collects the branches from the output of the program. A part may end within a character, so the text stays in bytes. */
export class RefReader {
  readonly #commits = new Map<string, string>();
  #defaultBranch: string | null = null;
  #rest = '';

  /** Reads the next part of the output. */
  add(chunk: Buffer): void {
    const lines = (this.#rest + chunk.toString('latin1')).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#addLine(line);
  }

  /** `COMMIT NAME`, or `@TARGET NAME` for a symbolic ref. */
  #addLine(line: string): void {
    const [value = '', name = ''] = line.split(' ');
    if (name === HEAD && value.startsWith(`@${BRANCHES}`)) this.#defaultBranch = value.slice(1);
    else if (name.startsWith(BRANCHES) && commitShaSchema.safeParse(value).success)
      this.#commits.set(name, value);
  }

  /**
   * The newest commit of a branch; null: the branch does not exist.
   * @param branch null: the default branch
   */
  head(branch: string | null): BranchHead | null {
    const ref =
      branch === null ? this.#defaultBranch : `${BRANCHES}${Buffer.from(branch).toString('latin1')}`;
    const commit = ref === null ? undefined : this.#commits.get(ref);
    if (ref === null || commit === undefined) return null;
    return { branch: Buffer.from(ref.slice(BRANCHES.length), 'latin1').toString(), commit };
  }
}
