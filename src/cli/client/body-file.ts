import { readFile } from 'node:fs/promises';
import type { Document } from 'yaml';
import { UsageError } from '../command/usage-error.ts';

/** Request bodies from files. */

async function standardInput(): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of process.stdin) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}

/** Rejects aliases, because a few of them can expand to more than fits into memory. */
function plain(document: Document, file: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 0 });
  } catch {
    throw new UsageError(`failed to read ${file}: aliases (*name) are not supported; write out the value`);
  }
}

/**
 * Reads an object from a JSON or YAML file. `-`: standard input. The file may contain secrets, so no message quotes it.
 * @throws UsageError when the file cannot be read
 */
export async function readBody(file: string): Promise<Record<string, unknown>> {
  const text = await (file === '-' ? standardInput() : readFile(file, 'utf8')).catch((error: Error) => {
    throw new UsageError(`failed to read ${file}: ${error.message}`);
  });
  const { parseDocument } = await import('yaml');
  // Every JSON text is valid YAML.
  const document = parseDocument(text, { prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined)
    throw new UsageError(`failed to read ${file}: neither JSON nor YAML (${error.code})`);
  const value = plain(document, file);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new UsageError(`failed to read ${file}: it does not contain an object`);
  return value as Record<string, unknown>;
}
