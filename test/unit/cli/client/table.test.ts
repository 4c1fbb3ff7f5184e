import { expect, test } from 'vitest';
import { problemOf } from '../../../../src/cli/client/call-problem.ts';
import { age, cell, fields, table } from '../../../../src/cli/client/table.ts';

test('aligns the columns, and ends no line with blanks', () => {
  const text = table(
    ['NAME', 'STATUS'],
    [
      ['a', 'READY'],
      ['longer', 'UNUSED'],
    ],
  );
  expect(text).toBe('NAME    STATUS\na       READY\nlonger  UNUSED');
});

test('aligns the values of named fields', () => {
  expect(
    fields(
      [
        ['Name', 'shop'],
        ['Id', '1'],
      ].map(([a = '', b = '']) => [a, b] as const),
    ),
  ).toBe('Name:  shop\nId:    1');
});

test('replaces control characters and empty values in a cell', () => {
  expect(cell('a\u001b[2Jb\nc\u202e')).toBe('a [2Jb c ');
  expect(cell(null)).toBe('–');
  expect(cell('')).toBe('–');
});

test.each([
  [5, '5s'],
  [119, '119s'],
  [600, '10m'],
  [3 * 3600, '3h'],
  [20 * 86_400, '20d'],
  [-5, '0s'],
])('shows an age of %d seconds as %s', (seconds, text) => {
  const now = new Date('2026-01-15T00:00:00Z');
  expect(age(new Date(now.getTime() - seconds * 1000).toISOString(), now)).toBe(text);
});

test('names each rejected field and the request, or shows the detail of another error', () => {
  const detail = [{ loc: ['body', 'secrets', 0, 'name'], msg: 'is required', type: 'missing' }];
  expect(problemOf(422, { detail }, 'r1').message).toBe(
    '422: rejected (request r1)\n  body.secrets[0].name: is required',
  );
  expect(problemOf(404, { detail: 'There is no such deployment.' }, null).message).toBe(
    '404: There is no such deployment.',
  );
  expect(problemOf(502, '<html>', null).message).toBe('502: The response contains no details.');
});
