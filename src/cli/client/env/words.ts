import { parseEnv } from 'node:util';
import { UsageError } from '../../command/usage-error.ts';

/** Variables on the command line and in .env files, and their merge into the stored ones. Pure. */

export interface Variable {
  readonly name: string;
  readonly value: string;
}

/** @throws UsageError for an argument without a name or a value */
function variableOf(word: string): Variable {
  const index = word.indexOf('=');
  if (index < 1) throw new UsageError('a variable needs a name and a value: use KEY=VALUE');
  return { name: word.slice(0, index), value: word.slice(index + 1) };
}

/** @throws UsageError when the file has no variable */
function variablesOfFile(file: string, text: string): Variable[] {
  const variables = Object.entries(parseEnv(text)).map(([name, value]) => ({ name, value: value ?? '' }));
  if (variables.length === 0) throw new UsageError(`${file} contains no lines KEY=VALUE`);
  return variables;
}

/**
 * The variables to set.
 * @param file the .env file and its text
 * @throws UsageError when there is no variable, or a name occurs twice
 */
export function variablesToSet(
  words: readonly string[],
  file: { readonly path: string; readonly text: string } | null,
): readonly Variable[] {
  const variables = [
    ...(file === null ? [] : variablesOfFile(file.path, file.text)),
    ...words.map(variableOf),
  ];
  if (variables.length === 0) throw new UsageError('name a variable: KEY=VALUE or --from-file FILE');
  const names = variables.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new UsageError(`${twice} is given twice: give it once`);
  return variables;
}

/** The stored variables with other values, in their order, then the new ones. */
export function withVariables(stored: readonly Variable[], set: readonly Variable[]): Variable[] {
  const values = new Map(stored.map(({ name, value }) => [name, value]));
  for (const { name, value } of set) values.set(name, value);
  return [...values].map(([name, value]) => ({ name, value }));
}

/** The stored variables without these names. */
export const withoutVariables = (stored: readonly Variable[], names: readonly string[]): Variable[] =>
  stored.filter(({ name }) => !names.includes(name));

const refersTo = (value: string, name: string) => value.replaceAll('$$', '').includes(`$(${name})`);

/**
 * Variables whose reference has no effect, because the other variable is not earlier in the list, each with the first such
 * name. Kubernetes leaves `$(NAME)` as it is then.
 */
export function deadReferences(variables: readonly Variable[]): { name: string; later: string }[] {
  return variables.flatMap(({ name, value }, index) => {
    const later = variables.slice(index).find((each) => refersTo(value, each.name));
    return later === undefined ? [] : [{ name, later: later.name }];
  });
}
