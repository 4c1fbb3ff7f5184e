import { z } from 'zod';
import { uuidSchema } from '../../../domain/deployment/deployment-bodies.ts';
import { text } from '../../../domain/kubernetes/text.ts';

/** Query parameters that several routes share. */

const MAX_OFFSET = 1_000_000_000;
/** Number of resources of a page whose request names no limit. */
export const DEFAULT_LIMIT = 20;

/**
 * Parses an integer. An integer beyond the safe range becomes the nearest number, which the schema still rejects as too
 * large.
 */
function bounded(digits: string): number {
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number(digits), Number.MAX_SAFE_INTEGER));
}

/** Digits. A zero fraction is accepted, because Python writes a whole float as 1.0. */
const WHOLE_NUMBER = /^(-?\d{1,20})(?:\.0{1,20})?$/;

/** An integer in a query: `5`, or `5.0`. */
export function integer(schema: z.ZodInt) {
  return z.preprocess((value) => {
    const [, digits] = (typeof value === 'string' ? WHOLE_NUMBER.exec(value) : null) ?? [];
    return digits === undefined ? value : bounded(digits);
  }, schema);
}

/** Booleans in the spelling of several languages, such as `True` of Python. */
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

/** A boolean in a query, in any case, or as 1 and 0. */
export const booleanQuery = z.preprocess(
  (value) => (typeof value === 'string' ? (BOOLEANS.get(value.toLowerCase()) ?? value) : value),
  z.boolean(),
);

const joined = (value: unknown) => (Array.isArray(value) ? value.join(',') : value);
const split = (text: string) => text.split(',').map((part) => part.trim());

/**
 * A list in one parameter, separated by commas. Repeated parameters form one list.
 * @param then further validation of the list
 */
export function csvQuery<
  T extends z.ZodType<unknown, string>,
  R extends z.ZodType<unknown, string[]> = z.ZodArray<T>,
>(item: T, then: (list: z.ZodArray<T>) => R = (list) => list as unknown as R) {
  return z.preprocess(
    joined,
    z
      .string()
      .transform(split)
      .pipe(then(z.array(item).min(1))),
  );
}

export const csvOfIds = csvQuery(uuidSchema);

/** A text filter. */
export const filterText = text(1024).min(1);

/** The query parameters for a page of a list. */
export const pageQuery = {
  limit: integer(z.int().min(1).max(100))
    .default(DEFAULT_LIMIT)
    .describe('Maximum number of resources in the response, 1 to 100. Default 20.'),
  offset: integer(z.int().min(0).max(MAX_OFFSET))
    .default(0)
    .describe('Number of resources to skip: the offset of the previous response. Default 0.'),
};

export const pageOnly = z.strictObject(pageQuery);

/** The schema of routes without query parameters. */
export const noQuery = z.strictObject({});

/**
 * A page of a list.
 * @param id name of the schema in the OpenAPI document
 * @param order of the resources
 */
export function pageSchema<Item extends z.ZodType>(
  id: string,
  item: Item,
  description: string,
  order = 'Newest first.',
) {
  return z
    .object({
      resources: z.array(item).describe(order),
      offset: z.int().describe('To get the next page, pass this value in the next request.'),
    })
    .meta({ id, description });
}

/**
 * The schema of the body of routes that need none. null is accepted but not documented, because generators invent a name
 * for each member of a union.
 */
export const emptyBody = z
  .preprocess(
    (body) => body ?? undefined,
    z.strictObject({}).meta({ id: 'Empty', description: 'An empty object.' }).optional(),
  )
  .optional();

/** The offset of the next page. */
export function nextOffset(page: { offset: number }, resources: readonly unknown[]): number {
  return page.offset + resources.length;
}

export const deploymentParams = z.strictObject({
  deployment_id: uuidSchema.describe('Id of the deployment.'),
});
