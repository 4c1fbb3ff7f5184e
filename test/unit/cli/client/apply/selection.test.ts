import { expect, test } from 'vitest';
import type { Deployment } from '../../../../../src/cli/client/api.gen.ts';
import { isSelected, pruned, selectorOf } from '../../../../../src/cli/client/apply/selection.ts';
import { UsageError } from '../../../../../src/cli/command/usage-error.ts';

const deployment = (name: string, status: Deployment['status'] = 'READY') =>
  ({ id: `id-${name}`, name, status }) as Deployment;

test('selects documents that have every tag', () => {
  const selector = selectorOf(['team=payments', 'stage=a=b']);
  const tags = new Map([
    ['team', ['payments', 'search']],
    ['stage', ['a=b']],
  ]);
  expect(isSelected({ tags }, selector)).toBe(true);
  expect(isSelected({ tags: new Map([['team', ['payments']]]) }, selector)).toBe(false);
  expect(isSelected({ tags: null }, selector)).toBe(false);
  expect(isSelected({ tags: null }, selectorOf([]))).toBe(true);
});

test.each([['team'], ['=payments'], ['team=']])('rejects -l %j, which is not a tag', (word) => {
  expect(() => selectorOf([word])).toThrow(UsageError);
});

test('rejects two values of one tag', () => {
  expect(() => selectorOf(['team=a', 'team=b'])).toThrow('-l has two values of the tag team');
});

test('prunes tagged deployments that no document describes and that are not being deleted', () => {
  const tagged = [
    deployment('kept'),
    deployment('cafe\u0301'),
    deployment('gone', 'AWAITING_DELETE'),
    deployment('old'),
  ];
  expect(pruned(tagged, [{ name: 'kept' }, { name: 'caf\u00e9' }])).toEqual([deployment('old')]);
});
