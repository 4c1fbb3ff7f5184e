import { dirname, resolve } from 'node:path';
import { NotText, withoutLastBreak } from '../body-file.ts';
import type { DeploymentDocument, FileSecret, Problem, ValueFrom } from './documents.ts';

/** The values of secrets: from the document, the environment, or another file. */

/** Where values come from. */
export interface ValueSources {
  /** The value of an environment variable. */
  variable(name: string): Promise<string | undefined>;
  /** The text of a file. @throws NotText */
  readFile(path: string): Promise<string>;
}

export interface Secret {
  readonly name: string;
  readonly value: string;
}

/** A value, or why it is missing. */
type Found = { readonly value: string } | { readonly reason: string };

/** The folder that relative paths of a document refer to. */
const folderOf = (file: string): string => (file === '-' ? '.' : dirname(file));

async function find(from: ValueFrom, file: string, sources: ValueSources): Promise<Found> {
  if ('env' in from) {
    const value = await sources.variable(from.env);
    return value === undefined ? { reason: `the variable ${from.env} is not set` } : { value };
  }
  try {
    return { value: withoutLastBreak(await sources.readFile(resolve(folderOf(file), from.file))) };
  } catch (error) {
    if (error instanceof NotText) return { reason: `failed to read ${from.file}: ${error.message}` };
    const { code = 'unreadable' } = error as NodeJS.ErrnoException;
    return { reason: `failed to read ${from.file} (${code})` };
  }
}

async function resolved(
  secret: FileSecret,
  file: string,
  sources: ValueSources,
): Promise<Secret | { readonly reason: string }> {
  if ('value' in secret) return secret;
  const found = await find(secret.valueFrom, file, sources);
  return 'reason' in found ? found : { name: secret.name, value: found.value };
}

/** The secrets of a document with their values. null: the stored secrets are kept. */
export async function secretValues(
  { secrets, place, name }: DeploymentDocument,
  sources: ValueSources,
): Promise<{ readonly secrets: readonly Secret[] | null; readonly problems: readonly Problem[] }> {
  if (secrets === null) return { secrets, problems: [] };
  const all = await Promise.all(secrets.map((secret) => resolved(secret, place.file, sources)));
  const problems = all.flatMap((found, index) => {
    if (!('reason' in found)) return [];
    return [{ place, name, field: `secrets[${index}].value_from`, reason: found.reason }];
  });
  return { secrets: all.filter((found): found is Secret => 'value' in found), problems };
}
