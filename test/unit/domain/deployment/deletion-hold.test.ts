import { describe, expect, test } from 'vitest';
import { remedyOf } from '../../../../src/domain/conditions/remedies.ts';
import {
  combinedHold,
  deletionNote,
  finalizerHold,
  HOLD_REASONS,
  isHoldReason,
  objectOfHold,
  podHold,
  withDeletionNote,
} from '../../../../src/domain/deployment/deletion-hold.ts';

const NOW = new Date('2026-01-01T00:01:00Z');
const SINCE = '2026-01-01T00:00:00Z';
const object = (kind: string, finalizers: string[], deletionTimestamp: string | undefined = SINCE) => ({
  kind,
  metadata: { name: 'shop-db', finalizers, ...(deletionTimestamp && { deletionTimestamp }) },
});

describe('the hold of a deletion', () => {
  test.each([
    ['one finalizer', ['example.com/hold'], 'is held by the finalizer example.com/hold'],
    [
      'several finalizers',
      ['a.example/x', 'b.example/y'],
      'is held by the finalizers a.example/x, b.example/y',
    ],
    [
      'a finalizer next to that of Kubernetes',
      ['kubernetes.io/pvc-protection', 'a.example/x'],
      'the finalizer a.example/x',
    ],
  ])('names %s', (_, finalizers, words) => {
    const hold = finalizerHold(object('PersistentVolumeClaim', finalizers));
    expect(hold?.reason).toBe('FinalizerBlocks');
    expect(hold?.message).toContain(`PersistentVolumeClaim shop-db is being deleted`);
    expect(hold?.message).toContain(words);
  });

  test('ignores finalizers of Kubernetes itself, and objects that are not being deleted', () => {
    expect(finalizerHold(object('Deployment', ['foregroundDeletion', 'orphan']))).toBeNull();
    expect(
      finalizerHold({ kind: 'Pod', metadata: { name: 'a', finalizers: ['example.com/hold'] } }),
    ).toBeNull();
  });

  test('names a pod only some time after the end of its grace period', () => {
    const pod = { ...object('Pod', []), node: 'node-1' };
    expect(podHold(pod, new Date('2026-01-01T00:00:14Z'))).toBeNull();
    expect(podHold(pod, NOW)).toMatchObject({
      reason: 'PodNotEnding',
      message: expect.stringMatching(/^Pod shop-db .*node-1/),
    });
  });

  test('names the first three objects and the number of the others', () => {
    const holds = ['a', 'b', 'c', 'd', 'e'].map((name) => ({
      reason: 'FinalizerBlocks' as const,
      message: `Service ${name} is held`,
    }));
    expect(combinedHold(holds)?.message).toBe(
      'Service a is held; Service b is held; Service c is held; and 2 more',
    );
    expect(combinedHold([])).toBeUndefined();
  });

  test.each([
    ['PersistentVolumeClaim shop-db is being deleted', 'PersistentVolumeClaim', 'shop-db'],
    ['Namespace team: failed to list pods', 'Namespace', 'team'],
    ['Pod a.b-0 should have ended', 'Pod', 'a.b-0'],
  ])('begins with its object: %s', (message, kind, name) => {
    expect(objectOfHold(message)).toEqual({ kind, object: name });
  });

  test('has no object when its message names none', () => {
    expect(objectOfHold('the remaining objects are being deleted')).toBeNull();
  });

  test.each(HOLD_REASONS)('has a remedy that a person can apply: %s', (reason) => {
    expect(isHoldReason(reason)).toBe(true);
    expect(remedyOf(reason)).toMatchObject({ kind: 'act', text: expect.not.stringMatching(/^Nothing/) });
  });
});

test('keeps the time of the note on a blocked purge while its text is the same', () => {
  const later = new Date('2026-01-01T00:02:00Z');
  const first = withDeletionNote([], { reason: 'FinalizerBlocks', message: 'Pod a is held' }, NOW);
  const same = withDeletionNote(first, { reason: 'FinalizerBlocks', message: 'Pod a is held' }, later);
  expect(same).toEqual(first);
  const other = withDeletionNote(same, { reason: 'VolumeInUse', message: 'Pod b uses it' }, later);
  expect(other).toHaveLength(1);
  expect(deletionNote(other)).toMatchObject({
    reason: 'VolumeInUse',
    lastTransitionTime: later.toISOString(),
  });
});
