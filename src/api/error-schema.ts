import { z } from 'zod';

/** Error answers, as documented. errors.ts makes them. */

const sentenceSchema = z.object({ detail: z.string().describe('What is wrong, as a sentence.') });
const issuesSchema = z.object({
  detail: z
    .array(
      z.object({
        loc: z
          .array(z.union([z.string(), z.int()]))
          .describe('Where: body, query, path or header, then the way to the field.'),
        msg: z.string().describe('What is wrong with it.'),
        type: z.string().describe('Name of the rule.'),
      }),
    )
    .describe('Every field that is refused.'),
});

const ANSWERS = {
  400: issuesSchema.describe('The shape is right, but a rule refuses it.'),
  401: sentenceSchema.describe('No API key, or a wrong one.'),
  403: sentenceSchema.describe('The API key lacks the scope.'),
  404: sentenceSchema.describe('There is no such thing, or it is another tenant’s.'),
  409: sentenceSchema.describe('In conflict with what is there.'),
  412: sentenceSchema.describe('If-Match does not match.'),
  413: sentenceSchema.describe('The body is too large.'),
  415: sentenceSchema.describe('The body is not application/json.'),
  422: issuesSchema.describe('The shape of the request is wrong.'),
  503: sentenceSchema.describe('Busy, or the database cannot be reached; try again.'),
} as const;

type ErrorStatus = keyof typeof ANSWERS;

/** What every route with a key may answer. */
const COMMON = [401, 403, 404, 422, 503] as const;

/** The documented error answers of a route: the common ones and these. */
export function errorAnswers<const Status extends ErrorStatus>(...more: readonly Status[]) {
  const statuses = [...COMMON, ...more];
  return Object.fromEntries(statuses.map((status) => [status, ANSWERS[status]])) as {
    [S in Status | (typeof COMMON)[number]]: (typeof ANSWERS)[S];
  };
}
