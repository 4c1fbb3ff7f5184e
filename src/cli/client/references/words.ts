import { UsageError } from '../../command/usage-error.ts';

/** References to Secrets on the command line, and their merge into the stored ones. Pure. */

export interface Reference {
  readonly name: string;
  readonly secret_name: string;
  readonly secret_key: string;
}

/** `VARIABLE=SECRET/KEY`. Neither a name of a Secret nor a key contains a slash. */
export const referenceWord = ({ name, secret_name, secret_key }: Reference): string =>
  `${name}=${secret_name}/${secret_key}`;

const WORD = /^([^=]+)=([^/]+)\/([^/]+)$/;

/** @throws UsageError for an argument of another form */
function referenceOf(word: string): Reference {
  const [, name, secret_name, secret_key] = WORD.exec(word) ?? [];
  if (name !== undefined && secret_name !== undefined && secret_key !== undefined)
    return { name, secret_name, secret_key };
  throw new UsageError('a reference needs a variable, a Secret and its key: use VARIABLE=SECRET/KEY');
}

/** @throws UsageError when a name occurs twice */
export function referencesToSet(words: readonly string[]): readonly Reference[] {
  const references = words.map(referenceOf);
  const names = references.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new UsageError(`${twice} is given twice: give it once`);
  return references;
}

/** The stored references with other Secrets, in their order, then the new ones. */
export function withReferences(stored: readonly Reference[], set: readonly Reference[]): Reference[] {
  const byName = new Map(stored.map((reference) => [reference.name, reference]));
  for (const reference of set) byName.set(reference.name, reference);
  return [...byName.values()];
}

/** The stored references without these names. */
export const withoutReferences = (stored: readonly Reference[], names: readonly string[]): Reference[] =>
  stored.filter(({ name }) => !names.includes(name));
