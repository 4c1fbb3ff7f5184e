import { z } from 'zod';
import { nameSchema } from './name.ts';

/** Rules of API keys, alike for the API and `berth keys create`. */

/** What a key may do. */
export const SCOPES = [
  'deployments:read',
  'deployments:write',
  'secrets:read',
  'listeners:run',
  'admin',
] as const;
export type Scope = (typeof SCOPES)[number];

export const apiKeyNameSchema = nameSchema.describe('Purpose of the key.');

/** ISO 8601 with a time zone. That it lies ahead is for whoever knows the time: `isExpired`. */
export const expiresAtSchema = z.iso.datetime({ offset: true }).describe('Expiry time. null: never.');

/** Whether a key that ends at `expiresAt` (null: never) has ended. */
export function isExpired(expiresAt: Date | null, now: Date): boolean {
  return expiresAt !== null && expiresAt.getTime() <= now.getTime();
}
