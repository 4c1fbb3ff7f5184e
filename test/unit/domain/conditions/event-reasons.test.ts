import { expect, test } from 'vitest';
import { FAILURE_RULES } from '../../../../src/cluster/operator/rollout/failure-rules.ts';
import { REASON_NAMES, TROUBLES } from '../../../../src/domain/conditions/conditions.ts';
import {
  CONDITION_REASONS,
  EVENT_REASONS,
  eventReasonOr,
  isEventReason,
} from '../../../../src/domain/conditions/event-reasons.ts';
import { DEPLOYMENT_STATUS_RULES, REVISION_TRANSITIONS } from '../../../../src/domain/revision/states.ts';

test('every reason is that of events or only of conditions', () => {
  expect([...EVENT_REASONS, ...CONDITION_REASONS].sort()).toEqual([...REASON_NAMES].sort());
});

test('contains every reason that the tables of states and failures give to an event', () => {
  const given = [
    ...DEPLOYMENT_STATUS_RULES.flatMap(({ reasons }) => reasons),
    ...REVISION_TRANSITIONS.flatMap(({ reasons }) => reasons),
    ...FAILURE_RULES.map(({ reason }) => reason),
    ...TROUBLES,
  ];
  expect(given.filter((reason) => !isEventReason(reason))).toEqual([]);
});

test.each([
  ['CrashLoop', 'CrashLoop'],
  ['Converged', 'RolloutFailed'],
  ['nonsense', 'RolloutFailed'],
])('the reason %s of a report becomes %s in an event', (reported, expected) => {
  expect(eventReasonOr(reported, 'RolloutFailed')).toBe(expected);
});
