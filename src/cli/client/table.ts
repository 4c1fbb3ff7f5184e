/** Tables for people. */

const GAP = '  ';
const NOTHING = '–';

// Texts come from tenants and clusters. They must not move the cursor or hide other text.
// biome-ignore lint/suspicious/noControlCharactersInRegex: matches control characters on purpose
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/** A value as one line. null and empty values are a dash. */
export function cell(value: string | number | boolean | null | undefined): string {
  const text = String(value ?? '').replace(UNPRINTABLE, ' ');
  return text === '' ? NOTHING : text;
}

/** A word for a POSIX shell. */
export function quoted(word: string): string {
  return /^[\w.:@/+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A table with a header and aligned columns. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  return all
    .map((row) =>
      row
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join(GAP)
        .trimEnd(),
    )
    .join('\n');
}

/** Names with values, one per line. */
export function fields(pairs: readonly (readonly [string, string])[]): string {
  return table(
    ['', ''],
    pairs.map(([name, value]) => [`${name}:`, value]),
  )
    .split('\n')
    .slice(1)
    .join('\n');
}

const UNITS: readonly (readonly [string, number])[] = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
];

/** Age: 5m, 3h, 12d. */
export function age(time: string, now: Date): string {
  const seconds = Math.max(0, Math.floor((now.getTime() - Date.parse(time)) / 1000));
  const unit = UNITS.find(([, length]) => seconds >= length * 2);
  return unit === undefined ? `${seconds}s` : `${Math.floor(seconds / unit[1])}${unit[0]}`;
}
