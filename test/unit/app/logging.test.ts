import { expect, test } from 'vitest';
import { createLogger } from '../../../src/app/logging.ts';

const SECRET = 'hunter2-hunter2';

function logged(fields: object): Record<string, unknown> {
  const lines: string[] = [];
  createLogger('info', { write: (line) => lines.push(line) }).info(fields, 'said');
  expect(lines).toHaveLength(1);
  expect(lines[0]).not.toContain(SECRET);
  const { time, ...rest } = JSON.parse(lines[0] ?? '') as Record<string, unknown>;
  expect(time).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
  return rest;
}

const CENSOR = '**********';

test('writes the given fields, the level and the message in one line', () => {
  const at = new Date(0);
  expect(logged({ n: 1, none: null, yes: true, list: [1, { a: 2 }], at, missing: undefined })).toEqual({
    level: 'info',
    n: 1,
    none: null,
    yes: true,
    list: [1, { a: 2 }],
    at: at.toJSON(),
    msg: 'said',
  });
});

test.each([
  'secrets',
  'value',
  'data',
  'password',
  'token',
  'key',
  'api_key',
  'authorization',
  'x-api-key',
  'cookie',
])('redacts %s at three levels and in lists, whatever its value is', (name) => {
  expect(logged({ [name]: SECRET })).toMatchObject({ [name]: CENSOR });
  expect(logged({ [name]: { deep: [SECRET] } })).toMatchObject({ [name]: CENSOR });
  expect(logged({ a: { [name]: SECRET, b: 1 } })).toMatchObject({ a: { [name]: CENSOR, b: 1 } });
  expect(logged({ a: { b: { [name]: [SECRET], c: 2 } } })).toMatchObject({
    a: { b: { [name]: CENSOR, c: 2 } },
  });
  expect(logged({ list: [{ [name]: SECRET }] })).toMatchObject({ list: [{ [name]: CENSOR }] });
});

test('redacts errors and objects with toJSON, and keeps the message and stack of an error', () => {
  class Held {
    toJSON() {
      return { token: SECRET, n: 1 };
    }
  }
  expect(logged({ held: new Held() })).toMatchObject({ held: { token: CENSOR, n: 1 } });
  const error = Object.assign(new TypeError('it broke'), { password: SECRET, code: 'E1' });
  expect(logged({ err: error })).toMatchObject({
    err: { type: 'TypeError', message: 'it broke', password: CENSOR, code: 'E1', stack: expect.any(String) },
  });
});

test('does not change the logged object, and accepts circular references', () => {
  const circle: Record<string, unknown> = { token: SECRET };
  circle['self'] = { again: circle };
  logged({ token: SECRET });
  const lines: string[] = [];
  createLogger('info', { write: (line) => lines.push(line) }).info({ n: { circle } }, 'said');
  expect(circle['token']).toBe(SECRET);
  expect(lines).toHaveLength(1);
});
