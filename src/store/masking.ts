import { formsOf, withoutForms } from '../domain/known-secrets.ts';
import { SecretBoxError } from './errors.ts';
import type { SealedSecrets } from './records.ts';
import { openSecrets, type SecretBox } from './secret-box.ts';

/** Texts without the values of stored secrets. */

const WITHHELD =
  'withheld: the secrets of the deployment cannot be decrypted, so it is not known whether this holds one';

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
    const forms = formsOf([...values, ...more()]);
    return (text) => withoutForms(text, forms);
  } catch (error) {
    if (!(error instanceof SecretBoxError)) throw error;
    return () => WITHHELD;
  }
}
