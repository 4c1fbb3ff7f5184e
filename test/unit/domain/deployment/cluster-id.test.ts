import { expect, test } from 'vitest';
import { isAnotherCluster, keptClusterId } from '../../../../src/domain/deployment/cluster-id.ts';

test.each([
  ['kube-system/a', 'kube-system/a', false],
  ['kube-system/a', 'kube-system/b', true],
  ['team/a', 'team/b', true],
  // The account gained or lost the right to read kube-system: the ids cannot be compared.
  ['team/a', 'kube-system/b', false],
  ['kube-system/b', 'team/a', false],
])('decides whether %s and %s are certainly two clusters: %s', (kept, reported, expected) => {
  expect(isAnotherCluster(kept, reported)).toBe(expected);
});

test.each([
  [null, null, null],
  [null, 'team/a', 'team/a'],
  ['team/a', null, 'team/a'],
  ['team/a', 'kube-system/b', 'kube-system/b'],
  ['kube-system/b', 'team/a', 'kube-system/b'],
])('compares %s with %s and keeps %s', (kept, reported, expected) => {
  expect(keptClusterId(kept, reported)).toBe(expected);
});
