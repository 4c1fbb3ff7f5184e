import { z } from 'zod';
import { nameSchema } from './name.ts';

export { SCOPES, type Scope } from './scopes.ts';

/** Rules of API keys, for the API and `berth keys create`. */

export const apiKeyNameSchema = nameSchema.describe('Purpose of the key.');

/** ISO 8601 with a time zone. The caller checks with `isExpired` that the time is in the future. */
export const expiresAtSchema = z.iso.datetime({ offset: true }).describe('Expiry time. null: never.');

/** Whether a key with this expiry (null: never) has expired. */
export function isExpired(expiresAt: Date | null, now: Date): boolean {
  return expiresAt !== null && expiresAt.getTime() <= now.getTime();
}
