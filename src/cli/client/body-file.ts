import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { Document } from 'yaml';
import { UsageError } from '../command/usage-error.ts';

/** Request bodies from files. */

/**
 * The text of a file. `-`: standard input.
 * @throws UsageError when the file cannot be read
 */
export async function readText(file: string): Promise<string> {
  const reading = file === '-' ? text(process.stdin) : readFile(file, 'utf8');
  return reading.catch((error: Error) => {
    throw new UsageError(`failed to read ${file}: ${error.message}`);
  });
}

/** Editors end a file with a line break, which is no part of the value. */
export const withoutLastBreak = (content: string): string => content.replace(/\r?\n$/, '');

/**
 * The value of a parsed document. Aliases are rejected, because a few of them can expand to more than fits into memory.
 * @returns the value, or why the document has none. The reason does not quote the document, which may contain secrets
 */
export function parsedValue(document: Document): { value: unknown } | { reason: string } {
  const [error] = document.errors;
  if (error !== undefined) return { reason: `neither JSON nor YAML (${error.code})` };
  try {
    return { value: document.toJS({ maxAliasCount: 0 }) };
  } catch {
    return { reason: 'aliases (*name) are not supported; write out the value' };
  }
}

/** Whether a value is an object of JSON. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Reads an object from a JSON or YAML file. `-`: standard input. The file may contain secrets, so no message quotes it.
 * @throws UsageError when the file cannot be read
 */
export async function readBody(file: string): Promise<Record<string, unknown>> {
  const content = await readText(file);
  const { parseDocument } = await import('yaml');
  // Every JSON text is valid YAML.
  const read = parsedValue(parseDocument(content, { prettyErrors: false }));
  if ('reason' in read) throw new UsageError(`failed to read ${file}: ${read.reason}`);
  if (!isObject(read.value)) throw new UsageError(`failed to read ${file}: it does not contain an object`);
  return read.value;
}
