import { expect, test } from 'vitest';
import type { BuildStatus } from '../../../../src/contract/build.ts';
import { unbuiltStatus } from '../../../../src/operator/builds/unbuilt.ts';
import { resourceWith } from './fixtures.ts';

test('an operator that builds nothing says so of what is to be built, as its last word', () => {
  expect(unbuiltStatus(resourceWith({ revisionId: 'r2', number: 2 }))).toMatchObject({
    revisionId: 'r2',
    number: 2,
    phase: 'Failed',
    reason: 'BuildsUnavailable',
    message: expect.stringContaining('BERTH_HOSTING=cloud') as string,
  });
});

test('what was built before, or has failed, stays as it was told', () => {
  const last: BuildStatus = { revisionId: 'r1', number: 1, phase: 'Succeeded', image: 'r/x@sha256:1' };
  expect(unbuiltStatus(resourceWith({ status: last }))).toEqual(last);
  expect(unbuiltStatus(resourceWith({ status: last, revisionId: 'r2', number: 2 }))?.phase).toBe('Failed');
});

test('it says nothing of what needs no build', () => {
  expect(unbuiltStatus(resourceWith({ spec: { build: undefined } }))).toBeUndefined();
});
