import { describe, expect, test } from 'vitest';
import type { BerthEvent, ClusterObject, Revision, RevisionStatus } from '../../../src/console/api/types.ts';
import { areReady, componentsOf } from '../../../src/console/timeline/components.ts';
import { secondsBetween, stepText, timelineOf } from '../../../src/console/timeline/steps.ts';
import { revisionWith } from './revision-fixture.ts';

const at = (second: number) => `2026-01-15T09:00:${String(second).padStart(2, '0')}.000Z`;

const revision = (status: RevisionStatus, updated = 0): Revision =>
  revisionWith({ status, created_at: at(0), updated_at: at(updated), deployed_at: null });

const moved = (second: number, from: RevisionStatus, to: RevisionStatus, revisionId = 'r1'): BerthEvent => ({
  id: `e${second}`,
  tenant_id: 't1',
  deployment_id: 'd1',
  revision_id: revisionId,
  at: at(second),
  actor: { kind: 'listener', id: null, name: null },
  reason: 'RolloutInProgress',
  message: '',
  details: { from, to },
});
const all = (...events: BerthEvent[]) => ({ events, since: null });

describe('timelineOf', () => {
  test('has a step for each status, from the creation to the end', () => {
    // The API returns the newest event first.
    const events = all(
      moved(9, 'DEPLOYING', 'DEPLOYED'),
      moved(5, 'DEPLOYING', 'DEPLOYED', 'other'),
      moved(4, 'QUEUED', 'DEPLOYING'),
    );
    expect(timelineOf(revision('DEPLOYED', 9), events)).toEqual({
      steps: [
        { statuses: ['QUEUED'], hasEarlier: false, from: at(0), to: at(4) },
        { statuses: ['DEPLOYING'], hasEarlier: false, from: at(4), to: at(9) },
      ],
      status: 'DEPLOYED',
      since: at(9),
      isFinal: true,
    });
  });

  test('joins statuses between which no event gives a time', () => {
    const { steps } = timelineOf(
      revision('DEPLOYING', 5),
      all(moved(2, 'BUILDING', 'QUEUED'), moved(5, 'AWAITING_DEPLOY', 'DEPLOYING')),
    );
    expect(steps).toEqual([
      { statuses: ['BUILDING'], hasEarlier: true, from: at(0), to: at(2) },
      { statuses: ['QUEUED', 'AWAITING_DEPLOY'], hasEarlier: false, from: at(2), to: at(5) },
    ]);
    expect(steps.map(stepText)).toEqual(['earlier statuses, BUILDING', 'QUEUED, AWAITING_DEPLOY']);
  });

  test('takes the time of a status without an event from the revision', () => {
    const { steps, since } = timelineOf(revision('AWAITING_DEPLOY', 3), all());
    expect(steps).toEqual([{ statuses: [], hasEarlier: true, from: at(0), to: at(3) }]);
    expect(since).toBe(at(3));
  });

  test('of a revision that was just created has only its present status', () => {
    expect(timelineOf(revision('QUEUED'), all())).toEqual({
      steps: [],
      status: 'QUEUED',
      since: at(0),
      isFinal: false,
    });
  });

  test('does not know when UNKNOWN began without its event', () => {
    const { steps, since } = timelineOf(revision('UNKNOWN', 4), all(moved(4, 'QUEUED', 'DEPLOYING')));
    expect(since).toBeNull();
    expect(steps.at(-1)).toEqual({ statuses: ['DEPLOYING'], hasEarlier: false, from: at(4), to: null });
  });

  test('does not know the beginning when older events are not loaded', () => {
    const events = { events: [moved(9, 'DEPLOYING', 'DEPLOYED')], since: at(9) };
    expect(timelineOf(revision('DEPLOYED', 9), events).steps).toEqual([
      { statuses: ['DEPLOYING'], hasEarlier: true, from: null, to: at(9) },
    ]);
  });
});

test('secondsBetween is null when a time is not known or the order is wrong', () => {
  expect(secondsBetween(at(1), at(3))).toBe(2);
  expect(secondsBetween(null, at(3))).toBeNull();
  expect(secondsBetween(at(3), null)).toBeNull();
  expect(secondsBetween(at(3), at(1))).toBeNull();
});

describe('componentsOf', () => {
  const object = (kind: ClusterObject['kind'], more: Partial<ClusterObject>): ClusterObject => ({
    kind,
    api_version: 'v1',
    name: 'x',
    owner: null,
    component: 'api',
    revision_id: 'r1',
    state: 'ready',
    message: null,
    created_at: at(2),
    ...more,
  });
  const pod = (started: string | null, restarts = 0, more: Partial<ClusterObject> = {}) => {
    const container = { name: 'app', init: false, image: 'web', state: 'running', ready: true } as const;
    const init = { ...container, name: 'migrate', init: true, restarts: 0 };
    const app = { ...container, restarts, ...(started === null ? {} : { started_at: started }) };
    return object('Pod', { pod: { phase: 'Running', containers: [init, app] as never }, ...more });
  };

  test('areReady is false while a ReplicaSet of the revision is not ready', () => {
    const ready = object('ReplicaSet', { state: 'ready' });
    const progressing = object('ReplicaSet', { state: 'progressing', component: 'queue' });
    expect(areReady([ready], revision('DEPLOYED'))).toBe(true);
    expect(areReady([ready, progressing], revision('DEPLOYED'))).toBe(false);
  });

  test('are done when the last container began to run', () => {
    const objects = [object('ReplicaSet', {}), pod(at(4)), pod(at(7), 0, { state: 'progressing' })];
    expect(componentsOf(objects, revision('DEPLOYING'))).toEqual([
      {
        component: 'api',
        state: 'ready',
        beganAt: at(2),
        runningAt: at(7),
        pods: 2,
        ready: 1,
        isKept: false,
      },
    ]);
  });

  test.each([
    ['a container does not run', pod(null)],
    ['a container was restarted', pod(at(7), 1)],
  ])('have no time when %s', (_, second) => {
    const [progress] = componentsOf([object('ReplicaSet', {}), pod(at(4)), second], revision('DEPLOYING'));
    expect(progress?.runningAt).toBeNull();
  });

  test('leave out other revisions and objects without a component', () => {
    const others = [
      object('ReplicaSet', { revision_id: 'r0' }),
      object('ReplicaSet', { component: null }),
      object('StatefulSet', { component: 'database', revision_id: null }),
    ];
    expect(componentsOf(others, revision('DEPLOYING'))).toEqual([]);
  });

  test('are kept when their pods are older than the revision', () => {
    const kept = object('ReplicaSet', { created_at: '2026-01-15T08:59:59Z' });
    // Kubernetes omits parts of a second.
    const fresh = object('ReplicaSet', { created_at: '2026-01-15T09:00:00Z', component: 'queue' });
    const late = { ...revision('DEPLOYED'), created_at: '2026-01-15T09:00:00.700Z' };
    expect(componentsOf([kept, fresh], late).map(({ isKept }) => isKept)).toEqual([true, false]);
  });
});
