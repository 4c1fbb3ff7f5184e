import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BUILD_PHASES } from '../../../../src/domain/builds/build.ts';
import { type Condition, REASONS } from '../../../../src/domain/conditions/conditions.ts';
import type { ClusterReport, DeploymentFacts } from '../../../../src/domain/deployment/cluster-report.ts';
import { reportOutcome } from '../../../../src/domain/revision/report-outcome.ts';
import {
  DEPLOYMENT_STATUS_RULES,
  DEPLOYMENT_STATUSES,
  deploymentStatus,
  followersOf,
  isTerminalStatus,
  REVISION_STATUSES,
  REVISION_TRANSITIONS,
  type RevisionStatus,
} from '../../../../src/domain/revision/states.ts';

const NOW = new Date('2026-01-02T03:04:05Z');
const REF = [
  { id: 'r1', number: 1 },
  { id: 'r2', number: 2 },
];

const condition = (type: string, isTrue: boolean): Condition => ({
  type,
  status: isTrue ? 'True' : 'False',
  reason: isTrue ? 'DatabaseAvailable' : 'DatabaseStarting',
  message: 'm',
  lastTransitionTime: NOW.toISOString(),
});

const facts = fc.record({
  deleting: fc.boolean(),
  hasRunnableRevision: fc.boolean(),
  listenerLost: fc.boolean(),
  statuses: fc.tuple(fc.constantFrom(...REVISION_STATUSES), fc.constantFrom(...REVISION_STATUSES)),
  started: fc.boolean(),
  active: fc.constantFrom(null, ...REF),
  wantedRevisionId: fc.constantFrom(null, 'r1', 'r2'),
});

const ref = fc.constantFrom(null, ...REF);
const observed = fc.record({
  kind: fc.constant('observed' as const),
  specGeneration: fc.constantFrom(6, 7),
  dataReady: fc.boolean(),
  off: fc.boolean(),
  active: ref,
  rollout: ref,
  failed: fc.option(
    fc.record({
      number: fc.constantFrom(1, 2),
      reason: fc.constantFrom('CrashLoop', 'RolloutFailed', 'nonsense'),
    }),
    { nil: null },
  ),
  build: fc.option(
    fc.record({
      number: fc.constantFrom(1, 2),
      phase: fc.constantFrom(...BUILD_PHASES),
      reason: fc.constantFrom(undefined, 'RefNotFound', 'nonsense'),
      image: fc.constantFrom(undefined, 'registry.example/a@sha256:0'),
    }),
    { nil: null },
  ),
});
const refused = fc.record({
  kind: fc.constant('refused' as const),
  retryable: fc.boolean(),
  reason: fc.constantFrom('ApplyRefused', 'NamespaceNotAllowed'),
});

type Given = ReturnType<typeof before>;

function before({
  statuses,
  started,
  ...more
}: typeof facts extends fc.Arbitrary<infer T> ? T : never): DeploymentFacts {
  return {
    ...more,
    appName: 'a',
    namespace: 'n',
    purgeInMs: null,
    generation: 7,
    acknowledgedGeneration: 6,
    attempts: 1,
    observation: null,
    conditions: [],
    inPlaceFailure: null,
    // What is stored is never UNKNOWN.
    revisions: REF.map((known, index) => ({ ...known, status: statuses[index] as RevisionStatus, started })),
  };
}

function reportOf(
  made:
    | (typeof observed extends fc.Arbitrary<infer T> ? T : never)
    | (typeof refused extends fc.Arbitrary<infer T> ? T : never),
): ClusterReport {
  const message = 'm';
  if (made.kind === 'refused') return { ...made, deploymentId: 'd', generation: 7, message };
  const { dataReady, failed, build, ...rest } = made;
  return {
    ...rest,
    deploymentId: 'd',
    name: 'a',
    namespace: 'n',
    url: null,
    conditions: ['DatabaseReady', 'CacheReady'].map((type) => condition(type, dataReady)),
    failed: failed === null ? null : { ...failed, id: `r${failed.number}`, message },
    inPlaceFailure: null,
    build: build === null ? null : { ...build, revisionId: `r${build.number}`, commit: 'c', message },
  };
}

describe('the table of revision states', () => {
  test('contains exactly the transitions that reports cause, each with a reason of the table', () => {
    const happened = new Set<string>();
    fc.assert(
      fc.property(facts, fc.oneof({ weight: 4, arbitrary: observed }, refused), (given, report) => {
        if (given.statuses.includes('UNKNOWN')) return;
        const outcome = reportOutcome(before(given) as Given, reportOf(report), NOW);
        for (const { from, to, reason } of outcome.moves) {
          happened.add(`${from} → ${to}`);
          const known = REVISION_TRANSITIONS.find((way) => way.from === from && way.to === to);
          expect(known?.by).toContainEqual(expect.stringMatching(/^(report|build)$/));
          expect(known?.reasons).toContain(reason);
        }
        const told = outcome.events.filter(({ revisionId }) => revisionId !== null);
        expect(
          told.map(({ revisionId, reason, details }) => [revisionId, reason, details['from'], details['to']]),
        ).toEqual(
          outcome.moves.map(({ id, reason, from, to }) => {
            // In the history, a revision in progress is UNKNOWN until the listener returns.
            const onItsWay = ['BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING'].includes(from);
            return [id, reason, given.listenerLost === true && onItsWay ? 'UNKNOWN' : from, to];
          }),
        );
      }),
      { numRuns: 20_000, seed: 1 },
    );
    // No build starts in CREATING: no revision is created with this status.
    const table = REVISION_TRANSITIONS.filter(
      ({ from, by }) => by.includes('report') || (by.includes('build') && from !== 'CREATING'),
    ).map(({ from, to }) => `${from} → ${to}`);
    expect([...happened].sort()).toEqual(table.sort());
  });

  test('names each transition once, with reasons of the closed list, and ends only in terminal statuses', () => {
    const names = REVISION_TRANSITIONS.map(({ from, to }) => `${from} → ${to}`);
    expect(new Set(names).size).toBe(names.length);
    for (const { reasons } of REVISION_TRANSITIONS)
      for (const reason of reasons) expect(REASONS).toHaveProperty(reason);
    expect(REVISION_STATUSES.filter(isTerminalStatus)).toEqual([
      'CREATE_FAILED',
      'BUILD_FAILED',
      'DEPLOYED',
      'DEPLOY_FAILED',
      'SKIPPED',
      'INTERRUPTED',
    ]);
  });

  test('reaches every status from CREATING, and DEPLOYED from every status that is not terminal', () => {
    const reach = (start: RevisionStatus) => {
      const seen = new Set([start]);
      for (const at of seen) for (const next of followersOf(at)) seen.add(next);
      return seen;
    };
    expect([...reach('CREATING')].sort()).toEqual([...REVISION_STATUSES].sort());
    for (const status of REVISION_STATUSES.filter((known) => !isTerminalStatus(known)))
      expect(reach(status)).toContain('DEPLOYED');
  });
});

describe('the table of deployment statuses', () => {
  test('is in the order of precedence, and every status can occur', () => {
    expect(DEPLOYMENT_STATUS_RULES.map(({ status }) => status)).toEqual([...DEPLOYMENT_STATUSES]);
    const combinations = Array.from({ length: 64 }, (_, bits) => ({
      deleting: (bits & 1) > 0,
      hasRunnableRevision: (bits & 2) > 0,
      watched: (bits & 4) > 0,
      observed: (bits & 8) > 0,
      observedOff: (bits & 16) > 0,
      dataReady: (bits & 32) > 0,
    }));
    expect(new Set(combinations.map(deploymentStatus))).toEqual(new Set(DEPLOYMENT_STATUSES));
  });

  test('names the reason of each change that a report causes', () => {
    fc.assert(
      fc.property(facts, observed, (given, report) => {
        const { events } = reportOutcome(before(given), reportOf(report), NOW);
        for (const { revisionId, reason, details } of events.filter(
          ({ revisionId }) => revisionId === null,
        )) {
          expect(revisionId).toBeNull();
          const rule = DEPLOYMENT_STATUS_RULES.find(({ status }) => status === details['to']);
          expect(rule?.reasons).toContain(reason);
        }
      }),
    );
  });
});

test('the tables allow ImageNotFound for every transition to DEPLOY_FAILED', () => {
  const failing = REVISION_TRANSITIONS.filter(({ to }) => to === 'DEPLOY_FAILED');
  expect(failing.map(({ reasons }) => reasons.includes('ImageNotFound'))).toEqual(failing.map(() => true));
});
