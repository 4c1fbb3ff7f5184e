import { setImmediate as nextTurn } from 'node:timers/promises';
import { MAX_PATTERN_CHARACTERS, masker, patternsOf } from '../../../domain/redaction/known-secrets.ts';
import { openSecrets, type SecretBox } from '../secrets/secret-box.ts';
import { SecretBoxError } from './errors.ts';
import type { SealedSecrets } from './records.ts';

/** Masks the values of stored secrets in texts. */

const WITHHELD =
  'withheld: the secrets of the deployment cannot be decrypted, so it is not known whether this text contains a secret';
const WITHHELD_LONG =
  `withheld: the secrets of the deployment, in all forms in which programs print them, have more than ` +
  `${MAX_PATTERN_CHARACTERS} characters, so it is not known whether this text contains a secret; next: use fewer or ` +
  'shorter secrets';

/**
 * Returns the function that masks these secrets in a text. @param more additional values to mask, loaded with the sets
 */
export function masking(
  box: SecretBox,
  sets: readonly SealedSecrets[],
  more: () => readonly string[] = () => [],
): (text: string) => string {
  try {
    const values = sets.flatMap((set) => openSecrets(box, set).map(({ value }) => value));
    return masker(patternsOf([...values, ...more()])) ?? (() => WITHHELD_LONG);
  } catch (error) {
    if (!(error instanceof SecretBoxError)) throw error;
    return () => WITHHELD;
  }
}

/** Maximum time that masking blocks the event loop, in milliseconds. */
const LONGEST_TURN_MS = 10;

/** Maps the items and yields to the event loop at intervals, because tenants determine the amount of work. */
export async function inTurns<Item, Result>(
  items: Iterable<Item>,
  map: (item: Item) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  let until = performance.now() + LONGEST_TURN_MS;
  for (const item of items) {
    results.push(map(item));
    if (performance.now() < until) continue;
    await nextTurn();
    until = performance.now() + LONGEST_TURN_MS;
  }
  return results;
}
