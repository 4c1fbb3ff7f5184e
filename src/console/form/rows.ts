import { isObject, type Json } from './json.ts';

/** A map as rows, which may be incomplete while someone types. */
export type Row = readonly [name: string, value: string];

export const rowsOf = (value: Json | undefined): readonly Row[] =>
  isObject(value) ? Object.entries(value).map(([name, each]): Row => [name, String(each)]) : [];

/** The map of rows. A row without name and value is not part of it. */
export function mapOf(rows: readonly Row[]): Json | undefined {
  const filled = rows.filter(([name, value]) => name !== '' || value !== '');
  return filled.length === 0 ? undefined : Object.fromEntries(filled);
}

/** Names that several rows have. Only the last of them counts. */
export function repeatedNames(rows: readonly Row[]): readonly string[] {
  const names = rows.map(([name]) => name);
  return [...new Set(names.filter((name, index) => name !== '' && names.indexOf(name) !== index))];
}
