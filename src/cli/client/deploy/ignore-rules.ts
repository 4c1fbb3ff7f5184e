import ignore from 'ignore';

/** Which entries of a folder `.gitignore` and `.berthignore` exclude. */

/** The patterns of the files in one folder. */
export interface FolderPatterns {
  readonly git: readonly string[];
  readonly berth: readonly string[];
}

export interface IgnoreRules {
  /**
   * Whether the entry is excluded. The folders above it must have been tested before, and not be excluded.
   * @param path relative to the root of the rules, with slashes. The path of a folder ends with a slash
   */
  excludes(path: string): boolean;
  /** Whether `.berthignore` excludes the entry, without the rules of git. */
  isExcludedByBerth(path: string): boolean;
  /** These rules, and those of a folder below, which take precedence. `.berthignore` takes precedence over `.gitignore`. */
  with(more: FolderPatterns): IgnoreRules;
}

/** The characters of a path that are wildcards in a pattern. The package has no escape for `?`, which then matches itself too. */
const literal = (path: string) => path.replace(/[\\*[]/g, '\\$&');

/** A pattern of a file in a folder, as a pattern of the root. null: the line contains no pattern. */
function patternBelow(folder: string, line: string): string | null {
  if (line.startsWith('#')) return null;
  const isNegated = line.startsWith('!');
  // Only at the beginning of a pattern, these characters need a backslash.
  const body = (isNegated ? line.slice(1) : line).replace(/^\\(?=[!#])/, '');
  const text = body.trimEnd();
  if (text === '' || text === '/') return null;
  const isAnchored = text.slice(0, -1).includes('/');
  const place = isAnchored ? body.replace(/^\//, '') : `**/${body}`;
  return `${isNegated ? '!' : ''}/${literal(folder)}${place}`;
}

/**
 * The patterns of a file, relative to the root of the rules.
 * @param folder the folder of the file, relative to the root; empty or with a slash at its end
 */
export function patternsOf(folder: string, text: string): string[] {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  if (folder === '') return lines;
  return lines.map((line) => patternBelow(folder, line)).filter((pattern) => pattern !== null);
}

// Names that differ only in case are different files, also where the file system ignores case. So the same folder gives the
// same archive on each machine.
const matcherOf = (patterns: readonly string[]) => ignore({ ignoreCase: false }).add(patterns);

/** Rules that exclude what the patterns match. */
export function ignoreRules({ git, berth }: FolderPatterns = { git: [], berth: [] }): IgnoreRules {
  const all = matcherOf([...git, ...berth]);
  const ours = matcherOf(berth);
  const rules: IgnoreRules = {
    excludes: (path) => all.ignores(path),
    isExcludedByBerth: (path) => ours.ignores(path),
    with: (more) =>
      more.git.length + more.berth.length === 0
        ? rules
        : ignoreRules({ git: [...git, ...more.git], berth: [...berth, ...more.berth] }),
  };
  return rules;
}
