import { describe, expect, test } from 'vitest';
import {
  currentSpec,
  currentStatus,
  formerSpec,
  isFormerSpec,
  statusNames,
  statusWithBothNames,
} from '../../../../src/contract/resource/former-names.ts';
import {
  type ManagedDeploymentStatus,
  managedDeploymentSpecSchema,
  managedDeploymentStatusSchema,
} from '../../../../src/contract/resource/managed-deployment.ts';

const TIME = '2026-01-01T00:00:00Z';
const LATER = '2026-01-02T00:00:00Z';

const FORMER_SPEC = {
  generation: 7,
  deletion: { requestedAt: TIME, restorableUntil: LATER },
  failed: { reason: 'CrashLoop', message: 'why', observedGeneration: 6 },
  revision: { number: 1 },
};
const CURRENT_SPEC = {
  recordGeneration: 7,
  deletion: { requestTime: TIME, restorableUntilTime: LATER },
  failed: { reason: 'CrashLoop', message: 'why', observedRecordGeneration: 6 },
  revision: { number: 1 },
};

const failed = { number: 2, reason: 'CrashLoop', message: 'why' };
const pod = { component: 'api', kind: 'Pod', object: 'web-1', container: 'app' };
const formerSource = { ...pod, container_kind: 'app', exit_code: 1 };
const source = { ...pod, containerKind: 'app', exitCode: 1 };
const symptom = { component: 'api', reason: 'CrashLoop', message: 'why' };
const FORMER_STATUS = {
  observedGeneration: 9,
  observedSpecGeneration: 6,
  status: 'READY',
  activeRevision: { number: 1, templates: 'web-1' },
  failedRevision: { ...failed, failureSource: formerSource, generation: 7 },
  failedChange: { ...failed, generation: 7 },
  symptoms: [
    { ...symptom, since: TIME },
    { ...symptom, failureSource: formerSource, since: TIME, quietSince: LATER },
  ],
  rollout: { number: 2, templates: 'web-2', startedAt: TIME, templatesAt: LATER },
  awaiting: { number: 3, since: TIME },
  build: { number: 3, phase: 'Succeeded', startedAt: TIME, finishedAt: LATER },
  routes: { generation: 7, hosts: ['a'] },
};
const CURRENT_STATUS: ManagedDeploymentStatus = managedDeploymentStatusSchema.parse({
  observedGeneration: 9,
  observedRecordGeneration: 6,
  deploymentStatus: 'READY',
  activeRevision: { number: 1, templates: 'web-1' },
  failedRevision: { ...failed, failureSource: source, recordGeneration: 7 },
  failedChange: { ...failed, recordGeneration: 7 },
  symptoms: [
    { ...symptom, firstObservedTime: TIME },
    { ...symptom, failureSource: source, firstObservedTime: TIME, lastObservedTime: LATER },
  ],
  rollout: { number: 2, templates: 'web-2', startTime: TIME, templatesChangeTime: LATER },
  awaiting: { number: 3, startTime: TIME },
  build: { number: 3, phase: 'Succeeded', startTime: TIME, completionTime: LATER },
  routes: { recordGeneration: 7, hosts: ['a'] },
});

describe('a spec', () => {
  test('of the previous version gets the current names, which the schema accepts', () => {
    expect(currentSpec(FORMER_SPEC)).toEqual(CURRENT_SPEC);
    expect(managedDeploymentSpecSchema.parse(currentSpec(FORMER_SPEC))).toMatchObject(CURRENT_SPEC);
    expect([isFormerSpec(FORMER_SPEC), isFormerSpec(CURRENT_SPEC)]).toEqual([true, false]);
  });

  test('of this version stays the same, and gets the former names for a work item', () => {
    expect(currentSpec(CURRENT_SPEC)).toBe(CURRENT_SPEC);
    expect(formerSpec(CURRENT_SPEC)).toEqual(FORMER_SPEC);
    expect(formerSpec(FORMER_SPEC)).toBe(FORMER_SPEC);
  });

  test('with both names shows that it was edited by hand', () => {
    const edited = { ...CURRENT_SPEC, generation: 99 };
    expect(formerSpec(edited)).toMatchObject({ generation: 99, recordGeneration: 7 });
  });

  test.each([[undefined], [null], ['text'], [{ deletion: 'text', failed: [] }]])(
    'that is %j stays the same',
    (spec) => {
      expect(currentSpec(spec)).toBe(spec);
      expect(formerSpec(spec)).toBe(spec);
    },
  );
});

describe('a status', () => {
  test('of the previous version gets the current names', () => {
    expect(currentStatus(FORMER_STATUS)).toEqual(CURRENT_STATUS);
    expect(statusNames(FORMER_STATUS)).toBe('former');
  });

  test('of the version before that gets the source of a failure from culprit', () => {
    const { failureSource, ...failure } = FORMER_STATUS.failedRevision;
    const earlier = { ...FORMER_STATUS, failedRevision: { ...failure, culprit: failureSource } };
    expect(currentStatus(earlier)).toEqual(CURRENT_STATUS);
  });

  test('of this version stays the same', () => {
    expect(currentStatus(CURRENT_STATUS)).toBe(CURRENT_STATUS);
    expect([statusNames(CURRENT_STATUS), statusNames({}), statusNames(undefined)]).toEqual([
      'current',
      'current',
      'current',
    ]);
  });

  test('with the names of both versions contains what each version reads', () => {
    const both = statusWithBothNames(CURRENT_STATUS);
    expect(both).toMatchObject(FORMER_STATUS);
    expect(both).toMatchObject(CURRENT_STATUS);
    expect(statusNames(both)).toBe('both');
    expect(currentStatus(both)).toEqual(CURRENT_STATUS);
  });
});
