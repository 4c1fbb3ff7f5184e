import { expect, test } from 'vitest';
import { z } from 'zod';
import { ApiError, brokenRules, toApiError, wrongShape } from '../../../../../src/hub/api/core/errors.ts';
import { checkIfMatch, etag } from '../../../../../src/hub/api/core/etag.ts';
import { validatorCompiler, zodIssues } from '../../../../../src/hub/api/core/validation.ts';
import {
  StaleWrite,
  StoreContention,
  StoreError,
  StoreUnavailable,
} from '../../../../../src/hub/store/core/errors.ts';

test('maps an unexpected error to a 500 without details', () => {
  for (const error of [
    new Error('SELECT secret FROM x'),
    'text',
    null,
    undefined,
    new StoreError('failed to run a statement: column "x"', { retryable: false }),
  ]) {
    const answer = toApiError(error);
    expect(answer.statusCode).toBe(500);
    expect(answer.detail).not.toMatch(/SELECT|column|text/);
  }
});

test.each([
  new StoreUnavailable('gone', 'lost'),
  new StoreContention('busy', '40001'),
  new StaleWrite('a row'),
])('maps %s to a 503', (error) => {
  expect(toApiError(error).statusCode).toBe(503);
});

test.each([
  ['FST_ERR_CTP_BODY_TOO_LARGE', 413],
  ['FST_ERR_CTP_INVALID_MEDIA_TYPE', 415],
  ['FST_ERR_BAD_URL', 400],
  ['FST_ERR_SOMETHING_NEW', 500],
])('maps %s to a %i', (code, status) => {
  expect(toApiError(Object.assign(new Error('internal words'), { code })).statusCode).toBe(status);
});

test.each([
  [400, 400],
  [403, 404],
  [404, 404],
  [412, 412],
  [416, 416],
  [418, 418],
  [500, 500],
  [200, 500],
  ['404', 500],
])('maps an error of a plugin with status %s to a %i with a text of our own', (statusCode, status) => {
  const answer = toApiError(Object.assign(new Error('internal words'), { statusCode }));
  expect(answer).toMatchObject({ statusCode: status, detail: expect.stringMatching(/\.$/) });
  expect(answer.detail).not.toContain('internal');
});

test('keeps the details of a rejection within bounds', () => {
  const own = new ApiError(409, 'taken');
  expect(toApiError(own)).toBe(own);
  const issue = { loc: ['x'.repeat(10_000)], msg: 'y'.repeat(10_000), type: 'z' };
  const { detail } = wrongShape(Array(500).fill(issue));
  expect(detail).toHaveLength(100);
  expect(JSON.stringify(detail).length).toBeLessThan(200_000);
  expect(brokenRules([{ loc: ['name'], msg: 'no', type: 'rule' }])).toMatchObject({
    statusCode: 400,
    detail: [{ loc: ['body', 'name'], msg: 'no', type: 'rule' }],
  });
});

test('reports each unknown field and each missing field of a zod error, and never a value', () => {
  const schema = z.strictObject({ a: z.string(), b: z.strictObject({ c: z.int() }), d: z.enum(['x']) });
  const data = { b: { c: 'hunter2', e: 1, f: 2 }, d: 'hunter2' };
  const { error } = schema.safeParse(data);
  const issues = zodIssues(error as z.core.$ZodError, data, 'body');
  expect(issues.map(({ loc, type }) => [loc.join('.'), type])).toEqual([
    ['body.a', 'missing'],
    ['body.b.c', 'invalid_type'],
    ['body.b.e', 'extra_forbidden'],
    ['body.b.f', 'extra_forbidden'],
    ['body.d', 'invalid_value'],
  ]);
  expect(JSON.stringify(issues)).not.toContain('hunter2');
});

test('returns the value that the schema parses, or an error that names the part of the request', () => {
  const schema = z.strictObject({ limit: z.coerce.number().default(20) });
  const validate = validatorCompiler({ schema, httpPart: 'querystring', method: 'GET', url: '/' }) as (
    data: unknown,
  ) => unknown;
  expect(validate({})).toEqual({ value: { limit: 20 } });
  expect(validate({ x: 1 })).toMatchObject({ error: { statusCode: 422, detail: [{ loc: ['query', 'x'] }] } });
});

test('accepts an If-Match header that contains the ETag, and rejects any other with 412', () => {
  expect(etag(3)).toBe('"3"');
  for (const header of [undefined, '*', '"3"', 'W/"3"', '"1", "3"'])
    expect(() => checkIfMatch(header, 3)).not.toThrow();
  for (const header of ['', '3', '"33"', '"1"']) {
    expect(() => checkIfMatch(header, 3)).toThrow(expect.objectContaining({ statusCode: 412 }));
  }
});
