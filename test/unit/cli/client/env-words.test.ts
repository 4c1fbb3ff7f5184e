import { expect, test } from 'vitest';
import {
  deadReferences,
  variablesToSet,
  withoutVariables,
  withVariables,
} from '../../../../src/cli/client/env/words.ts';
import { UsageError } from '../../../../src/cli/command/usage-error.ts';

const [A, B] = [
  { name: 'A', value: '1' },
  { name: 'B', value: '2' },
];

test('reads words and a .env file, and keeps = and references in values', () => {
  const file = { path: '.env', text: '# comment\nA=plain\nB="two\nlines"\n' };
  expect(variablesToSet(['C=$(DATABASE_URI)?a=b', 'D='], file)).toEqual([
    { name: 'A', value: 'plain' },
    { name: 'B', value: 'two\nlines' },
    { name: 'C', value: '$(DATABASE_URI)?a=b' },
    { name: 'D', value: '' },
  ]);
});

test.each([
  [[], null, 'name a variable'],
  [['A'], null, 'needs a name and a value'],
  [['=1'], null, 'needs a name and a value'],
  [['A=1', 'A=2'], null, 'A is given twice'],
  [[], 'text', '.env contains no lines KEY=VALUE'],
])('rejects %j with the file %j', (words, text, message) => {
  const file = text === null ? null : { path: '.env', text };
  expect(() => variablesToSet(words, file)).toThrow(UsageError);
  expect(() => variablesToSet(words, file)).toThrow(message);
});

test('keeps the order of stored variables, because values can refer to earlier ones', () => {
  const set = [
    { name: 'C', value: '$(A)' },
    { name: 'A', value: '9' },
  ];
  expect(withVariables([A, B], set)).toEqual([{ name: 'A', value: '9' }, B, { name: 'C', value: '$(A)' }]);
  expect(withoutVariables([A, B], ['A', 'X'])).toEqual([B]);
});

test('finds references to variables that are not earlier in the list', () => {
  const url = { name: 'URL', value: 'http://$(HOST):$(PORT)' };
  const host = { name: 'HOST', value: '$$(URL) $(UNKNOWN)' };
  expect(deadReferences([url, host])).toEqual([{ name: 'URL', later: 'HOST' }]);
  expect(deadReferences([host, url])).toEqual([]);
  expect(deadReferences([{ name: 'A', value: '$$$(A)' }])).toEqual([{ name: 'A', later: 'A' }]);
});
