import { expect, test } from 'vitest';
import { matchesLabelSelector } from '../../../../../src/cluster/kube/client/label-selector.ts';

const labels = { app: 'web', 'example.com/tier': 'front', empty: '' };

test.each([
  ['', true],
  ['app=web', true],
  ['app==web, example.com/tier=front', true],
  ['app=web,example.com/tier=back', false],
  ['app!=web', false],
  ['missing!=x', true],
  ['app', true],
  ['missing', false],
  ['!missing', true],
  ['!app', false],
  ['empty=', true],
  ['app in (web, api),!missing', true],
  ['app in (api)', false],
  ['app notin (api)', true],
  ['app notin (web,api)', false],
  ['missing in (x)', false],
  ['app > 3', undefined],
  ['app=a=b', undefined],
])('matchesLabelSelector evaluates "%s" to %s', (selector, expected) => {
  expect(matchesLabelSelector(selector, labels)).toBe(expected);
});
