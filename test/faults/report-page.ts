/** Writes a generated section of docs/reliability.md. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const PAGE = fileURLToPath(new URL('../../docs/reliability.md', import.meta.url));

/** A section between two comments. */
export interface Section {
  readonly begin: string;
  readonly end: string;
}

/** Replaces the lines of a section. The function gets the previous lines. @throws Error if the page has no such section */
export function writeSection(
  { begin, end }: Section,
  linesAfter: (before: readonly string[]) => readonly string[],
): void {
  const page = readFileSync(PAGE, 'utf8');
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`failed to write the results: ${PAGE} has no "${begin}"`);
  const lines = [begin, ...linesAfter(page.slice(from, to).split('\n'))].join('\n').trimEnd();
  writeFileSync(PAGE, `${page.slice(0, from)}${lines}\n${page.slice(to)}`);
}

/** Text on one line, cut after `length` characters: long ids and records do not help a reader. */
export function shorten(text: string, length: number): string {
  const line = text.replaceAll(/\s*\n\s*/g, ' ');
  return line.length > length ? `${line.slice(0, length)}…` : line;
}
