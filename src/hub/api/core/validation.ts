import type { FastifySchemaCompiler } from 'fastify';
import { z } from 'zod';
import type { BodyIssue } from '../../../domain/core/body-issue.ts';
import { wrongShape } from './errors.ts';
import { shapeMessage } from './shape-message.ts';

/** Validates the parts of a request with zod and reports issues in the form of a 422. */

/** The first element of a location, by fastify's name of the part. */
const PARTS: Readonly<Record<string, string>> = {
  body: 'body',
  querystring: 'query',
  params: 'path',
  headers: 'header',
};

type Loc = readonly (string | number)[];

function at(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (found, key) =>
      typeof found === 'object' && found !== null ? (found as Record<PropertyKey, unknown>)[key] : undefined,
    value,
  );
}

function toIssues(issue: z.core.$ZodIssue, data: unknown, part: string): BodyIssue[] {
  const loc: Loc = [part, ...issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step))];
  if (issue.code === 'unrecognized_keys') {
    const msg = part === 'query' ? 'is not a parameter of this route' : 'is not a known field';
    return issue.keys.map((key) => ({ loc: [...loc, key], msg, type: 'extra_forbidden' }));
  }
  if (issue.code === 'invalid_type' && at(data, issue.path) === undefined) {
    return [{ loc, msg: 'is required', type: 'missing' }];
  }
  return [{ loc, msg: issue.message, type: issue.code === 'custom' ? 'value_error' : issue.code }];
}

/** All issues of a failed parse. Messages name rules and choices, never the input. */
export function zodIssues(error: z.core.$ZodError, data: unknown, part: string): BodyIssue[] {
  return error.issues.flatMap((issue) => toIssues(issue, data, part));
}

function isEmpty(data: unknown): boolean {
  if (typeof data !== 'object' || data === null) return false;
  for (const _ in data) return false;
  return true;
}

/** Parses a part of a request with its zod schema. The handler gets the output, including defaults. */
export const validatorCompiler: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  const part = PARTS[httpPart ?? ''] ?? 'body';
  // Most requests have no query, so the parsed empty query is cached.
  const noQuery = httpPart === 'querystring' ? z.safeParse(schema, {}) : null;
  const error = shapeMessage(part);
  return (data: unknown) => {
    if (noQuery?.success && isEmpty(data)) return { value: { ...(noQuery.data as object) } };
    const result = z.safeParse(schema, data, { error });
    return result.success
      ? { value: result.data }
      : { error: wrongShape(zodIssues(result.error, data, part)) };
  };
};
