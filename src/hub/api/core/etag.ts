import { z } from 'zod';
import { ApiError } from './errors.ts';

/** ETags of deployments: the generation, so that they change with what is wanted and never with the status. */

/** The header of a request that changes a deployment. */
export const ifMatchHeader = z
  .string()
  .optional()
  .describe('Apply the change only if the deployment still has this ETag.');

/** Of a route that takes no other header. */
export const ifMatchHeaders = z.looseObject({ 'if-match': ifMatchHeader });

/** The ETag of a generation. */
export function etag(generation: number): string {
  return `"${generation}"`;
}

/**
 * Fails unless an If-Match header (absent: always) names this generation. `W/` is overlooked: proxies that compress
 * answers add it.
 * @throws ApiError 412
 */
export function checkIfMatch(header: string | undefined, generation: number): void {
  if (header === undefined) return;
  const tags = header.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  if (tags.includes('*') || tags.includes(etag(generation))) return;
  throw new ApiError(
    412,
    `If-Match does not match: the deployment is at generation ${generation}. Read it again and decide anew.`,
  );
}
