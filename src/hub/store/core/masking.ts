import { setImmediate as nextTurn } from 'node:timers/promises';
import { formsOf, masker } from '../../../domain/redaction/known-secrets.ts';
import { openSecrets, type SecretBox } from '../secrets/secret-box.ts';
import { SecretBoxError } from './errors.ts';
import type { SealedSecrets } from './records.ts';

/** Texts without the values of stored secrets. */

const WITHHELD =
  'withheld: the secrets of the deployment cannot be decrypted, so it is not known whether this holds one';
const WITHHELD_LONG =
  'withheld: the secrets of the deployment are too many, or take too long to compare with this, so it is not known whether this holds one; next: keep fewer or shorter secrets';

/**
 * What a text is told as, to those who may not see these secrets.
 * @param more further values; they are opened with the sets
 */
export function masking(
  box: SecretBox,
  sets: readonly SealedSecrets[],
  more: () => readonly string[] = () => [],
): (text: string) => string {
  try {
    const values = sets.flatMap((set) => openSecrets(box, set).map(({ value }) => value));
    const mask = masker(formsOf([...values, ...more()]));
    return (text) => mask(text) ?? WITHHELD_LONG;
  } catch (error) {
    if (!(error instanceof SecretBoxError)) throw error;
    return () => WITHHELD;
  }
}

/** So long others wait while texts are masked. */
const LONGEST_TURN_MS = 10;

/** What `map` makes of each item, with turns for others in between: how much there is to do is in tenants' hands. */
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
