/**
 * A copy of Berth without one of its guards. A guard is found by a comment on the line before it: `// guard: NAME`, or
 * `-- guard: NAME` in SQL. In TypeScript, the guard is the statement or property that follows; in SQL, the next line.
 */
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Guard } from './guards.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const MARKER = /^ *(?:\/\/|--) guard: (\S+)$/;

/** One marker comment. */
export interface Marker {
  readonly name: string;
  /** Path below the checkout. */
  readonly file: string;
  /** Index of the line of the comment. */
  readonly line: number;
}

const linesOf = (file: string) => readFileSync(join(ROOT, file), 'utf8').split('\n');

/** All marker comments in `src`. */
export function findMarkers(): Marker[] {
  return globSync('src/**/*.{ts,sql}', { cwd: ROOT }).flatMap((file) =>
    linesOf(file).flatMap((text, line) => {
      const name = MARKER.exec(text)?.[1];
      return name === undefined ? [] : [{ name, file, line }];
    }),
  );
}

/** Number of lines of the statement or property at the start: brackets are closed, and it ends with `;`, `,` or `}`. */
function statementLength(lines: readonly string[]): number {
  let depth = 0;
  for (const [index, line] of lines.entries()) {
    depth += (line.match(/[([{]/g)?.length ?? 0) - (line.match(/[)\]}]/g)?.length ?? 0);
    if (depth === 0 && /[;,}]$/.test(line)) return index + 1;
  }
  throw new Error('the statement has no end');
}

/**
 * The file of the guard, without the guard.
 * @throws Error unless exactly one marker has the name
 */
export function without({ name, instead = '' }: Guard): { readonly file: string; readonly text: string } {
  const markers = findMarkers().filter((marker) => marker.name === name);
  const [marker] = markers;
  if (marker === undefined || markers.length > 1)
    throw new Error(`guard "${name}" has ${markers.length} marker comments in src, not one`);
  const lines = linesOf(marker.file);
  const isSql = lines[marker.line]?.trimStart().startsWith('--') === true;
  const length = isSql ? 1 : statementLength(lines.slice(marker.line + 1));
  return { file: marker.file, text: lines.toSpliced(marker.line, 1 + length, instead).join('\n') };
}

export interface Checkout {
  readonly folder: string;
  remove(): void;
}

/** Copies the program, with the packages of this checkout, and removes the guard. @throws Error as `without` */
export function checkOutWithout(guard: Guard): Checkout {
  const { file, text } = without(guard);
  const folder = mkdtempSync(join(tmpdir(), `berth-without-${guard.name}-`));
  for (const part of ['src', 'package.json'])
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, file), text);
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
