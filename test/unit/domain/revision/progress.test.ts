import { expect, it } from 'vitest';
import { timeOfUuidv7, uuidv7 } from '../../../../src/domain/core/id.ts';
import type { DeploymentFacts, OutcomeMove } from '../../../../src/domain/deployment/cluster-report.ts';
import { progressOf } from '../../../../src/domain/revision/progress.ts';

const MADE = Date.parse('2026-01-01T00:00:00Z');
const later = (seconds: number) => new Date(MADE + seconds * 1000);
const revisionId = uuidv7(Math.max(MADE, 0));
/** The clock of ids only goes forward within a process: what the id says counts. */
const made = timeOfUuidv7(revisionId) ?? Number.NaN;
const at = (seconds: number) => new Date(made + seconds * 1000);

function facts(more: Partial<DeploymentFacts> = {}): DeploymentFacts {
  return {
    appName: 'a',
    namespace: 'n',
    deleting: false,
    purgeInMs: null,
    generation: 1,
    acknowledgedGeneration: 1,
    attempts: 0,
    hasRunnableRevision: true,
    active: null,
    inPlaceFailure: null,
    wantedRevisionId: revisionId,
    observation: null,
    conditions: [],
    revisions: [{ id: revisionId, number: 1, status: 'DEPLOYING' }],
    ...more,
  };
}
const observation = (dataReady: boolean) => ({
  generation: 1,
  conditions: [],
  url: null,
  off: false,
  dataReady,
  observedAt: later(0),
});
const move = (to: OutcomeMove['to'], reason: OutcomeMove['reason'], more: Partial<OutcomeMove> = {}) => ({
  id: revisionId,
  number: 1,
  from: 'DEPLOYING' as const,
  to,
  reason,
  message: '',
  ...more,
});

it('reads the time of a UUID v7, and returns null for another text', () => {
  expect(timeOfUuidv7('0190b4f0-6c00-7abc-8def-0123456789ab')).toBe(0x0190b4f06c00);
  expect(timeOfUuidv7('0190b4f0-6c00-4abc-8def-0123456789ab')).toBeNull();
  expect(timeOfUuidv7('nonsense')).toBeNull();
});

it('measures only the first READY, from the creation of its revision', () => {
  const before = facts({ observation: observation(false) });
  const after = facts({ observation: observation(true) });
  expect(progressOf(before, after, [], at(12))).toEqual([{ kind: 'ready', seconds: 12 }]);
  expect(progressOf(after, after, [], at(12))).toEqual([]);
  const active = { id: revisionId, number: 1 };
  expect(progressOf({ ...before, active }, { ...after, active }, [], at(99))).toEqual([]);
  const deleting = { ...after, deleting: true };
  expect(progressOf({ ...before, deleting: true }, deleting, [], at(99))).toEqual([]);
});

it.each([
  ['DEPLOYED', 'RolloutComplete', 'deployed'],
  ['DEPLOY_FAILED', 'CrashLoop', 'failed'],
  ['INTERRUPTED', 'Interrupted', 'interrupted'],
  ['SKIPPED', 'Superseded', 'skipped'],
] as const)(
  'measures a rollout for a revision that becomes %s with the reason %s as %s',
  (to, reason, result) => {
    const moves = [move(to, reason)];
    expect(progressOf(facts(), facts(), moves, at(30))).toEqual([
      { kind: 'rollout', result, reason, built: false, seconds: 30 },
    ]);
  },
);

it('measures nothing for intermediate steps', () => {
  expect(progressOf(facts(), facts(), [move('DEPLOYING', 'RolloutInProgress')], at(5))).toEqual([]);
});

it('measures a build at its final phase by the duration of its Job, and never a negative time', () => {
  const build = {
    phase: 'Succeeded',
    started_at: later(10).toISOString(),
    finished_at: later(70).toISOString(),
  } as const;
  const built = { image: 'i', commit: 'c' };
  const after = facts({ revisions: [{ id: revisionId, number: 1, status: 'QUEUED', build }] });
  expect(progressOf(facts(), after, [move('QUEUED', 'ImageBuilt', { built })], at(80))).toEqual([
    { kind: 'build', result: 'succeeded', reason: 'ImageBuilt', seconds: 60 },
  ]);
  const failed = [move('BUILD_FAILED', 'BuildFailed')];
  expect(progressOf(facts(), facts(), failed, at(80))).toEqual([
    { kind: 'build', result: 'failed', reason: 'BuildFailed', seconds: null },
  ]);
  const [rollout] = progressOf(facts(), after, [move('DEPLOYED', 'RolloutComplete')], at(-5));
  expect(rollout).toMatchObject({ built: true, seconds: 0 });
});
