import { plainText } from './ansi.ts';

/** The lines that the page holds. Old ones are dropped, so that its memory is bounded. */

export const MAX_LINES = 5_000;
/** A line can have many thousand characters. */
const MAX_CHARACTERS = 4_000_000;

/** A line of an app or of a build. */
export interface LogEntry {
  /** Time as the API returns it. */
  readonly at: string;
  /** Where it was printed: component, pod and container, or the step of the build. */
  readonly origin: readonly string[];
  /** null: a build. */
  readonly container: string | null;
  readonly text: string;
}

export interface ShownEntry extends LogEntry {
  /** Number of the line since the page was opened. */
  readonly number: number;
  /** `text` without control sequences. */
  readonly plain: string;
}

export interface LogLines {
  readonly entries: readonly ShownEntry[];
  /** Number of all lines that arrived. */
  readonly count: number;
  readonly characters: number;
}

export const NO_LINES: LogLines = { entries: [], count: 0, characters: 0 };

const sizeOf = ({ text }: LogEntry) => text.length;

/** The lines with new ones at the end. */
export function withLines(lines: LogLines, added: readonly LogEntry[]): LogLines {
  const numbered = added.map((entry, index) => ({
    ...entry,
    number: lines.count + index,
    plain: plainText(entry.text),
  }));
  const all = [...lines.entries, ...numbered];
  let characters = lines.characters + added.reduce((sum, entry) => sum + sizeOf(entry), 0);
  let dropped = 0;
  for (const entry of all) {
    const isFull = all.length - dropped > MAX_LINES || characters > MAX_CHARACTERS;
    if (!isFull || dropped === all.length - 1) break;
    characters -= sizeOf(entry);
    dropped += 1;
  }
  return { entries: all.slice(dropped), count: lines.count + added.length, characters };
}

/** Number of lines that arrived and are no longer held. */
export const droppedOf = ({ entries, count }: LogLines): number => count - entries.length;

/** The lines of a container that contain a text. Upper and lower case are the same. */
export function matching(
  { entries }: LogLines,
  { container = '', q = '' }: { readonly container?: string; readonly q?: string },
): readonly ShownEntry[] {
  if (container === '' && q === '') return entries;
  const text = q.toLowerCase();
  return entries.filter(
    (entry) =>
      (container === '' || entry.container === container) && entry.plain.toLowerCase().includes(text),
  );
}

/** The containers of the lines, by name. */
export const containersOf = ({ entries }: LogLines): string[] =>
  [...new Set(entries.flatMap(({ container }) => container ?? []))].toSorted();
