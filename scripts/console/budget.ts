/** How much a browser loads before the first page of the console. */

/** Maximum size with gzip, in bytes. */
export const BUDGET = 250 * 1024;

/** The part of Vite's manifest that names the files of a chunk. */
export interface Chunk {
  readonly file: string;
  readonly isEntry?: boolean;
  readonly imports?: readonly string[];
  readonly css?: readonly string[];
}
export type Manifest = Readonly<Record<string, Chunk>>;

/** The files of chunks, with everything that they import at once. */
export function filesOf(manifest: Manifest, names: readonly string[]): string[] {
  const seen = new Set<string>();
  const files = new Set<string>();
  const visit = (name: string): void => {
    if (seen.has(name)) return;
    seen.add(name);
    const chunk = manifest[name];
    if (chunk === undefined) throw new Error(`failed to measure the console: the build has no ${name}`);
    for (const file of [chunk.file, ...(chunk.css ?? [])]) files.add(file);
    for (const imported of chunk.imports ?? []) visit(imported);
  };
  for (const name of names) visit(name);
  return [...files];
}

const kib = (bytes: number) => `${(bytes / 1024).toFixed(1)} KiB`;

/**
 * The size in words.
 * @param sizeOf size of a file with gzip
 * @param firstPage chunk of the page that a browser shows first
 * @throws Error with the largest files if the size exceeds the budget
 */
export function checkBudget(manifest: Manifest, sizeOf: (file: string) => number, firstPage: string): string {
  const entries = Object.keys(manifest).filter((name) => manifest[name]?.isEntry);
  const sizes = filesOf(manifest, [...entries, firstPage]).map((file) => ({ file, bytes: sizeOf(file) }));
  const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
  if (total <= BUDGET) return `${kib(total)} of ${kib(BUDGET)} before the first page`;
  const largest = sizes.toSorted((a, b) => b.bytes - a.bytes).slice(0, 5);
  const list = largest.map(({ file, bytes }) => `  ${file}: ${kib(bytes)}`).join('\n');
  throw new Error(
    `the first page of the console needs ${kib(total)}, which is more than ${kib(BUDGET)}; next: load large parts lazily\n${list}`,
  );
}
