import { z } from 'zod';
import { ApiError } from './errors.ts';

/** ETags of deployments. The ETag is the generation, so it changes with the desired state and never with the status. */

/** The If-Match header of a request that changes a deployment. */
export const ifMatchHeader = z
  .string()
  .optional()
  .describe('Apply the change only if the deployment still has this ETag.');

/** The If-None-Match header of a request that can create a deployment. */
export const ifNoneMatchHeader = z
  .string()
  .optional()
  .describe('*: create a deployment only. The request fails if a deployment exists.');

/** The headers schema of a route that reads only If-Match. */
export const ifMatchHeaders = z.looseObject({ 'if-match': ifMatchHeader });

/** The ETag of a generation. */
export function etag(generation: number): string {
  return `"${generation}"`;
}

/** The ETags of a header. `W/` is ignored, because proxies that compress responses add it. */
const tagsOf = (header: string) => header.split(',').map((tag) => tag.trim().replace(/^W\//, ''));

const lists = (header: string, generation: number) =>
  tagsOf(header).some((tag) => tag === '*' || tag === etag(generation));

/**
 * Fails unless the If-Match header contains this generation. Without the header, the check passes.
 * @param generation null: the deployment does not exist, which no If-Match matches
 * @throws ApiError 412
 */
export function checkIfMatch(header: string | undefined, generation: number | null): void {
  if (header === undefined) return;
  if (generation === null)
    throw new ApiError(412, 'If-Match does not match, because the deployment does not exist.');
  if (lists(header, generation)) return;
  throw new ApiError(
    412,
    `If-Match does not match, because the deployment has generation ${generation}. Read the deployment again, then ` +
      `repeat the change.`,
  );
}

/**
 * Fails if the If-None-Match header contains this generation, or `*` and the deployment exists.
 * @param generation null: the deployment does not exist
 * @throws ApiError 412
 */
export function checkIfNoneMatch(header: string | undefined, generation: number | null): void {
  if (header === undefined || generation === null || !lists(header, generation)) return;
  throw new ApiError(
    412,
    `If-None-Match does not allow the request, because the deployment exists with generation ${generation}.`,
  );
}
