import { byteLength } from '../kubernetes/text.ts';
import type { Secret } from './deployment.ts';

/** Sizes of lists of secrets, for limits of the API and of the policy. */

/** Total bytes of names and values. */
export function secretBytes(secrets: readonly Secret[]): number {
  return secrets.reduce((sum, { name, value }) => sum + byteLength(name) + byteLength(value), 0);
}

/**
 * Whether an amount exceeds its limit. An amount that does not grow is accepted even if the limit was lowered, because a
 * tenant must be able to remove secrets and to replace a leaked value.
 * @param before the stored amount; 0: nothing is stored
 */
export const exceeds = (amount: number, limit: number, before: number): boolean =>
  amount > limit && amount > before;
