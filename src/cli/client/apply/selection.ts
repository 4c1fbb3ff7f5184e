import { UsageError } from '../../command/usage-error.ts';
import type { Deployment } from '../api.gen.ts';
import type { Wanted } from './files.ts';
import { normalName } from './names.ts';

/** `-l KEY=VALUE`: which documents and which deployments are meant. Pure. */

/** One value of each key. */
export type Selector = ReadonlyMap<string, string>;

/** @throws UsageError when a word is not a tag, or two words have the same key */
export function selectorOf(words: readonly string[]): Selector {
  const selector = new Map<string, string>();
  for (const word of words) {
    const [key = '', value = ''] = word.split(/=(.*)/s).map(normalName);
    if (key === '' || value === '') throw new UsageError(`-l ${word} is not a tag: use -l KEY=VALUE`);
    // No deployment is meant by two values of a key more clearly than by one, so two values are a mistake.
    if (selector.has(key)) throw new UsageError(`-l has two values of the tag ${key}: use one`);
    selector.set(key, value);
  }
  return selector;
}

/** Whether a document has every selected tag. */
export const isSelected = ({ tags }: Pick<Wanted, 'tags'>, selector: Selector): boolean =>
  [...selector].every(([key, value]) => tags?.get(key)?.includes(value) === true);

/**
 * The deployments that no document describes.
 * @param tagged deployments with every selected tag
 * @param documents all documents, also those that -l does not select
 */
export function pruned(
  tagged: readonly Deployment[],
  documents: readonly Pick<Wanted, 'name'>[],
): Deployment[] {
  const described = new Set(documents.map(({ name }) => normalName(name)));
  return tagged.filter(
    ({ name, status }) => status !== 'AWAITING_DELETE' && !described.has(normalName(name)),
  );
}
