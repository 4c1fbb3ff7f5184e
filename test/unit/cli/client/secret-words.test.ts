import { expect, test } from 'vitest';
import { secretsToSet } from '../../../../src/cli/client/secrets/words.ts';
import { UsageError } from '../../../../src/cli/command/usage-error.ts';

test('reads names with and without a value', () => {
  expect(secretsToSet(['A', 'B=', 'C=x=y'], null)).toEqual([
    { name: 'A', value: null },
    { name: 'B', value: '' },
    { name: 'C', value: 'x=y' },
  ]);
});

test('reads a .env file with comments, quotes, several lines in quotes, and export', () => {
  const text = `# comment
A=plain # comment
B="two
lines"
C='single # no comment'
export D=exported

E=
`;
  expect(secretsToSet(['F'], { path: '.env', text })).toEqual([
    { name: 'A', value: 'plain' },
    { name: 'B', value: 'two\nlines' },
    { name: 'C', value: 'single # no comment' },
    { name: 'D', value: 'exported' },
    { name: 'E', value: '' },
    { name: 'F', value: null },
  ]);
});

test.each([
  [[], null, 'name a secret'],
  [['=canary'], null, 'a secret needs a name'],
  [['A=canary', 'A=canary'], null, 'A is given twice'],
  [['A'], 'A=canary', 'A is given twice'],
  [[], 'canary', '.env contains no lines KEY=VALUE'],
])('rejects %j with the file %j, without a value in the message', (words, text, message) => {
  const file = text === null ? null : { path: '.env', text };
  expect(() => secretsToSet(words, file)).toThrow(UsageError);
  expect(() => secretsToSet(words, file)).toThrow(message);
  expect(() => secretsToSet(words, file)).not.toThrow('canary');
});
