import { expect, test } from 'vitest';
import { ApiProblem } from '../../../../../src/cli/client/call-problem.ts';
import { pollStep } from '../../../../../src/cli/client/contexts/device.ts';
import { loginMethod } from '../../../../../src/cli/client/contexts/login.ts';

const none = { apiKey: false, device: false, workload: false };

test.each<[string, Parameters<typeof loginMethod>, string]>([
  ['a person at a terminal', [none, true], 'offered'],
  ['a script', [none, false], 'api_key'],
  ['--api-key at a terminal', [{ ...none, apiKey: true }, true], 'api_key'],
  ['--key-file', [{ ...none, keyFile: '-' }, true], 'api_key'],
  ['--device in a script', [{ ...none, device: true }, false], 'device'],
  ['--workload', [{ ...none, workload: true }, false], 'workload'],
])('chooses the method of a login for %s', (_what, given, expected) => {
  expect(loginMethod(...given)).toBe(expected);
});

test('rejects options of two methods', () => {
  expect(() => loginMethod({ ...none, device: true, workload: true }, true)).toThrow('use only one of');
});

const problem = (status: number | null, type?: string) =>
  new ApiProblem(status, 'x', null, [
    { field: 'body.device_code', message: 'x', ...(type === undefined ? {} : { type }) },
  ]);

test.each<[string, unknown, string]>([
  ['the person has not decided', problem(400, 'authorization_pending'), 'wait'],
  ['polls come too early', problem(400, 'slow_down'), 'slow_down'],
  ['the login was denied', problem(400, 'access_denied'), 'failed'],
  ['the code has expired', problem(400, 'expired_token'), 'failed'],
  ['the connection was lost', problem(null), 'wait'],
  ['the API is busy', problem(503), 'wait'],
  ['the API rejects the request', problem(422), 'failed'],
  ['the program has an error', new Error('x'), 'failed'],
])('continues to poll or fails when %s', (_when, error, expected) => {
  expect(pollStep(error)).toBe(expected);
});
