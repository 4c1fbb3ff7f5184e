/** What a walk says nothing of, and what a log tells of what was left unhandled. */
import { expect, test } from 'vitest';
import { unhandledLines } from '../../faults/unhandled.ts';
import type { WalkResult } from '../../faults/walk/result.ts';
import { notWhole } from '../../faults/walk/walk.ts';

const options = { seed: 1, steps: 600, lanes: 2, log: () => undefined, signal: new AbortController().signal };
const whole: WalkResult = {
  seed: 1,
  steps: 600,
  shortest: 300,
  accepted: 500,
  refused: 100,
  checkpoints: 20,
  fewestCompared: 10,
  unwell: 0,
  skipped: 0,
  returned: 1,
  violations: [],
  seconds: 1,
  figures: [],
  missing: [],
};
const missed = (more: Partial<WalkResult>) =>
  notWhole({ ...whole, ...more }, options).map(({ oracle, message }) => `${oracle}: ${message}`);

test('a whole walk has been through all that it owes', () => {
  expect(missed({})).toEqual([]);
  expect(missed({ missing: ['cpu was never removed'] })).toEqual(['whole: cpu was never removed']);
  expect(missed({ shortest: 299 })).toHaveLength(1);
  expect(missed({ checkpoints: 40, fewestCompared: 4 })).toHaveLength(1);
  expect(missed({ fewestCompared: 5 })).toEqual([]);
  expect(missed({ unwell: 1 })).toHaveLength(1);
  expect(missed({ returned: 0 })).toHaveLength(1);
});

test('stacks and fatal lines are told, and nothing else', () => {
  const log = [
    '{"level":"info","msg":"started"}',
    '{"level":"fatal","msg":"no way"}',
    'node:internal/process: triggerUncaughtException(err, true)',
    '    at run (file:///src/main.ts:1:2)',
  ];
  expect(unhandledLines(log.join('\n'))).toEqual([log[1], log[3]?.trim()]);
});
