import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Condition } from '../../../../src/domain/conditions/conditions.ts';
import type {
  ClusterReport,
  DeploymentFacts,
  ObservedReport,
  RevisionFacts,
} from '../../../../src/domain/deployment/cluster-report.ts';
import { reportOutcome } from '../../../../src/domain/revision/report-outcome.ts';
import {
  isTerminalStatus,
  REVISION_STATUSES,
  type RevisionStatus,
} from '../../../../src/domain/revision/states.ts';

const NOW = new Date('2026-01-02T03:04:05Z');
const DEPLOYMENT = 'd';

function condition(type: string, status: Condition['status'] = 'True'): Condition {
  return { type, status, reason: 'Available', message: 'm', lastTransitionTime: NOW.toISOString() };
}
const DATA_READY = [condition('DatabaseReady'), condition('CacheReady')];

/** Revisions 1, 2, 3 … in these states; the last one is wanted. */
function facts(statuses: readonly RevisionStatus[], over: Partial<DeploymentFacts> = {}): DeploymentFacts {
  const revisions: RevisionFacts[] = statuses.map((status, index) => ({
    id: `r${index + 1}`,
    number: index + 1,
    status,
  }));
  return {
    appName: 'shop-1',
    namespace: 'team',
    deleting: false,
    purgeInMs: null,
    generation: 7,
    acknowledgedGeneration: 6,
    attempts: 1,
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

const ref = (number: number) => ({ id: `r${number}`, number });

function observed(over: Partial<ObservedReport> = {}): ObservedReport {
  return {
    kind: 'observed',
    deploymentId: DEPLOYMENT,
    name: 'shop-1',
    namespace: 'team',
    specGeneration: 7,
    conditions: DATA_READY,
    off: false,
    url: null,
    active: null,
    rollout: null,
    failed: null,
    inPlaceFailure: null,
    ...over,
  };
}

const statesAfter = (before: DeploymentFacts, report: ClusterReport) =>
  reportOutcome(before, report, NOW).facts.revisions.map(({ status }) => status);

describe('an observed report', () => {
  const failed = { ...ref(2), reason: 'CrashLoop', message: 'api: exit 1' };
  const TABLE: [string, RevisionStatus[], Partial<ObservedReport>, RevisionStatus[]][] = [
    ['a revision waits for data services', ['QUEUED'], {}, ['AWAITING_DEPLOY']],
    ['a revision that waits stays', ['AWAITING_DEPLOY'], {}, ['AWAITING_DEPLOY']],
    ['a rollout begins', ['AWAITING_DEPLOY'], { rollout: ref(1) }, ['DEPLOYING']],
    ['a rollout begins before the hand-out is recorded', ['QUEUED'], { rollout: ref(1) }, ['DEPLOYING']],
    ['a rollout ends', ['DEPLOYING'], { active: ref(1) }, ['DEPLOYED']],
    ['a rollout ends before its begin was observed', ['QUEUED'], { active: ref(1) }, ['DEPLOYED']],
    [
      'a rollout fails and the former revision serves',
      ['DEPLOYED', 'DEPLOYING'],
      { active: ref(1), failed },
      ['DEPLOYED', 'DEPLOY_FAILED'],
    ],
    [
      'a newer rollout interrupts an older one',
      ['DEPLOYING', 'QUEUED'],
      { rollout: ref(2) },
      ['INTERRUPTED', 'DEPLOYING'],
    ],
    [
      'a newer rollout skips a revision that never started',
      ['AWAITING_DEPLOY', 'QUEUED'],
      { rollout: ref(2) },
      ['SKIPPED', 'DEPLOYING'],
    ],
    [
      'a newer revision that waits interrupts an older rollout',
      ['DEPLOYING', 'AWAITING_DEPLOY'],
      {},
      ['INTERRUPTED', 'AWAITING_DEPLOY'],
    ],
    [
      'a report of an older generation ends no older revision',
      ['DEPLOYING', 'QUEUED'],
      { specGeneration: 6, rollout: ref(1) },
      ['DEPLOYING', 'QUEUED'],
    ],
    [
      'a rollout ends and the next one has begun',
      ['DEPLOYING', 'QUEUED'],
      { active: ref(1), rollout: ref(2) },
      ['DEPLOYED', 'DEPLOYING'],
    ],
    [
      'an in-place change leaves the active revision DEPLOYED',
      ['DEPLOYED'],
      { active: ref(1), rollout: ref(1) },
      ['DEPLOYED'],
    ],
    ['a switch-off queues a revision that has not started', ['AWAITING_DEPLOY'], { off: true }, ['QUEUED']],
    ['a switch-off queues a revision that rolls out', ['DEPLOYING'], { off: true }, ['QUEUED']],
    ['a failed revision is not revived', ['DEPLOY_FAILED'], { rollout: ref(1) }, ['DEPLOY_FAILED']],
    [
      'an unknown active revision is ignored',
      ['QUEUED'],
      { active: { id: 'x', number: 9 } },
      ['AWAITING_DEPLOY'],
    ],
    [
      'a running build is not changed by the cluster',
      ['DEPLOYED', 'AWAITING_BUILD'],
      { active: ref(1) },
      ['DEPLOYED', 'AWAITING_BUILD'],
    ],
  ];
  it.each(TABLE)('moves revisions by the rule: %s', (_name, before, report, after) => {
    expect(statesAfter(facts(before), observed(report))).toEqual(after);
  });

  it('writes an event with its reason for each transition', () => {
    const { events, moves } = reportOutcome(
      facts(['DEPLOYED', 'DEPLOYING']),
      observed({ active: ref(1), failed }),
      NOW,
    );
    expect(moves).toMatchObject([{ id: 'r2', from: 'DEPLOYING', to: 'DEPLOY_FAILED', reason: 'CrashLoop' }]);
    expect(events[0]).toEqual({
      revisionId: 'r2',
      reason: 'CrashLoop',
      message: 'Revision 2 is DEPLOY_FAILED: api: exit 1',
      details: { from: 'DEPLOYING', to: 'DEPLOY_FAILED' },
    });
  });

  it('uses RolloutFailed for a reason that is not in the list', () => {
    const report = observed({ failed: { ...failed, reason: 'constructor' } });
    expect(reportOutcome(facts(['DEPLOYED', 'DEPLOYING']), report, NOW).moves[0]?.reason).toBe(
      'RolloutFailed',
    );
  });
});

describe('an observed in-place change that failed', () => {
  const failureSource = { component: 'api', kind: 'Pod', object: 'web-1', container: 'log' };
  const failure = { reason: 'CrashLoop', message: 'api: pod web-1: exit 7', failureSource };
  const before = () => facts(['DEPLOYED'], { active: ref(1) });

  it('is stored, causes one event, and moves no revision', () => {
    const report = observed({ active: ref(1), inPlaceFailure: failure });
    const first = reportOutcome(before(), report, NOW);
    expect(first.facts.inPlaceFailure).toEqual(failure);
    expect(first.moves).toEqual([]);
    expect(first.events).toContainEqual({
      revisionId: 'r1',
      reason: 'CrashLoop',
      message: 'A change of revision 1 failed: api: pod web-1: exit 7',
      details: { failure_source: failureSource },
    });
    // As PostgreSQL gives it back: with its keys in another order.
    const { reason, ...rest } = failure;
    const again = { ...first.facts, inPlaceFailure: { ...rest, reason } };
    expect(reportOutcome(again, report, NOW).events).toEqual([]);
  });

  it('is removed when the next change starts or another revision is active', () => {
    const failing = facts(['DEPLOYED', 'DEPLOYING'], { active: ref(1), inPlaceFailure: failure });
    for (const report of [
      observed({ active: ref(1), rollout: ref(1) }),
      observed({ active: ref(2) }),
      observed({ active: { id: 'nobody’s', number: 1 }, inPlaceFailure: failure }),
    ]) {
      expect(reportOutcome(failing, report, NOW).facts.inPlaceFailure).toBeNull();
    }
  });
});

describe('an observed revision of a deployment that was switched off', () => {
  const through = (...reports: Partial<ObservedReport>[]) =>
    reports.reduce(
      (before, report) => reportOutcome(before, observed(report), NOW).facts,
      facts(['AWAITING_DEPLOY']),
    );
  const next = (before: DeploymentFacts): DeploymentFacts => ({
    ...before,
    wantedRevisionId: 'r2',
    revisions: [...before.revisions, { id: 'r2', number: 2, status: 'QUEUED' }],
  });

  it.each<[string, Partial<ObservedReport>[], RevisionStatus]>([
    [
      'is interrupted by a newer one when its rollout had begun',
      [{ rollout: ref(1) }, { off: true }],
      'INTERRUPTED',
    ],
    [
      'is interrupted by a newer one when it waits for its database again',
      [{ rollout: ref(1) }, { off: true }, { conditions: [] }],
      'INTERRUPTED',
    ],
    ['is skipped for a newer one when its rollout never began', [{ off: true }], 'SKIPPED'],
  ])('%s', (_name, reports, status) => {
    const { facts: after } = reportOutcome(next(through(...reports)), observed({ rollout: ref(2) }), NOW);
    expect(after.revisions.map((revision) => revision.status)).toEqual([status, 'DEPLOYING']);
  });

  it('is queued although a rejected volume keeps its generation from being in effect', () => {
    const rolling = facts(['DEPLOYING']);
    const off = observed({ off: true, specGeneration: 6 });
    expect(statesAfter(rolling, off)).toEqual(['QUEUED']);
    // The desired state may be on again: the cluster was observed off before.
    expect(statesAfter(facts(['AWAITING_DEPLOY']), off)).toEqual(['AWAITING_DEPLOY']);
    const wantedOff = (status: RevisionStatus) => facts([status], { switchedOff: true });
    expect(statesAfter(wantedOff('AWAITING_DEPLOY'), off)).toEqual(['QUEUED']);
    expect(statesAfter(wantedOff('BUILDING'), off)).toEqual(['BUILDING']);
    expect(statesAfter(wantedOff('AWAITING_DEPLOY'), { ...off, off: false })).toEqual(['AWAITING_DEPLOY']);
  });
});

describe('an observed report with problems', () => {
  const failing = (type: string, reason: string): Condition => ({
    ...condition(type, 'False'),
    reason,
    message: 'exceeded quota',
  });
  const rows = (before: DeploymentFacts, report: Partial<ObservedReport>) =>
    reportOutcome(before, observed(report), NOW)
      .events.filter(({ details }) => details['from'] === undefined)
      .map(({ reason, message }) => `${reason}: ${message}`);

  it.each([
    'QuotaExceeded',
    'Unschedulable',
    'ImagePullFailed',
    'MountFailed',
    'CredentialsLost',
    'VolumeNotExpandable',
  ])('writes one event for %s, whichever conditions state it', (reason) => {
    const conditions = [failing('DatabaseReady', reason), failing('Ready', reason)];
    const report = { conditions, rollout: ref(2), active: ref(1) };
    const before = facts(['DEPLOYED', 'DEPLOYING'], { active: ref(1) });
    expect(rows(before, report)).toEqual([`${reason}: Ready is False: exceeded quota`]);
    expect(rows(reportOutcome(before, observed(report), NOW).facts, report)).toEqual([]);
  });

  it('writes no event for progress, or for what the end of a rollout or change already states', () => {
    const before = facts(['DEPLOYED', 'DEPLOYING'], { active: ref(1) });
    expect(rows(before, { conditions: [failing('Ready', 'RolloutInProgress')], rollout: ref(2) })).toEqual(
      [],
    );
    const failed = { ...ref(2), reason: 'QuotaExceeded', message: 'm' };
    expect(rows(before, { conditions: [failing('Ready', 'QuotaExceeded')], active: ref(1), failed })).toEqual(
      [],
    );
    const inPlaceFailure = { reason: 'Unschedulable', message: 'm' };
    const inPlace = { conditions: [failing('Ready', 'Unschedulable')], active: ref(1), inPlaceFailure };
    expect(rows(facts(['DEPLOYED'], { active: ref(1) }), inPlace)).toEqual([
      'Unschedulable: A change of revision 1 failed: m',
    ]);
  });

  it('stores the size that the volume has reached', () => {
    const kept = (volumeGi: number | null) =>
      reportOutcome(facts(['DEPLOYED'], { volumeGi: 10 }), observed({ volumeGi }), NOW).facts.volumeGi;
    expect([kept(20), kept(null)]).toEqual([20, null]);
  });
});

describe('an observed report with symptoms of running pods', () => {
  const since = '2026-01-02T03:00:00Z';
  const symptom = (component: string, reason: string, more: object = {}) => ({
    component,
    reason,
    message: `${component}: pod x: ${reason}`,
    failureSource: { component, object: 'x' },
    since,
    ...more,
  });
  const ready = (reason: string): Condition => ({ ...condition('Ready', 'False'), reason });
  const progressing = (status: Condition['status']) => condition('Progressing', status);
  const serving = facts(['DEPLOYED'], { active: ref(1) });
  const rows = (before: DeploymentFacts, report: Partial<ObservedReport>) => {
    const { facts: after, events } = reportOutcome(before, observed({ active: ref(1), ...report }), NOW);
    const reported = events.filter(({ details }) => !('from' in details));
    return { after, reported: reported.map(({ reason, message }) => `${reason}: ${message}`) };
  };

  it.each([
    'QuotaExceeded',
    'AdmissionRefused',
    'ImagePullFailed',
    'CrashLoop',
    'ContainerConfigInvalid',
    'MountFailed',
    'Unschedulable',
    'NodeLost',
  ])('writes one event for %s with its source, and one when it is over', (reason) => {
    const conditions = [...DATA_READY, ready(reason), progressing('False')];
    const first = rows(serving, { conditions, symptoms: [symptom('api', reason)] });
    expect(first.reported).toEqual([`${reason}: Running pods are in trouble: api: pod x: ${reason}`]);
    const { events } = reportOutcome(
      serving,
      observed({ active: ref(1), symptoms: [symptom('api', reason)] }),
      NOW,
    );
    expect(events.find((row) => row.reason === reason)?.details).toEqual({
      component: 'api',
      failure_source: { component: 'api', object: 'x' },
    });
    // Another pod, a restart and a pause between two restarts are the same.
    const again = symptom('api', reason, { message: 'api: pod y', quiet: true });
    const second = rows(first.after, { conditions, symptoms: [again] });
    expect(second.reported).toEqual([]);
    const over = rows(second.after, { conditions: [...DATA_READY, progressing('False')] });
    expect(over.reported).toEqual([`Recovered: Running pods have recovered: api: ${reason} is over.`]);
    expect(over.after.symptoms).toEqual([]);
    expect(rows(over.after, {}).reported).toEqual([]);
    expect(first.after.active).toEqual(ref(1));
    expect(first.after.revisions).toEqual(serving.revisions);
  });

  it('writes one event for each component and cause', () => {
    const symptoms = [
      symptom('api', 'CrashLoop'),
      symptom('api', 'ImagePullFailed'),
      symptom('queue', 'CrashLoop'),
    ];
    const { after, reported } = rows(serving, { symptoms });
    expect(reported).toHaveLength(3);
    expect(rows(after, { symptoms: symptoms.slice(0, 2) }).reported).toEqual([
      'Recovered: Running pods have recovered: queue: CrashLoop is over.',
    ]);
  });

  it.each([
    ['a rollout', {}, { rollout: ref(2) }],
    ['an observed switch-off', {}, { off: true }],
    ['a requested switch-off', { switchedOff: true }, {}],
    ['a deletion', { deleting: true }, {}],
    ['a time without observation', {}, { conditions: [...DATA_READY, progressing('Unknown')] }],
  ] as const)('states no recovery for %s', (_, more, report) => {
    const before = facts(['DEPLOYED', 'DEPLOYING'], {
      active: ref(1),
      symptoms: [symptom('api', 'CrashLoop')],
      ...more,
    });
    const { after, reported } = rows(before, report);
    expect(reported.filter((row) => row.startsWith('Recovered'))).toEqual([]);
    expect(after.symptoms).toEqual([]);
  });

  it('writes no event for a known failure in Ready when a symptom is over', () => {
    const failed = { ...ref(2), reason: 'ImagePullFailed', message: 'm' };
    const before = facts(['DEPLOYED', 'DEPLOY_FAILED'], {
      active: ref(1),
      symptoms: [symptom('api', 'QuotaExceeded')],
      conditions: [ready('QuotaExceeded')],
    });
    expect(rows(before, { conditions: [ready('ImagePullFailed')], failed }).reported).toEqual([
      'Recovered: Running pods have recovered: api: QuotaExceeded is over.',
    ]);
  });
});

describe('an observed deployment', () => {
  it('is ready when database and cache are ready, and causes one event', () => {
    const first = reportOutcome(facts(['QUEUED']), observed(), NOW);
    expect(first.facts.observation).toMatchObject({
      dataReady: true,
      off: false,
      generation: 7,
      observedAt: NOW,
    });
    expect(first.events.map(({ details }) => details)).toContainEqual({
      from: 'AWAITING_DATABASE',
      to: 'READY',
    });
    const second = reportOutcome(first.facts, observed(), NOW);
    expect(second).toMatchObject({ events: [], moves: [] });
  });

  it.each([
    ['only the database is ready', [condition('DatabaseReady')]],
    ['the cache is not ready', [condition('DatabaseReady'), condition('CacheReady', 'False')]],
    ['nothing was reported', []],
  ])('is not ready when %s', (_name, conditions) => {
    const { facts: after } = reportOutcome(facts(['QUEUED']), observed({ conditions }), NOW);
    expect(after.observation?.dataReady).toBe(false);
  });

  it('is UNUSED when it was observed switched off', () => {
    const { events } = reportOutcome(facts(['DEPLOYED']), observed({ off: true }), NOW);
    expect(events).toMatchObject([{ reason: 'SwitchedOff', details: { to: 'UNUSED' } }]);
  });

  it('has the active revision that was observed, and never an older one or none', () => {
    const active = (report: Partial<ObservedReport>) =>
      reportOutcome(facts(['DEPLOYED', 'DEPLOYED', 'DEPLOYING'], { active: ref(2) }), observed(report), NOW)
        .facts.active;
    expect(active({ active: ref(3) })).toEqual(ref(3));
    expect(active({ active: ref(1) })).toEqual(ref(2));
    expect(active({ active: null })).toEqual(ref(2));
    expect(active({ active: { id: 'foreign', number: 99 } })).toEqual(ref(2));
  });

  it.each<[string, Partial<ObservedReport>]>([
    ['of an older generation than seen before', { specGeneration: 4 }],
    ['of a generation that does not exist', { specGeneration: 8 }],
    ['of another namespace', { namespace: 'attacker' }],
    ['of another name', { name: 'shop-2' }],
  ])('ignores a report %s', (_name, report) => {
    const seen = reportOutcome(facts(['AWAITING_DEPLOY']), observed({ specGeneration: 5 }), NOW).facts;
    const outcome = reportOutcome(seen, observed({ ...report, active: ref(1) }), NOW);
    expect(outcome.ignored).not.toBeNull();
    expect(outcome.facts).toEqual(seen);
  });
});

describe('the report that an item was applied', () => {
  const applied = (generation: number) =>
    ({ kind: 'applied', deploymentId: DEPLOYMENT, generation, goneEnvironments: [] }) as const;
  it('acknowledges its generation, and no later one', () => {
    expect(reportOutcome(facts([]), applied(7), NOW).facts).toMatchObject({
      acknowledgedGeneration: 7,
      attempts: 0,
    });
    expect(reportOutcome(facts([], { acknowledgedGeneration: 3 }), applied(5), NOW).facts).toMatchObject({
      acknowledgedGeneration: 5,
      attempts: 1,
    });
    expect(reportOutcome(facts([]), applied(99), NOW).facts.acknowledgedGeneration).toBe(7);
    expect(reportOutcome(facts([]), applied(1), NOW).facts.acknowledgedGeneration).toBe(6);
  });
  it('acknowledges only earlier generations when its item version is outdated', () => {
    const version = (workVersion: number | undefined) => ({ ...applied(7), workVersion });
    const acknowledged = (known: number | undefined, reported: number | undefined) =>
      reportOutcome(facts([], { acknowledgedGeneration: 3, workVersion: known }), version(reported), NOW)
        .facts.acknowledgedGeneration;
    expect([acknowledged(2, 2), acknowledged(2, undefined), acknowledged(undefined, 2)]).toEqual([7, 7, 7]);
    expect([acknowledged(2, 1), acknowledged(1, 2)]).toEqual([6, 6]);
    const grace = facts([], { deleting: true, purgeInMs: 90_000, workVersion: 2 });
    expect(reportOutcome(grace, version(1), NOW)).toMatchObject({ facts: grace, retryAfterMs: null });
    expect(reportOutcome(grace, version(2), NOW)).toMatchObject({ retryAfterMs: 90_000 });
  });
  it('acknowledges nothing during the grace period of a deletion, after which the item is due again', () => {
    const grace = facts([], { deleting: true, purgeInMs: 90_000, attempts: 3 });
    expect(reportOutcome(grace, applied(7), NOW)).toMatchObject({
      facts: { acknowledgedGeneration: 6, attempts: 0 },
      retryAfterMs: 90_000,
      ignored: null,
    });
    expect(reportOutcome(grace, applied(6), NOW)).toMatchObject({ facts: grace, retryAfterMs: null });
  });
  it('does not acknowledge a deletion', () => {
    expect(reportOutcome(facts([], { deleting: true }), applied(7), NOW).facts.acknowledgedGeneration).toBe(
      6,
    );
  });
});

describe('the report that an item was rejected', () => {
  const refused = (over: object = {}) =>
    ({
      kind: 'refused',
      deploymentId: DEPLOYMENT,
      generation: 7,
      reason: 'Refused',
      message: 'spec.x: no',
      retryable: true,
      ...over,
    }) as const;

  it('leads to retries with backoff, at most a minute apart', () => {
    const delays = [1, 2, 3, 7, 50].map(
      (attempts) => reportOutcome(facts(['AWAITING_DEPLOY'], { attempts }), refused(), NOW).retryAfterMs,
    );
    expect(delays).toEqual([1000, 2000, 4000, 60_000, 60_000]);
  });
  it('makes an item due again that was applied before', () => {
    const done = facts([], { acknowledgedGeneration: 7, attempts: 0 });
    expect(reportOutcome(done, refused(), NOW).facts.acknowledgedGeneration).toBe(6);
  });
  it('leads to a retry no later than the end of the grace period of a deletion', () => {
    const grace = facts(['AWAITING_DEPLOY'], { deleting: true, purgeInMs: 700 });
    for (const retryable of [true, false]) {
      expect(reportOutcome(grace, refused({ retryable }), NOW)).toMatchObject({
        retryAfterMs: 700,
        moves: [],
      });
    }
  });
  it('causes one event per generation and is shown in the conditions', () => {
    const first = reportOutcome(facts(['AWAITING_DEPLOY']), refused(), NOW);
    expect(first.events).toHaveLength(1);
    expect(first.facts.conditions).toMatchObject([
      { type: 'Ready', status: 'False', reason: 'Refused', message: 'spec.x: no' },
    ]);
    expect(statesAfter(facts(['AWAITING_DEPLOY']), refused())).toEqual(['AWAITING_DEPLOY']);
    expect(reportOutcome({ ...first.facts, attempts: 2 }, refused(), NOW).events).toEqual([]);
  });
  it('fails the desired revision with the reason when it is permanent', () => {
    const { moves, retryAfterMs } = reportOutcome(
      facts(['DEPLOYED', 'AWAITING_DEPLOY']),
      refused({ retryable: false }),
      NOW,
    );
    expect(moves).toMatchObject([
      { id: 'r2', to: 'DEPLOY_FAILED', reason: 'Refused', message: 'spec.x: no' },
    ]);
    expect(retryAfterMs).toBe(600_000);
  });
  it('does not fail the running revision when it is permanent for an in-place change', () => {
    expect(statesAfter(facts(['DEPLOYED']), refused({ retryable: false }))).toEqual(['DEPLOYED']);
  });
  it('makes a new work item due, without the ended build', () => {
    const outcome = reportOutcome(facts(['BUILDING']), refused({ retryable: false }), NOW);
    expect(outcome).toMatchObject({ retryAfterMs: 0, facts: { generation: 8, attempts: 0 } });
    const settled = reportOutcome(facts(['AWAITING_DEPLOY']), refused({ retryable: false }), NOW);
    expect(settled).toMatchObject({ facts: { generation: 7 } });
    expect(settled.retryAfterMs).toBeGreaterThan(0);
  });
  it('ends the older builds with the newest one', () => {
    expect(statesAfter(facts(['BUILDING', 'AWAITING_BUILD']), refused({ retryable: false }))).toEqual([
      'SKIPPED',
      'BUILD_FAILED',
    ]);
  });
  it('is ignored when it is of an older generation', () => {
    const outcome = reportOutcome(
      facts(['AWAITING_DEPLOY']),
      refused({ generation: 6, retryable: false }),
      NOW,
    );
    expect(outcome).toMatchObject({ moves: [], events: [], retryAfterMs: null });
  });
});

describe('the report that a deployment was purged', () => {
  const purged = { kind: 'purged', deploymentId: DEPLOYMENT } as const;
  it('removes the record of a deployment that is being deleted', () => {
    expect(reportOutcome(facts([], { deleting: true }), purged, NOW).remove).toBe(true);
  });
  it('removes nothing during the grace period, because the deployment can still be restored', () => {
    const grace = facts([], { deleting: true, purgeInMs: 90_000 });
    expect(reportOutcome(grace, purged, NOW)).toMatchObject({ remove: false, retryAfterMs: 0 });
  });
  it('makes a deployment due that is desired again', () => {
    const outcome = reportOutcome(facts([], { acknowledgedGeneration: 7 }), purged, NOW);
    expect(outcome).toMatchObject({ remove: false, retryAfterMs: 0, facts: { acknowledgedGeneration: 6 } });
  });
});

describe('any sequence of reports', () => {
  const statuses = fc.array(fc.constantFrom(...REVISION_STATUSES), { minLength: 1, maxLength: 5 });
  const maybeRef = fc.option(fc.integer({ min: 1, max: 6 }).map(ref), { nil: null });
  const report: fc.Arbitrary<ClusterReport> = fc.oneof(
    fc
      .record({
        specGeneration: fc.integer({ min: 0, max: 9 }),
        off: fc.boolean(),
        active: maybeRef,
        rollout: maybeRef,
        failed: fc.option(
          fc.integer({ min: 1, max: 6 }).map((n) => ({ ...ref(n), reason: 'CrashLoop', message: 'm' })),
          { nil: null },
        ),
        conditions: fc.constantFrom([], DATA_READY),
      })
      .map(observed),
    fc.record({
      kind: fc.constant('applied' as const),
      deploymentId: fc.constant(DEPLOYMENT),
      generation: fc.integer({ min: 0, max: 9 }),
      goneEnvironments: fc.constant([]),
    }),
    fc.record({
      kind: fc.constant('refused' as const),
      deploymentId: fc.constant(DEPLOYMENT),
      generation: fc.integer({ min: 5, max: 8 }),
      reason: fc.constantFrom('Refused', 'nonsense', '__proto__'),
      message: fc.string(),
      retryable: fc.boolean(),
    }),
    fc.constant({ kind: 'purged' as const, deploymentId: DEPLOYMENT }),
  );

  function expectForward(before: DeploymentFacts, after: DeploymentFacts): void {
    const ended = before.revisions.filter(({ status }) => isTerminalStatus(status));
    expect(after.revisions).toEqual(expect.arrayContaining(ended));
    expect(after.active?.number ?? 0).toBeGreaterThanOrEqual(before.active?.number ?? 0);
    expect(after.observation?.generation ?? 0).toBeGreaterThanOrEqual(before.observation?.generation ?? 0);
    expect(after.acknowledgedGeneration).toBeLessThanOrEqual(after.generation);
  }

  it('leaves no terminal status, and does not move back', () => {
    fc.assert(
      fc.property(statuses, fc.array(report, { minLength: 1, maxLength: 12 }), (before, reports) => {
        reports.reduce((now, next) => {
          const { facts: after } = reportOutcome(now, next, NOW);
          expectForward(now, after);
          return after;
        }, facts(before));
      }),
    );
  });

  it('changes nothing and writes no event for a repeated report', () => {
    fc.assert(
      fc.property(statuses, report, (before, next) => {
        const first = reportOutcome(facts(before), next, NOW);
        const second = reportOutcome({ ...first.facts, attempts: 2 }, next, NOW);
        expect(second.moves).toEqual([]);
        if (next.kind !== 'purged')
          expect(second.facts).toEqual({ ...first.facts, attempts: second.facts.attempts });
        expect(second.events).toEqual([]);
      }),
    );
  });
});

describe('a purge that waits', () => {
  const waiting = (message: string, reason = 'FinalizerBlocks') => ({
    kind: 'refused' as const,
    deploymentId: DEPLOYMENT,
    generation: 7,
    reason,
    message,
    retryable: true,
    waiting: true,
  });
  const purging = facts(['DEPLOYED'], { deleting: true, conditions: [condition('Serving')] });
  const noteOf = (conditions: readonly Condition[]) => conditions.find(({ type }) => type === 'Deletion');

  it('records what blocks it, writes one event for a new reason, and leaves the item with the listener', () => {
    const first = reportOutcome(purging, waiting('Pod a is held'), NOW);
    expect(noteOf(first.facts.conditions)).toMatchObject({
      reason: 'FinalizerBlocks',
      message: 'Pod a is held',
    });
    expect(first.events).toMatchObject([
      { reason: 'FinalizerBlocks', message: expect.stringContaining('Pod a') },
    ]);
    expect(first).toMatchObject({ retryAfterMs: null, remove: false, ignored: null, moves: [] });
    const again = reportOutcome(first.facts, waiting('Pod a is held'), NOW);
    expect([again.facts, again.events]).toEqual([first.facts, []]);
    const other = reportOutcome(first.facts, waiting('Pod b is held'), NOW);
    expect([noteOf(other.facts.conditions)?.message, other.events]).toEqual(['Pod b is held', []]);
    const next = reportOutcome(other.facts, waiting('Pod c uses it', 'VolumeInUse'), NOW);
    expect(next.events).toMatchObject([{ reason: 'VolumeInUse' }]);
  });

  it('keeps its note when the custom resource is reported', () => {
    const noted = reportOutcome(purging, waiting('Pod a is held'), NOW).facts;
    const after = reportOutcome(noted, observed(), NOW).facts;
    expect(noteOf(after.conditions)?.message).toBe('Pod a is held');
  });

  it('is ignored for a deployment that is desired or can still be restored', () => {
    for (const over of [{}, { deleting: true, purgeInMs: 5000 }]) {
      const before = facts(['DEPLOYED'], over);
      const outcome = reportOutcome(before, waiting('Pod a is held'), NOW);
      expect([outcome.facts, outcome.ignored === null]).toEqual([before, false]);
    }
  });

  it('is recorded in the same way when it is rejected, and is due again', () => {
    const refusal = { ...waiting('no right', 'ApplyRefused'), waiting: false };
    const outcome = reportOutcome(purging, refusal, NOW);
    expect(noteOf(outcome.facts.conditions)).toMatchObject({ reason: 'ApplyRefused' });
    expect(outcome.retryAfterMs).toBeGreaterThan(0);
  });
});
