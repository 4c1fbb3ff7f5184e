import type { FastifyRequest } from 'fastify';
import { describe, expect, test } from 'vitest';
import { ApiError } from '../../../../../src/hub/api/core/errors.ts';
import { parseJsonBody } from '../../../../../src/hub/api/core/json-body.ts';

function request(config: object = {}, headers: object = {}): FastifyRequest {
  return { headers, routeOptions: { config } } as unknown as FastifyRequest;
}

const parse = (text: string | Buffer, from = request()) => parseJsonBody(from, Buffer.from(text));

function refusal(text: string | Buffer, from = request()): ApiError {
  try {
    parse(text, from);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error('it was taken');
}

test('parses JSON, and returns undefined for an empty body', () => {
  expect(parse('{"a": [1, null, "ü"]}')).toEqual({ a: [1, null, 'ü'] });
  expect(parse('')).toBeUndefined();
});

test.each([
  ['cut short', '{"a": '],
  ['not JSON', 'hunter2'],
  ['not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
])('returns 422 and does not quote the body when it is %s', (_what, text) => {
  const error = refusal(text);
  expect(error).toMatchObject({ statusCode: 422, detail: [{ loc: ['body'], type: 'json_invalid' }] });
  expect(JSON.stringify(error.detail)).not.toContain('hunter2');
});

test.each([
  ['{"__proto__": 1}', ['body', '__proto__']],
  ['{"a": [{"constructor": {}}]}', ['body', 'a', 0, 'constructor']],
  ['{"a": "\\u0000"}', ['body', 'a']],
  ['{"a": {"b\\u0000": 1}}', ['body', 'a']],
  ['["\\ud800"]', ['body', 0]],
])('rejects %s at %j', (text, loc) => {
  expect(refusal(text).detail).toMatchObject([{ loc }]);
});

test.each([
  ['{"a": 1, "a": 1}', ['body', 'a']],
  ['{"a": 1, "b": {"c": [], "\\u0063": 2}}', ['body', 'b', 'c']],
  ['[{"a": 1}, {"a": [1, {"b": ":,{", "c\\"": 1, "c\\"": 2}]}]', ['body', 1, 'a', 1, 'c"']],
  ['{"a": {"b": 1, "b": 2}, "a": 3}', ['body', 'a', 'b']],
  ['{"": 1, "": 2}', ['body', '']],
])('rejects %s for a duplicate member at %j', (text, loc) => {
  expect(refusal(text)).toMatchObject({
    statusCode: 422,
    detail: [{ loc, msg: 'appears twice', type: 'duplicate_member' }],
  });
});

test.each([
  '{"a": {"a": {"a": "a"}}, "b": [{"a": 1}, {"a": 1}], "A": "\\"a\\": 1, \\\\", "c": {}}',
  '["a", "a", {"a": "a"}, ":", [], {}]',
  '"a:a"',
  '1',
])('accepts %s, which has no duplicate member', (text) => {
  expect(parse(text)).toEqual(JSON.parse(text));
});

test('rejects deep nesting in a member that a duplicate replaces', () => {
  const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
  expect(refusal(`{"a": ${deep}, "a": 1}`).detail).toMatchObject([{ type: 'too_deep' }]);
});

test('accepts a body as deep as the contract, and rejects a deeper one', () => {
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  expect(parse(nested(30))).toBeDefined();
  expect(refusal(nested(40)).detail).toMatchObject([{ type: 'too_deep' }]);
  expect(refusal(nested(400_000)).statusCode).toBe(422);
});

describe('a route that cleans its text itself', () => {
  const own = request({ anyText: true });
  test('gets any text, but no reserved key', () => {
    expect(parse('{"a": "\\u0000"}', own)).toEqual({ a: '\u0000' });
    expect(refusal('{"__proto__": 1}', own).statusCode).toBe(422);
  });
});

test.each([
  ['application/json; charset=latin1', false],
  ['application/json; v=1; charset="iso-8859-1"', false],
  ['application/json; charset=', false],
  ['application/json; charset=UTF-8', true],
  ['application/json; charset="utf8"', true],
  ['application/json; v=1', true],
])('decides whether the content type %s is accepted: %s', (type, taken) => {
  const from = request({}, { 'content-type': type });
  if (taken) expect(parse('{}', from)).toEqual({});
  else expect(refusal('{}', from).statusCode).toBe(415);
});

test('returns 415 for a compressed body', () => {
  expect(refusal('{}', request({}, { 'content-encoding': 'gzip' })).statusCode).toBe(415);
});
