import { z } from 'zod';

/** Schemas of error responses for the OpenAPI document. errors.ts creates the responses. */

export const sentenceSchema = z.object({ detail: z.string().describe('Error message.') });
export const issuesSchema = z.object({
  detail: z
    .array(
      z.object({
        loc: z
          .array(z.union([z.string(), z.int()]))
          .describe('Location: body, query, path or header, then the path of the field.'),
        msg: z.string().describe('Error message for the field.'),
        type: z.string().describe('Name of the violated rule.'),
      }),
    )
    .describe('All rejected fields.'),
});

/** The form of each error status. openapi-responses.ts has the descriptions, examples and headers. */
const ANSWERS = {
  400: issuesSchema,
  401: sentenceSchema,
  403: sentenceSchema,
  404: sentenceSchema,
  409: sentenceSchema,
  412: sentenceSchema,
  413: sentenceSchema,
  415: sentenceSchema,
  422: issuesSchema,
  429: sentenceSchema,
  502: sentenceSchema,
  503: sentenceSchema,
  504: sentenceSchema,
} as const;

type ErrorStatus = keyof typeof ANSWERS;

/** Errors of all routes that require a key. openapi-responses.ts lists the errors of every route. */
const COMMON = [401, 403, 404, 422, 429, 503] as const;

/** The documented errors of a route without a key, without the common errors. */
export function openErrorAnswers<const Status extends ErrorStatus>(...statuses: readonly Status[]) {
  return Object.fromEntries(statuses.map((status) => [status, ANSWERS[status]])) as {
    [S in Status]: (typeof ANSWERS)[S];
  };
}

/** The documented errors of a route, including the common errors. */
export function errorAnswers<const Status extends ErrorStatus>(...more: readonly Status[]) {
  return openErrorAnswers<Status | (typeof COMMON)[number]>(...COMMON, ...more);
}
