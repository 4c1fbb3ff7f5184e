import { z } from 'zod';
import { uuidSchema } from '../domain/deployment-bodies.ts';
import { text } from '../domain/kubernetes/text.ts';

/** Parameters that several routes share. */

const MAX_OFFSET = 1_000_000_000;
const DEFAULT_LIMIT = 20;

/** Beyond what a number holds exactly, the nearest that it does: too much all the same, and said so. */
function bounded(digits: string): number {
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number(digits), Number.MAX_SAFE_INTEGER));
}

/** An integer in a query: digits only, no other spelling of a number. */
export function integer(schema: z.ZodInt) {
  return z.preprocess(
    (value) => (typeof value === 'string' && /^-?\d{1,20}$/.test(value) ? bounded(value) : value),
    schema,
  );
}

/** `true` or `false`. */
export const booleanQuery = z.preprocess(
  (value) => (value === 'true' || value === 'false' ? value === 'true' : value),
  z.boolean(),
);

/** A list in one parameter, separated by commas. */
export function csv<T extends z.ZodType<unknown, string>>(item: T) {
  return z
    .string()
    .transform((value) => value.split(','))
    .pipe(z.array(item).min(1));
}

export const csvOfIds = csv(uuidSchema);

/** A text to filter by. */
export const filterText = text(1024).min(1);

/** Which part of a list. */
export const pageQuery = {
  limit: integer(z.int().min(1).max(100))
    .default(DEFAULT_LIMIT)
    .describe('Most resources to answer, 1 to 100. Default 20.'),
  offset: integer(z.int().min(0).max(MAX_OFFSET))
    .default(0)
    .describe('How many to skip: the offset of the previous answer. Default 0.'),
};

export const pageOnly = z.strictObject(pageQuery);

/** No query parameters at all. */
export const noQuery = z.strictObject({});

/** The offset that gets the next page. */
export function nextOffset(page: { offset: number }, resources: readonly unknown[]): number {
  return page.offset + resources.length;
}

export const idSchema = uuidSchema;
export const deploymentParams = z.strictObject({
  deployment_id: uuidSchema.describe('Id of the deployment.'),
});
