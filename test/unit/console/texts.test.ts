import { expect, test } from 'vitest';
import { messageOf } from '../../../src/console/api/problem.ts';
import type { Condition } from '../../../src/console/api/types.ts';
import { mainCondition, revisionText, toneOfCondition } from '../../../src/console/deployment/status.ts';
import { isolated } from '../../../src/console/ui/isolated.ts';
import { durationText, relativeText } from '../../../src/console/ui/time-text.ts';
import { isWebAddress } from '../../../src/console/ui/web-address.ts';

test.each([
  [0, '0 s'],
  [59, '59 s'],
  [61, '1 min'],
  [3_600, '1 h'],
  [7_500, '2 h 5 min'],
  [90_000, '1 d 1 h'],
  [86_400 + 60, '1 d'],
])('durationText shows %i seconds as %s', (seconds, text) => {
  expect(durationText(seconds)).toBe(text);
});

test('relativeText shows past and future times', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  expect(relativeText('2025-12-31T23:59:00Z', now)).toBe('1 min ago');
  expect(relativeText('2026-01-01T01:00:00Z', now)).toBe('in 1 h');
});

test('messageOf reads both forms of errors, and nothing else', () => {
  expect(messageOf({ detail: 'No.' })).toBe('No.');
  expect(messageOf({ detail: [{ loc: ['body', 'source_config', 'x'], msg: 'must be 1', type: 't' }] })).toBe(
    'source_config.x must be 1',
  );
  expect(messageOf('<html>')).toBeNull();
});

const condition = (type: string, status: Condition['status']) =>
  ({ type, status, reason: type }) as Condition;

test('mainCondition prefers what blocks, then what is in progress, then readiness', () => {
  const ready = condition('Ready', 'False');
  expect(mainCondition([ready, condition('Reconciling', 'True'), condition('Stalled', 'True')])?.type).toBe(
    'Stalled',
  );
  expect(mainCondition([ready, condition('Reconciling', 'True'), condition('Stalled', 'False')])?.type).toBe(
    'Reconciling',
  );
  expect(mainCondition([ready, condition('Stalled', 'False')])?.type).toBe('Ready');
  expect(mainCondition([])).toBeNull();
});

test('toneOfCondition knows conditions for which True is bad', () => {
  expect(toneOfCondition({ type: 'Stalled', status: 'True' })).toBe('bad');
  expect(toneOfCondition({ type: 'Ready', status: 'True' })).toBe('good');
  expect(toneOfCondition({ type: 'Ready', status: 'Unknown' })).toBe('unsure');
});

test('revisionText says whether the latest revision is active', () => {
  const revision = (active_revision_id: string | null, latest_revision_id: string | null) =>
    revisionText({ active_revision_id, latest_revision_id });
  expect(revision('x-12345678', 'x-12345678')).toBe('12345678, active and latest');
  expect(revision('x-12345678', 'x-87654321')).toBe('active 12345678, latest 87654321');
  expect(revision(null, null)).toBe('none');
});

test('isolated encloses a text, and removes what could end or override the isolation', () => {
  expect(isolated('a\u202eb\u2069c')).toBe('\u2068abc\u2069');
});

test.each([
  ['https://shop.example', true],
  ['http://shop.example/x', true],
  ['javascript:alert(1)', false],
  [' javascript:alert(1)', false],
  ['data:text/html,x', false],
  ['shop.example', false],
  ['//shop.example', false],
])('isWebAddress(%j) is %j', (text, expected) => {
  expect(isWebAddress(text)).toBe(expected);
});
