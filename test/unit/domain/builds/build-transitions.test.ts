import { describe, expect, test } from 'vitest';
import type {
  BuildReport,
  DeploymentFacts,
  ObservedReport,
} from '../../../../src/domain/deployment/cluster-report.ts';
import { reportOutcome } from '../../../../src/domain/revision/report-outcome.ts';
import type { RevisionStatus } from '../../../../src/domain/revision/states.ts';

const NOW = new Date('2026-01-02T03:04:05Z');
const IMAGE = `registry.example/t/shop-1@sha256:${'a'.repeat(64)}`;
const COMMIT = 'c'.repeat(40);

/** Revisions 1, 2, 3 … in these states. */
function facts(statuses: readonly RevisionStatus[], over: Partial<DeploymentFacts> = {}): DeploymentFacts {
  const revisions = statuses.map((status, index) => ({ id: `r${index + 1}`, number: index + 1, status }));
  return {
    appName: 'shop-1',
    namespace: 'team',
    deleting: false,
    purgeInMs: null,
    generation: 7,
    acknowledgedGeneration: 7,
    attempts: 0,
    hasRunnableRevision: true,
    active: null,
    inPlaceFailure: null,
    wantedRevisionId: revisions.at(-1)?.id ?? null,
    observation: null,
    conditions: [],
    revisions,
    ...over,
  };
}

function report(
  build: Partial<BuildReport> & { number?: number },
  over: Partial<ObservedReport> = {},
): ObservedReport {
  const { number = 1, ...rest } = build;
  return {
    kind: 'observed',
    deploymentId: 'd',
    name: 'shop-1',
    namespace: 'team',
    specGeneration: 7,
    conditions: [],
    off: false,
    url: null,
    active: null,
    rollout: null,
    failed: null,
    inPlaceFailure: null,
    build: { revisionId: `r${number}`, phase: 'Running', ...rest },
    ...over,
  };
}

const succeeded = { phase: 'Succeeded', image: IMAGE, commit: COMMIT } as const;
const failed = {
  phase: 'Failed',
  step: 'image',
  reason: 'BuildFailed',
  message: 'exit 1: no such file',
} as const;
const ways = ({ moves }: ReturnType<typeof reportOutcome>) =>
  moves.map(({ number, from, to, reason }) => [number, from, to, reason]);

describe('the report of a build', () => {
  test('moves no revision and stores the phase when the build waits', () => {
    const outcome = reportOutcome(facts(['AWAITING_BUILD']), report({ phase: 'Waiting' }), NOW);
    expect(ways(outcome)).toEqual([]);
    expect(outcome.facts.revisions[0]?.build).toEqual({ phase: 'Waiting' });
  });

  test('moves the revision to BUILDING with the step when the build runs', () => {
    const outcome = reportOutcome(facts(['AWAITING_BUILD']), report({ step: 'source', startedAt: 't' }), NOW);
    expect(ways(outcome)).toEqual([[1, 'AWAITING_BUILD', 'BUILDING', 'Building']]);
    expect(outcome.facts.revisions[0]?.build).toEqual({ phase: 'Running', step: 'source', started_at: 't' });
    expect(outcome.facts.generation).toBe(7);
  });

  test('moves the revision to QUEUED with image and commit when the build succeeded, and makes work due at once', () => {
    const outcome = reportOutcome(facts(['BUILDING']), report(succeeded), NOW);
    expect(ways(outcome)).toEqual([[1, 'BUILDING', 'QUEUED', 'ImageBuilt']]);
    expect(outcome.moves[0]?.built).toEqual({ image: IMAGE, commit: COMMIT });
    expect(outcome.events[0]?.details).toEqual({
      from: 'BUILDING',
      to: 'QUEUED',
      image: IMAGE,
      commit: COMMIT,
    });
    expect([outcome.facts.generation, outcome.retryAfterMs]).toEqual([8, 0]);
  });

  test('moves the revision from AWAITING_BUILD when the start was not reported', () => {
    const outcome = reportOutcome(facts(['AWAITING_BUILD']), report(succeeded), NOW);
    expect(ways(outcome)).toEqual([[1, 'AWAITING_BUILD', 'QUEUED', 'ImageBuilt']]);
  });

  test.each(['QUEUED', 'DEPLOYING', 'DEPLOYED', 'DEPLOY_FAILED', 'BUILD_FAILED', 'SKIPPED'] as const)(
    'changes nothing when it arrives late or again for a revision that is %s',
    (status) => {
      for (const build of [succeeded, failed, { phase: 'Running' as const }]) {
        const before = facts([status], { wantedRevisionId: null });
        const outcome = reportOutcome(before, report(build), NOW);
        expect(ways(outcome)).toEqual([]);
        expect([outcome.facts.generation, outcome.retryAfterMs]).toEqual([7, null]);
      }
    },
  );

  test('increments the generation only once when it is repeated', () => {
    const once = reportOutcome(facts(['BUILDING']), report(succeeded), NOW).facts;
    const twice = reportOutcome(once, report(succeeded), NOW);
    expect(twice.moves.filter(({ built }) => built !== undefined)).toEqual([]);
    expect(twice.facts.generation).toBe(8);
  });

  test('is not a success without image or commit', () => {
    expect(ways(reportOutcome(facts(['BUILDING']), report({ phase: 'Succeeded' }), NOW))).toEqual([]);
  });
});

describe('a build that fails', () => {
  test('moves the first revision to BUILD_FAILED with step and last lines, and leaves nothing to run', () => {
    const outcome = reportOutcome(facts(['BUILDING']), report(failed), NOW);
    expect(ways(outcome)).toEqual([[1, 'BUILDING', 'BUILD_FAILED', 'BuildFailed']]);
    expect(outcome.moves[0]).toMatchObject({
      message: 'exit 1: no such file',
      failureSource: { container: 'image' },
    });
    expect(outcome.facts.hasRunnableRevision).toBe(false);
    expect(outcome.events.at(-1)).toMatchObject({
      reason: 'BuildFailed',
      message: expect.stringContaining('UNUSED'),
    });
    expect([outcome.facts.generation, outcome.retryAfterMs]).toEqual([8, 0]);
  });

  test('keeps an earlier revision that was deployed runnable', () => {
    const active = { id: 'r1', number: 1 };
    const outcome = reportOutcome(
      facts(['DEPLOYED', 'BUILDING'], { active, wantedRevisionId: 'r1' }),
      report({ ...failed, number: 2 }),
      NOW,
    );
    expect(outcome.facts.hasRunnableRevision).toBe(true);
  });

  test('keeps an earlier revision that failed to deploy runnable', () => {
    const before = facts(['BUILDING'], { hasSettledRevision: true });
    expect(reportOutcome(before, report(failed), NOW).facts.hasRunnableRevision).toBe(true);
  });

  test('uses BuildFailed for an unknown reason', () => {
    const outcome = reportOutcome(facts(['BUILDING']), report({ phase: 'Failed', reason: 'Whatever' }), NOW);
    expect(outcome.moves[0]?.reason).toBe('BuildFailed');
  });
});

describe('a build among several revisions', () => {
  test('does not end the rollout of an earlier revision', () => {
    const rollout = { id: 'r1', number: 1 };
    const before = facts(['DEPLOYING', 'AWAITING_BUILD'], { wantedRevisionId: 'r1' });
    expect(ways(reportOutcome(before, report({ number: 2 }, { rollout }), NOW))).toEqual([
      [2, 'AWAITING_BUILD', 'BUILDING', 'Building'],
    ]);
  });

  test('ends older builds, and their progress is no longer stored', () => {
    const before = facts(['BUILDING', 'AWAITING_BUILD'], { wantedRevisionId: null });
    const outcome = reportOutcome(before, report({ number: 2 }), NOW);
    expect(ways(outcome)).toEqual([
      [2, 'AWAITING_BUILD', 'BUILDING', 'Building'],
      [1, 'BUILDING', 'SKIPPED', 'Superseded'],
    ]);
    expect(outcome.facts.revisions[0]?.build).toBeUndefined();
  });

  test('ends when a newer revision needs no build', () => {
    const before = facts(['BUILDING', 'QUEUED']);
    const outcome = reportOutcome(before, report({}, { build: null }), NOW);
    expect(ways(outcome)).toContainEqual([1, 'BUILDING', 'SKIPPED', 'Superseded']);
  });
});

test('a build changes nothing during the grace period of a deletion, and starts again after a restore', () => {
  const before = facts(['BUILDING'], { deleting: true, purgeInMs: 1000 });
  expect(ways(reportOutcome(before, report(succeeded), NOW))).toEqual([]);
});

test('a permanently rejected work item fails the requested build', () => {
  const report = {
    kind: 'refused',
    deploymentId: 'd',
    generation: 7,
    reason: 'NamespaceNotAllowed',
  } as const;
  const outcome = reportOutcome(
    facts(['AWAITING_BUILD']),
    { ...report, message: 'm', retryable: false },
    NOW,
  );
  expect(ways(outcome)).toEqual([[1, 'AWAITING_BUILD', 'BUILD_FAILED', 'NamespaceNotAllowed']]);
  expect(outcome.facts.hasRunnableRevision).toBe(false);
});
