import { z } from 'zod';
import { ApiError } from './errors.ts';

/** ETags of deployments. The ETag is the generation, so it changes with the desired state and never with the status. */

/** The If-Match header of a request that changes a deployment. */
export const ifMatchHeader = z
  .string()
  .optional()
  .describe('Apply the change only if the deployment still has this ETag.');

/** The headers schema of a route that reads only If-Match. */
export const ifMatchHeaders = z.looseObject({ 'if-match': ifMatchHeader });

/** The ETag of a generation. */
export function etag(generation: number): string {
  return `"${generation}"`;
}

/**
 * Fails unless the If-Match header contains this generation. Without the header, the check passes. `W/` is ignored,
 * because proxies that compress responses add it.
 * @throws ApiError 412
 */
export function checkIfMatch(header: string | undefined, generation: number): void {
  if (header === undefined) return;
  const tags = header.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  if (tags.includes('*') || tags.includes(etag(generation))) return;
  throw new ApiError(
    412,
    `If-Match does not match, because the deployment has generation ${generation}. Read the deployment again, then ` +
      `repeat the change.`,
  );
}
