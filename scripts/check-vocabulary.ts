/**
 * Checks that new text uses standard terms. `npm run check` runs it. scripts/vocabulary.json contains the words to avoid, and
 * for each file the number of older lines that may still contain them.
 *
 *   node scripts/check-vocabulary.ts [--help] [--update] [ROOT]
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Vocabulary {
  /** Regular expressions of words and phrases that readers do not know in this sense, each with what to write instead. */
  readonly avoid: Readonly<Record<string, string>>;
  /** Globs of the files that are checked. */
  readonly files: readonly string[];
  /** Globs of files that are not checked: generated code, and history. */
  readonly except: readonly string[];
  /** For each file with text that is older than this check, the maximum number of such lines. The number must only decrease. */
  readonly known: Readonly<Record<string, number>>;
}

const DATA = 'scripts/vocabulary.json';

/** A line of a file that contains a word to avoid. */
export interface Finding {
  readonly file: string;
  readonly line: number;
  readonly found: string;
  readonly instead: string;
}

function findingsIn(file: string, text: string, avoid: Vocabulary['avoid']): Finding[] {
  const patterns = Object.entries(avoid).map(
    ([pattern, instead]) => [new RegExp(`\\b(?:${pattern})\\b`, 'i'), instead] as const,
  );
  return text.split('\n').flatMap((content, index) => {
    for (const [pattern, instead] of patterns) {
      const found = pattern.exec(content)?.[0];
      if (found !== undefined) return [{ file, line: index + 1, found, instead }];
    }
    return [];
  });
}

/** All lines below `root` that contain a word to avoid, by file. */
export function allFindings(root: string, { avoid, files, except }: Vocabulary): Map<string, Finding[]> {
  const skipped = new Set(except.flatMap((pattern) => globSync(pattern, { cwd: root })));
  const paths = [...new Set(files.flatMap((pattern) => globSync(pattern, { cwd: root })))].filter(
    (path) => !skipped.has(path),
  );
  const found = paths
    .toSorted()
    .map((path) => [path, findingsIn(path, readFileSync(join(root, path), 'utf8'), avoid)] as const);
  return new Map(found.filter(([, findings]) => findings.length > 0));
}

/** The findings of each file that has more of them than `known` in the vocabulary allows. */
export function newFindings(root: string, vocabulary: Vocabulary): Finding[] {
  return [...allFindings(root, vocabulary)].flatMap(([file, findings]) =>
    findings.length > (vocabulary.known[file] ?? 0) ? findings : [],
  );
}

/** The vocabulary with the current numbers of such lines, for files that have improved or moved. */
export function updated(root: string, vocabulary: Vocabulary): Vocabulary {
  const known = [...allFindings(root, vocabulary)].map(
    ([file, findings]) => [file, findings.length] as const,
  );
  return { ...vocabulary, known: Object.fromEntries(known) };
}

if (import.meta.main) {
  const args = process.argv.slice(2);
  if (args.includes('--help')) {
    console.log(`usage: node scripts/check-vocabulary.ts [--update] [ROOT]
Reports text with words that ${DATA} lists. --update stores the current numbers. Use it after you have improved or moved files.`);
    process.exit(0);
  }
  const root = args.find((arg) => !arg.startsWith('-')) ?? '.';
  const path = join(root, DATA);
  const vocabulary = JSON.parse(readFileSync(path, 'utf8')) as Vocabulary;
  if (args.includes('--update')) {
    writeFileSync(path, `${JSON.stringify(updated(root, vocabulary), null, 2)}\n`);
    process.exit(0);
  }
  const found = newFindings(root, vocabulary);
  for (const { file, line, found: words, instead } of found) {
    console.error(`${file}:${line}: "${words}": write ${instead}`);
  }
  console.log(found.length === 0 ? 'vocabulary: ok' : `vocabulary: ${found.length} lines`);
  process.exit(found.length === 0 ? 0 : 1);
}
