import { expect, test } from 'vitest';
import type { BranchWatch } from '../../../../../src/domain/builds/branch-watch.ts';
import { fromStoredWatch, toStoredWatch } from '../../../../../src/hub/store/builds/stored-branch-watch.ts';

const watch: BranchWatch = {
  branch: 'main',
  commit: 'a'.repeat(40),
  pushes: [['b'.repeat(40), 'a'.repeat(40)]],
  failures: 2,
  reportedFailure: 'timeout',
  deleted: false,
  soon: true,
  doubted: null,
};

test('the state of a branch is stored under the keys that the previous version reads', () => {
  const { reportedFailure, ...others } = watch;
  expect(toStoredWatch(watch)).toEqual({ ...others, told: reportedFailure });
});

test('the state of a branch is the same after it was stored and read', () => {
  for (const each of [watch, { ...watch, reportedFailure: null }])
    expect(fromStoredWatch(JSON.parse(JSON.stringify(toStoredWatch(each))))).toEqual(each);
  expect(fromStoredWatch(null)).toBeNull();
});
