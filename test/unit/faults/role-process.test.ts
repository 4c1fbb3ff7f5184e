/** Whether a process has ended because the plan has asked it to (O8). */
import { expect, test } from 'vitest';
import { endedByItself } from '../../faults/role-process.ts';

test.each([
  ['asked by SIGTERM', 0, null, ['SIGTERM'], undefined],
  ['killed by the plan', null, 'SIGKILL', ['SIGSTOP', 'SIGKILL'], undefined],
  ['asked, and it could not end in order', 1, null, ['SIGTERM'], 'ended by itself, with 1'],
  ['a failure', 1, null, [], 'ended by itself, with 1'],
  ['in order, and nobody has asked', 0, null, ['SIGSTOP'], 'ended by itself, with 0'],
  ['out of memory', null, 'SIGABRT', [], 'ended by itself, with SIGABRT'],
  ['killed by another', null, 'SIGKILL', ['SIGTERM'], 'ended by itself, with SIGKILL'],
] as const)('%s', (_, code, signal, sent, told) => {
  expect(endedByItself({ code, signal }, new Set<string>(sent))).toBe(told);
});
