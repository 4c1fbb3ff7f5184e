import { expect, test } from 'vitest';
import { endOfFailure } from '../../../../../src/hub/api/core/line-stream.ts';

test.each([
  [401, 'denied'],
  [403, 'denied'],
  [404, 'failed'],
  [429, 'failed'],
  [503, 'failed'],
  [504, 'failed'],
] as const)('ends a stream after an error with status %i with the reason %s', (statusCode, reason) => {
  const end = endOfFailure({ statusCode, detail: 'Why.' });
  expect(end).toEqual({ end: expect.stringMatching(/^Why\./), reason });
});

test('does not show details of fields in the last line', () => {
  const detail = [{ loc: ['body'], msg: 'is wrong', type: 'value_error' }];
  expect(endOfFailure({ statusCode: 400, detail })).toEqual({
    end: 'The request was rejected.',
    reason: 'failed',
  });
});
