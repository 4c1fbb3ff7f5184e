import { expect, test } from 'vitest';
import type { ReportedFailure } from '../../../../../src/domain/conditions/failure-source.ts';
import { fromStored, toStored } from '../../../../../src/hub/store/core/stored-failure.ts';

const failure = { reason: 'CrashLoop', message: 'why' };
const source = { component: 'api', exit_code: 7 };

test('a failure is stored under the name that the previous version reads, and read back', () => {
  expect(toStored({ ...failure, failureSource: source })).toEqual({ ...failure, culprit: source });
  expect(fromStored<ReportedFailure>({ ...failure, culprit: source })).toEqual({
    ...failure,
    failureSource: source,
  });
});

test('a failure without a known source has no such field', () => {
  expect(Object.keys(toStored<ReportedFailure>(failure))).toEqual(['reason', 'message']);
  expect(Object.keys(fromStored<ReportedFailure>(failure))).toEqual(['reason', 'message']);
});
