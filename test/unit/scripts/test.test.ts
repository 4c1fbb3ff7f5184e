import { describe, expect, test } from 'vitest';
import { closingLine, skippedTests } from '../../../scripts/test.ts';

const report = (more: object) => ({
  numPassedTests: 0,
  numFailedTests: 0,
  numPendingTests: 0,
  numTodoTests: 0,
  numTotalTests: 0,
  testResults: [],
  ...more,
});
const file = (status: string, assertionResults: { status?: string; fullName?: string }[]) => ({
  status,
  assertionResults,
  message: '',
  name: 'x',
});

describe('the closing line of the test run', () => {
  test.each([
    [{ numPassedTests: 3 }, '3 passed, 0 failed', false],
    [{ numPassedTests: 3, numFailedTests: 1 }, '3 passed, 1 failed', true],
    [{ numPassedTests: 3, numPendingTests: 1, numTodoTests: 1 }, '3 passed, 0 failed, 2 skipped', false],
    [{ numPassedTests: 3, testResults: [file('failed', [])] }, '3 passed, 1 failed', true],
    [
      { numPassedTests: 3, numFailedTests: 1, testResults: [file('failed', [{}])] },
      '3 passed, 1 failed',
      true,
    ],
    [{}, '0 passed, 0 failed', true],
  ])('counts %j as "%s"', (counts, line, failed) => {
    expect(closingLine(report(counts))).toEqual({ line, failed });
  });
});

test('names each skipped test by its file', () => {
  const results = [
    { status: 'passed', fullName: 'the package prints its version' },
    { status: 'skipped', fullName: 'the package on Node 22 prints its version' },
    { status: 'failed', fullName: 'the package has types' },
    { status: 'todo', fullName: 'the package has a page of manual' },
  ];
  const name = `${process.cwd()}/test/integration/cli/installed.long.test.ts`;
  expect(skippedTests({ testResults: [{ ...file('passed', results), name }] })).toEqual([
    'test/integration/cli/installed.long.test.ts: the package on Node 22 prints its version',
    'test/integration/cli/installed.long.test.ts: the package has a page of manual',
  ]);
});
