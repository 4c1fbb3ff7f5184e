/**
 * The pages of the documentation as the tests see them: their blocks of commands, each with what says who runs it.
 *
 * A block of commands stands below a comment, `<!-- run by: test/….test.ts -->` or `<!-- needs: a cluster -->`. A
 * comment that begins with `every block` speaks for all blocks of its page that have none; in a README.md, for those of
 * its folder.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

export interface Marker {
  readonly kind: 'run by' | 'needs';
  /** Path of the test, or what is needed. */
  readonly what: string;
}

export interface ShellBlock {
  /** Path of the page from the root. */
  readonly page: string;
  /** Of the fence, from 1. */
  readonly line: number;
  readonly text: string;
  readonly marker: Marker | null;
}

const SHELLS = new Set(['sh', 'bash', 'shell', 'console']);
/** What a line of commands begins with, in blocks that do not say what they are. */
const PROGRAM =
  /^\s*(\$ )?(npm|node|berth|kubectl|helm|docker|buildctl|curl|psql|pg_\w+|git|set|export|printf|echo|logs)\s/m;
/** Pictures may name programs, too. */
const PICTURE = /[─│┌└]/;
const MARKER = /^<!-- (every block )?(run by|needs): (.+) -->$/;

/** All pages, as paths from the root. */
export function pages(): string[] {
  const found = globSync(['*.md', 'docs/**/*.md'], { cwd: root });
  return found.map((path) => path.replaceAll('\\', '/')).sort();
}

export function textOf(page: string): string {
  return readFileSync(join(root, page), 'utf8');
}

/** The comment in a line that speaks for one block, or for `every block`. */
function markerIn(line: string | undefined, speaksFor = ''): Marker | null {
  const [, every = '', kind, what = ''] = MARKER.exec(line?.trim() ?? '') ?? [];
  if ((kind !== 'run by' && kind !== 'needs') || every !== speaksFor) return null;
  return { kind, what };
}

/** What a page says of all its blocks. */
function ofWholePage(text: string): Marker | null {
  const found = text.split('\n').map((line) => markerIn(line, 'every block '));
  return found.find((marker) => marker !== null) ?? null;
}

function holdsCommands(language: string, body: string): boolean {
  return SHELLS.has(language) || (language === '' && PROGRAM.test(body) && !PICTURE.test(body));
}

/** The fenced blocks of a page that hold commands, in their order. */
export function shellBlocks(text: string, page: string): ShellBlock[] {
  const lines = text.split('\n');
  const blocks: ShellBlock[] = [];
  for (let start = 0; start < lines.length; start++) {
    const [, indent, info] = /^( *)```(.*)$/.exec(lines[start] ?? '') ?? [];
    if (indent === undefined || info === undefined) continue;
    const end = lines.findIndex((line, index) => index > start && line === `${indent}\`\`\``);
    if (end < 0) throw new Error(`failed to read ${page}: the block of line ${start + 1} has no end`);
    const body = lines.slice(start + 1, end).map((line) => `${line.slice(indent.length)}\n`);
    if (holdsCommands(info.split(' ')[0] ?? '', body.join(''))) {
      const before = lines.slice(0, start).findLast((line) => line.trim() !== '');
      const marker = markerIn(before) ?? ofWholePage(text);
      blocks.push({ page, line: start + 1, text: body.join(''), marker });
    }
    start = end;
  }
  return blocks;
}

/** The blocks of all pages; those of a folder go by its README.md where their page says nothing. */
export function allShellBlocks(): ShellBlock[] {
  const texts = new Map(pages().map((page) => [page, textOf(page)]));
  return [...texts].flatMap(([page, text]) => {
    const folder = dirname(page);
    const index = folder === '.' ? undefined : texts.get(`${folder}/README.md`);
    const fallback = index === undefined ? null : ofWholePage(index);
    return shellBlocks(text, page).map((block) => ({ ...block, marker: block.marker ?? fallback }));
  });
}
