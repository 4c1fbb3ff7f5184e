import { describe, expect, test } from 'vitest';
import { howSettled } from '../../faults/walk/settle.ts';

const condition = (type: string, status: string, reason: string) => ({ type, status, reason, message: '' });

/** Of revision "b", which runs in no pod. */
const failing = (image: string, more: object = {}) =>
  ({
    id: 'd',
    status: 'DEGRADED',
    remote_reconciled: true,
    latest_revision_id: 'b',
    active_revision_id: 'a',
    conditions: [condition('Progressing', 'False', 'RolloutFailed'), condition('Ready', 'True', 'Serving')],
    secrets: [],
    source_config: { resource_spec: {}, custom_url: null },
    source_revision_config: { image_uri: image },
    ...more,
  }) as never;
const revision = (status: string) => ({ id: 'b', number: 2, status, reason: null, message: null }) as never;
const resource = {
  status: {
    conditions: [condition('Progressing', 'False', 'RolloutFailed'), condition('Ready', 'True', 'Serving')],
  },
} as never;

const BAD = failing('registry.test/app:fail-crash-loop');
const GOOD = failing('registry.test/app:1');

describe('a revision that has failed', () => {
  const failed = revision('DEPLOY_FAILED');

  test('has ended, where its own record could not come up', () => {
    expect(howSettled(BAD, failed, resource, 'b')).toBe('failed');
    expect(howSettled(GOOD, failed, resource, 'b')).toBe('failed');
  });

  test('is waited for in vain, where that was the revision before it', () => {
    expect(howSettled(GOOD, failed, resource, 'a')).toBeNull();
    expect(howSettled(GOOD, failed, resource, null)).toBeNull();
  });

  test('is not hidden by being switched off', () => {
    const off = failing('registry.test/app:1', {
      status: 'UNUSED',
      conditions: [condition('Ready', 'False', 'SwitchedOff')],
      source_config: { resource_spec: { max_scale: 0 }, custom_url: null },
    });
    expect(howSettled(off, failed, resource, null)).toBeNull();
    expect(howSettled(off, failed, resource, 'b')).toBe('off');
    expect(howSettled(off, revision('DEPLOYED'), resource, null)).toBe('off');
  });
});

test('a change in place that was taken back has to come up', () => {
  const deployed = revision('DEPLOYED');
  expect(howSettled(BAD, deployed, resource, 'b')).toBe('failed');
  expect(howSettled(GOOD, deployed, resource, 'b')).toBeNull();
  const well = failing('registry.test/app:1', {
    status: 'READY',
    active_revision_id: 'b',
    conditions: [condition('Ready', 'True', 'Converged')],
  });
  expect(howSettled(well, deployed, resource, 'b')).toBe('ready');
});
