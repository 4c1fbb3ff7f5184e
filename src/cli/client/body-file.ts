import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import type { Document } from 'yaml';
import { UsageError } from '../command/usage-error.ts';

/** Request bodies from files. */

/** The bytes are no text. As text, they would be changed silently, for example a secret in a binary format. */
export class NotText extends Error {
  constructor() {
    super('it is not UTF-8 text; encode binary data, for example with base64');
  }
}

/** @throws NotText */
export function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new NotText();
  }
}

/**
 * The text of a file. `-`: standard input.
 * @throws UsageError when the file cannot be read, or contains no text
 */
export async function readText(file: string): Promise<string> {
  try {
    return textOf(await (file === '-' ? buffer(process.stdin) : readFile(file)));
  } catch (error) {
    throw new UsageError(`failed to read ${file}: ${(error as Error).message}`);
  }
}

/** Editors end a file with a line break, which is no part of the value. */
export const withoutLastBreak = (content: string): string => content.replace(/\r?\n$/, '');

/** Options of every parser. Warnings of the parser would quote the document, which may contain secrets. */
export const PARSING = { prettyErrors: false, logLevel: 'error' } as const;

/** The first error of a document. A warning is an error too: a value with an unknown tag, such as `!vault`, loses the tag. */
export const firstError = ({ errors, warnings }: Document) => errors[0] ?? warnings[0];

/**
 * The value of a parsed document. Aliases are rejected, because a few of them can expand to more than fits into memory.
 * @returns the value, or why the document has none. The reason does not quote the document, which may contain secrets
 */
export function parsedValue(document: Document): { value: unknown } | { reason: string } {
  const error = firstError(document);
  if (error?.code === 'TAG_RESOLVE_FAILED') return { reason: 'tags (!name) are not supported' };
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
  const read = parsedValue(parseDocument(content, PARSING));
  if ('reason' in read) throw new UsageError(`failed to read ${file}: ${read.reason}`);
  if (!isObject(read.value)) throw new UsageError(`failed to read ${file}: it does not contain an object`);
  return read.value;
}
