import { parseEnv } from 'node:util';
import { UsageError } from '../../command/usage-error.ts';

/** Secrets on the command line and in .env files. Pure. No message quotes a value. */

export interface NamedSecret {
  readonly name: string;
  /** null: the user enters the value. */
  readonly value: string | null;
}

/** @throws UsageError for an argument without a name */
function secretOf(word: string): NamedSecret {
  const index = word.indexOf('=');
  const name = index === -1 ? word : word.slice(0, index);
  if (name === '') throw new UsageError('a secret needs a name: use KEY or KEY=VALUE');
  return { name, value: index === -1 ? null : word.slice(index + 1) };
}

/** @throws UsageError when the file has no variable */
function secretsOfFile(file: string, text: string): NamedSecret[] {
  const secrets = Object.entries(parseEnv(text)).map(([name, value]) => ({ name, value: value ?? '' }));
  if (secrets.length === 0) throw new UsageError(`${file} contains no lines KEY=VALUE`);
  return secrets;
}

/**
 * The secrets to set.
 * @param file the .env file and its text
 * @throws UsageError when there is no secret, or a name occurs twice
 */
export function secretsToSet(
  words: readonly string[],
  file: { readonly path: string; readonly text: string } | null,
): readonly NamedSecret[] {
  const secrets = [...(file === null ? [] : secretsOfFile(file.path, file.text)), ...words.map(secretOf)];
  if (secrets.length === 0) throw new UsageError('name a secret: KEY, KEY=VALUE or --from-file FILE');
  const names = secrets.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new UsageError(`${twice} is given twice: give it once`);
  return secrets;
}
