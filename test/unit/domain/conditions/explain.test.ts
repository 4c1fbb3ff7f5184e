import { describe, expect, test } from 'vitest';
import { type Condition, REASON_NAMES } from '../../../../src/domain/conditions/conditions.ts';
import { explain } from '../../../../src/domain/conditions/explain.ts';
import { duration, type ExplainFacts } from '../../../../src/domain/conditions/explain-facts.ts';
import { REMEDIES, remedyOf } from '../../../../src/domain/conditions/remedies.ts';
import {
  isTerminalStatus,
  LISTENER_STATUSES,
  REVISION_STATUSES,
  REVISION_TRANSITIONS,
  type RevisionStatus,
} from '../../../../src/domain/revision/states.ts';

const T0 = new Date('2026-01-01T10:00:00.000Z');
const at = (seconds: number) => new Date(T0.getTime() + seconds * 1000);
const NOW = at(1000);

const OTHER = { id: 'r4', number: 4, status: 'DEPLOYED', createdAt: at(200) } as const;

type Parts = { [Part in keyof ExplainFacts]?: Partial<ExplainFacts[Part]> | null };

/** Revision 3, deployed, active, serving, observed; with changes. */
function facts(changes: Parts = {}): ExplainFacts {
  const revision = {
    id: 'r3',
    number: 3,
    status: 'DEPLOYED',
    reason: 'RolloutComplete',
    message: 'every component runs it.',
    failureSource: null,
    createdAt: at(100),
    updatedAt: at(150),
    ...changes.revision,
  } as ExplainFacts['revision'];
  return {
    now: NOW,
    revision,
    deployment: {
      generation: 3,
      acknowledgedGeneration: 3,
      updatedAt: at(100),
      deleteRequestedAt: null,
      purgeAfter: null,
      switchedOff: false,
      latestRevisionId: 'r3',
      conditions: [serving('True')],
      inPlaceFailure: null,
      observation: { generation: 3, observedAt: at(160) },
      ...changes.deployment,
    },
    listener: {
      status: 'CONNECTED',
      clusterReachable: true,
      lastSeenAt: at(995),
      createdAt: T0,
      ...changes.listener,
    },
    active: changes.active === undefined ? revision : (changes.active as ExplainFacts['active']),
    successor: (changes.successor ?? null) as ExplainFacts['successor'],
  };
}

function condition(
  type: string,
  status: Condition['status'],
  reason: string,
  message = `about ${reason}`,
): Condition {
  return { type, status, reason, message, observedGeneration: 1, lastTransitionTime: '2026-01-01T10:02:00Z' };
}
const serving = (status: Condition['status']) =>
  condition('Serving', status, status === 'True' ? 'Available' : 'Unavailable');

const chain = (changes: Parts) =>
  explain(facts(changes)).causes.map(({ level, reason }) => `${level} ${reason}`);

test('explains an in-place change that was rolled back by its root cause, and not by the rollback', () => {
  const explained = explain(
    facts({
      deployment: {
        conditions: [
          condition('Ready', 'False', 'CrashLoop', 'api: pod web-1, container log (sidecar): exit code 7'),
          condition('Progressing', 'False', 'RolledBack', 'what ran before runs again'),
          serving('True'),
        ],
      },
    }),
  );
  expect(explained.causes.map(({ reason }) => reason)).toEqual([
    'RolloutComplete',
    'RolledBack',
    'CrashLoop',
  ]);
  expect(explained).toMatchObject({ serves: 'yes', remedy: { kind: 'act', reason: 'CrashLoop' } });
  expect(explained.summary).toContain('container log (sidecar): exit code 7');
  expect(JSON.stringify(REMEDIES.RolledBack)).not.toContain('explain');
});

test('ends with the object that made an in-place change fail, only for the active revision', () => {
  const failureSource = { component: 'api', kind: 'Pod', object: 'web-1', container: 'log', exit_code: 7 };
  const inPlaceFailure = { reason: 'CrashLoop', message: 'api: pod web-1: exit code 7', failureSource };
  const conditions = [condition('Ready', 'False', 'CrashLoop', 'api: it crashes'), serving('True')];
  const explained = explain(facts({ deployment: { conditions, inPlaceFailure } }));
  expect(explained.causes.at(-1)).toEqual({
    level: 'object',
    condition: null,
    object: failureSource,
    reason: 'CrashLoop',
    message: 'A change of revision 3 failed: api: Pod web-1: container log: exit 7',
    at: new Date(conditions[0]?.lastTransitionTime ?? ''),
    current: true,
  });
  expect(explained).toMatchObject({ serves: 'yes', remedy: { kind: 'act', reason: 'CrashLoop' } });
  expect(explained.summary).toContain('However: A change of revision 3 failed: api: Pod web-1');

  const unseen = explain(facts({ deployment: { conditions, inPlaceFailure }, listener: { status: 'LOST' } }));
  expect(unseen.causes.at(-1)).toMatchObject({ object: failureSource, current: false });
  expect(unseen.remedy?.reason).toBe('ListenerLost');

  const { failureSource: _, ...unnamed } = inPlaceFailure;
  const told = explain(facts({ deployment: { conditions, inPlaceFailure: unnamed } })).causes.at(-1);
  expect(told).toMatchObject({ object: null, message: expect.stringContaining('pod web-1: exit code 7') });

  const next = { id: 'r4', number: 4, status: 'DEPLOYING', createdAt: at(200) } as const;
  const active = { id: 'r3', number: 3, status: 'DEPLOYED', createdAt: at(100) } as const;
  const other = explain(facts({ revision: next, active, deployment: { inPlaceFailure } }));
  expect(JSON.stringify(other.causes)).not.toContain('A change of revision');
});

describe('the remedies', () => {
  test.each(REASON_NAMES)('have a next step for %s, or state that none is needed', (reason) => {
    const remedy = REMEDIES[reason];
    if ('text' in remedy) {
      expect(remedy.text).toMatch(/^[A-Z].{40,}[.\-)]$/s);
      expect(['act', 'wait']).toContain(remedy.kind);
    } else expect(['fine', 'history']).toContain(remedy.kind);
  });

  // A new source_config does not revive a failed revision, so a PATCH of it alone is no remedy.
  const failsWith = (status: RevisionStatus) =>
    new Set(REVISION_TRANSITIONS.filter(({ to }) => to === status).flatMap(({ reasons }) => reasons));
  const TRIED_ON = ['ApplyRefused', 'NamespaceNotAllowed'];
  test.each([...failsWith('DEPLOY_FAILED')].filter((reason) => !TRIED_ON.includes(reason)))(
    'name a redeploy for a revision that failed with %s',
    (reason) => expect(REMEDIES[reason]).toMatchObject({ text: expect.stringMatching(/redeploy\b/) }),
  );
  test.each([...failsWith('BUILD_FAILED')].filter((reason) => !TRIED_ON.includes(reason)))(
    'name a new revision for a build that failed with %s',
    (reason) =>
      expect(REMEDIES[reason]).toMatchObject({
        text: expect.stringMatching(/source_config.*POST …\/revisions/),
      }),
  );

  test('contain no entry for a reason that is not in the list', () => {
    for (const reason of ['NeverHeardOf', 'constructor', '__proto__']) expect(remedyOf(reason)).toBeNull();
  });
});

describe('a deployed revision', () => {
  test('serves and needs no remedy', () => {
    const explained = explain(facts());
    expect(explained).toMatchObject({
      serves: 'yes',
      summary: 'Revision 3 is deployed and serves.',
      remedy: null,
      knowledge: { current: true, at: at(995), ageSeconds: 5 },
    });
    expect(explained.causes).toHaveLength(1);
  });

  test('names the active revision when it is no longer active', () => {
    const explained = explain(facts({ active: OTHER, deployment: { latestRevisionId: 'r4' } }));
    expect(explained).toMatchObject({
      serves: 'no',
      remedy: null,
      summary: 'Revision 3 was deployed. Revision 4 is active.',
    });
    expect(explained.causes.at(-1)).toMatchObject({ object: { kind: 'Revision', object: '4', id: 'r4' } });
  });

  test('does not show the problems of a newer revision that fails', () => {
    const deployment = {
      latestRevisionId: 'r4',
      generation: 4,
      conditions: [serving('True'), condition('Progressing', 'False', 'CrashLoop', 'revision 4: it crashes')],
    };
    expect(explain(facts({ deployment, successor: OTHER }))).toMatchObject({
      serves: 'yes',
      summary: 'Revision 3 is deployed and serves.',
      remedy: null,
    });
  });

  test('does not serve when its pods are gone, and states why', () => {
    const conditions = [
      serving('False'),
      condition('Progressing', 'False', 'Unschedulable', 'api: no node has room'),
    ];
    const explained = explain(facts({ deployment: { conditions } }));
    expect(explained).toMatchObject({ serves: 'no', remedy: { kind: 'act', reason: 'Unschedulable' } });
    expect(explained.summary).toContain('does not serve');
    expect(explained.summary).toContain('no node has room');
  });
});

describe('a failed revision', () => {
  const failureSource = {
    component: 'api',
    kind: 'Pod',
    object: 'shop-api-x',
    container: 'migrate',
    container_kind: 'init',
    exit_code: 1,
    detail: 'no such table',
  } as const;
  const failed = {
    status: 'DEPLOY_FAILED',
    reason: 'CrashLoop',
    message: 'api: a container keeps failing',
    failureSource,
  } as const;

  test('is traced down to the container that failed', () => {
    const explained = explain(facts({ revision: failed, active: { ...OTHER, id: 'r2', number: 2 } }));
    expect(explained.causes.map(({ level, reason, at: when }) => [level, reason, when])).toEqual([
      ['revision', 'CrashLoop', at(150)],
      ['object', 'CrashLoop', at(150)],
    ]);
    expect(explained.causes[1]).toMatchObject({
      object: failureSource,
      message: 'api: Pod shop-api-x: container migrate (init): exit 1: no such table',
    });
    expect(explained.remedy).toMatchObject({ kind: 'act', reason: 'CrashLoop' });
    expect(explained.summary).toBe(
      'Revision 3 failed to roll out. api: Pod shop-api-x: container migrate (init): exit 1: no such table. Revision 2 is active.',
    );
  });

  test('names the Secret, the key and the field when a reference cannot be read', () => {
    const detail = 'the Secret payments has no key api-key';
    const missing = { kind: 'Secret', object: 'payments', field: 'secret_references[0]', detail } as const;
    const revision = { ...failed, reason: 'SecretReferenceMissing', failureSource: missing };
    const explained = explain(facts({ revision, active: null }));
    expect(explained.summary).toContain(`Secret payments: secret_references[0]: ${detail}`);
    expect(explained.remedy).toMatchObject({ kind: 'act', reason: 'SecretReferenceMissing' });
    expect(explained.remedy?.text).toContain('PATCH secret_references');
  });

  test('names the limit of a sidecar that had too little memory', () => {
    const oom = { component: 'api', container: 'log', container_kind: 'sidecar', exit_code: 137 } as const;
    const revision = { ...failed, reason: 'CrashLoop', failureSource: { ...oom, detail: 'OOMKilled' } };
    const remedy = explain(facts({ revision, active: null })).remedy?.text;
    expect(remedy).toContain('source_config.resource_spec.sidecars[…].resources.limits.memory');
    expect(remedy).not.toContain('memory_limit_mb');
  });

  test('has a remedy without a known failure source', () => {
    const explained = explain(facts({ revision: { ...failed, failureSource: null }, active: null }));
    expect(explained.causes).toHaveLength(1);
    expect(explained.remedy).toMatchObject({ reason: 'CrashLoop' });
    expect(explained.summary).toContain('No revision is active.');
  });

  test('does not name a listener that was lost later as a cause', () => {
    expect(chain({ revision: failed, listener: { status: 'LOST' } })).toEqual([
      'revision CrashLoop',
      'object CrashLoop',
    ]);
  });
});

test.each([
  ['SKIPPED', 'Superseded'],
  ['INTERRUPTED', 'Interrupted'],
] as const)('names the revision that replaced one with the status %s', (status, reason) => {
  const explained = explain(
    facts({ revision: { status, reason, message: null }, active: null, successor: OTHER }),
  );
  expect(explained.causes.at(-1)).toMatchObject({
    reason,
    object: { kind: 'Revision', object: '4', id: 'r4' },
    at: OTHER.createdAt,
  });
  expect(explained.remedy?.text).toContain('rollback');
});

describe('a revision in progress', () => {
  const queued = { status: 'QUEUED', reason: null, message: null } as const;
  const deploying = { status: 'DEPLOYING', reason: 'RolloutInProgress', message: null } as const;

  test('waits for a listener that was never seen', () => {
    const never = { status: 'NEVER_SEEN', lastSeenAt: null } as const;
    const deployment = { conditions: [], observation: null, acknowledgedGeneration: 0 };
    const explained = explain(facts({ revision: queued, listener: never, deployment, active: null }));
    expect(explained.remedy).toMatchObject({ kind: 'act', reason: 'ListenerNeverSeen' });
    expect(explained.knowledge).toEqual({ current: false, at: null, ageSeconds: null });
    expect(explained.causes.find(({ level }) => level === 'listener')).toMatchObject({ at: T0 });
  });

  test('names a lost listener as its cause, and shows the last conditions with their age', () => {
    const explained = explain(
      facts({
        revision: { ...deploying, status: 'UNKNOWN' },
        active: null,
        listener: { status: 'LOST', lastSeenAt: at(700) },
        deployment: { conditions: [condition('Progressing', 'True', 'ImagePullFailed')] },
      }),
    );
    expect(explained.causes.map(({ reason, current }) => [reason, current])).toEqual([
      ['ListenerLost', true],
      ['ListenerLost', true],
      ['ImagePullFailed', false],
    ]);
    expect(explained.causes[1]?.message).toContain('5 minutes old');
    expect(explained.remedy).toMatchObject({ reason: 'ListenerLost' });
    expect(explained.knowledge).toEqual({ current: false, at: at(700), ageSeconds: 300 });
  });

  test('is not confirmed by a connected listener when the cluster does not respond', () => {
    const explained = explain(
      facts({
        revision: { ...deploying, status: 'UNKNOWN' },
        active: null,
        listener: { status: 'CLUSTER_UNREACHABLE', clusterReachable: false, lastSeenAt: at(999) },
      }),
    );
    expect(explained.remedy).toMatchObject({ reason: 'ClusterUnreachable' });
    expect(explained.knowledge).toEqual({ current: false, at: at(160), ageSeconds: 840 });
  });

  test.each(['AWAITING_BUILD', 'QUEUED', 'DEPLOYED'] as const)(
    'starts with the blocked work item when it is %s, whatever the cluster reports',
    (status) => {
      const workBlocked = { reason: 'SecretsUnreadable', message: 'Its secrets are lost.' } as const;
      const deployment = { conditions: [condition('Ready', 'False', 'CrashLoop')], workBlocked };
      const explained = explain(facts({ revision: { status }, deployment }));
      expect(explained.remedy).toMatchObject({ kind: 'act', reason: 'SecretsUnreadable' });
      expect(explained.summary).toContain('cannot be sent to the listener: Its secrets are lost.');
    },
  );

  test('is explained by the cluster when its work item has changed after it was observed', () => {
    const deployment = {
      acknowledgedGeneration: 2,
      conditions: [condition('Progressing', 'True', 'ImagePullFailed')],
    };
    const told = chain({ revision: deploying, deployment, active: null });
    expect(told).toContain('condition ImagePullFailed');
    expect(told).not.toContain('deployment Reconciling');
  });

  test('ignores conditions of an earlier generation when it is not in the cluster yet', () => {
    const deployment = {
      generation: 4,
      conditions: [condition('Progressing', 'False', 'CrashLoop'), serving('True')],
    };
    expect(chain({ revision: queued, deployment, active: OTHER })).toEqual([
      'revision Reconciling',
      'deployment Reconciling',
    ]);
  });

  test('shows a rejection by the cluster although it was not applied', () => {
    const { observedGeneration: _, ...refusal } = condition('Ready', 'False', 'NamespaceNotAllowed');
    const deployment = {
      generation: 4,
      conditions: [refusal, condition('Progressing', 'False', 'CrashLoop')],
    };
    const explained = explain(facts({ revision: queued, deployment, active: null }));
    expect(explained.remedy).toMatchObject({ kind: 'act', reason: 'NamespaceNotAllowed' });
    expect(JSON.stringify(explained.causes)).not.toContain('CrashLoop');
  });

  test('waits for the database, with the most specific condition of each reason last', () => {
    const conditions = [
      condition('DatabaseReady', 'False', 'DatabaseStarting', 'waits for a volume'),
      condition('Ready', 'False', 'DatabaseStarting'),
      condition('Progressing', 'True', 'AwaitingDataServices'),
      condition('CacheReady', 'True', 'CacheAvailable'),
    ];
    const revision = { status: 'AWAITING_DEPLOY', reason: 'AwaitingDataServices' } as const;
    const explained = explain(facts({ revision, active: null, deployment: { conditions } }));
    expect(explained.causes.map(({ condition: type }) => type)).toEqual([
      null,
      'Progressing',
      'DatabaseReady',
    ]);
    expect(explained.causes[2]?.at).toEqual(new Date('2026-01-01T10:02:00Z'));
    expect(explained.remedy).toMatchObject({ kind: 'wait', reason: 'DatabaseStarting' });
  });

  test('shows that a removal of the volume is confirmed, and what it waits for', () => {
    const removal = 'The removal of the volume claim web-db (10Gi) is confirmed, and waits for the listener';
    const off = `database.enabled is false: Berth runs no database. ${removal}`;
    const conditions = [serving('True'), condition('DatabaseReady', 'True', 'DatabaseDisabled', off)];
    const { causes, remedy } = explain(facts({ deployment: { conditions } }));
    const cause = causes.find(({ reason }) => reason === 'DatabaseDisabled');
    expect(cause?.message).toBe(`DatabaseReady is True: ${off}.`);
    expect(remedy).toBeNull();
  });

  test('waits while the deployment is switched off', () => {
    const conditions = [
      condition('Ready', 'False', 'SwitchedOff'),
      condition('Serving', 'False', 'SwitchedOff'),
    ];
    const explained = explain(
      facts({ revision: queued, active: null, deployment: { conditions, switchedOff: true } }),
    );
    expect(explained.causes.map(({ reason }) => reason)).toEqual(['Reconciling', 'SwitchedOff']);
    expect(explained.remedy?.text).toContain('max_scale');
  });

  test('states that a confirmed removal of the volume may wait while the deployment is switched off', () => {
    const switchedOff = (more: object) =>
      explain(
        facts({ revision: queued, active: null, deployment: { conditions: [], switchedOff: true, ...more } }),
      ).causes.find(({ reason }) => reason === 'SwitchedOff')?.message;
    expect(switchedOff({})).not.toContain('removal');
    expect(switchedOff({ removesVolume: true })).toContain(
      'The removal of the volume of the database is confirmed. It waits until the deployment is switched on again',
    );
  });

  const toBuild = { status: 'AWAITING_BUILD', reason: 'AwaitingBuild', message: null } as const;
  const image = (message: string) => condition('ImageReady', 'False', 'AwaitingBuild', message);

  test('waits for its build, and not for the running workloads', () => {
    const conditions = [image('revision 3 waits for its build to start'), serving('False')];
    const data = condition('DatabaseReady', 'False', 'DatabaseStarting');
    const deployment = { conditions: [data, ...conditions] };
    const explained = explain(facts({ revision: toBuild, active: null, deployment }));
    expect(explained.causes.map(({ reason }) => reason)).toEqual(['AwaitingBuild', 'AwaitingBuild']);
    expect(explained.remedy).toMatchObject({ kind: 'wait', reason: 'AwaitingBuild' });
  });

  test.each([
    ['LOST', 'ListenerLost'],
    ['NEVER_SEEN', 'ListenerNeverSeen'],
  ] as const)('waits for its build in a cluster whose listener is %s', (status, reason) => {
    const conditions = [image('the build of revision 3 is requested')];
    const listener = { status } as const;
    const explained = explain(
      facts({ revision: toBuild, active: null, listener, deployment: { conditions } }),
    );
    expect(explained.remedy).toMatchObject({ kind: 'act', reason });
    expect(explained.causes.map(({ current }) => current)).toEqual([true, true, false]);
  });

  test('shows the build that was running when it was last observed', () => {
    const building = condition('ImageReady', 'False', 'Building');
    const deployment = { conditions: [condition('DatabaseReady', 'False', 'DatabaseStarting'), building] };
    const revision = { status: 'UNKNOWN', reason: 'Building' } as const;
    const explained = explain(facts({ revision, active: null, listener: { status: 'LOST' }, deployment }));
    expect(explained.causes.map(({ level, reason, current }) => [level, reason, current])).toEqual([
      ['revision', 'ListenerLost', true],
      ['listener', 'ListenerLost', true],
      ['condition', 'Building', false],
    ]);
  });

  test('explains a build that is paused, rejected, or not allowed in the namespace', () => {
    const explained = (...conditions: Condition[]) =>
      explain(facts({ revision: toBuild, active: null, deployment: { conditions } }));
    const refused = 'the Job of the build was rejected: exceeded quota';
    expect(explained(image(refused)).summary).toContain(refused);
    const paused = condition('Paused', 'True', 'Paused');
    expect(explained(paused, image('the build of revision 3 is requested')).remedy?.reason).toBe('Paused');
    const { observedGeneration: _, ...note } = condition('Ready', 'False', 'NamespaceNotAllowed');
    expect(explained(note).remedy?.reason).toBe('NamespaceNotAllowed');
  });

  test('ignores the image condition of a newer revision while it waits for its build', () => {
    const conditions = [image('the build of revision 4 is requested')];
    const deployment = { conditions, latestRevisionId: 'r4' };
    const explained = explain(facts({ revision: toBuild, active: null, successor: OTHER, deployment }));
    expect(explained.causes.map(({ reason }) => reason)).toEqual(['AwaitingBuild', 'Superseded']);
  });

  test('names the newer revision that supersedes it', () => {
    const explained = explain(
      facts({ revision: queued, active: null, successor: OTHER, deployment: { latestRevisionId: 'r4' } }),
    );
    expect(explained.causes[1]).toMatchObject({ reason: 'Superseded', object: { object: '4' } });
  });

  test('names the pause and the command that ends it', () => {
    const conditions = [
      condition('Ready', 'False', 'RolloutInProgress'),
      condition('Progressing', 'True', 'RolloutInProgress'),
      condition('Paused', 'True', 'Paused'),
    ];
    const explained = explain(facts({ revision: deploying, active: null, deployment: { conditions } }));
    expect(explained.remedy).toMatchObject({ kind: 'act', reason: 'Paused' });
    expect(explained.remedy?.text).toContain('kubectl annotate mdep NAME berth.dev/paused-');
  });

  test('shows until when a deployment in deletion can be restored, or that it cannot be restored', () => {
    const deletionCause = (purgeAfter: Date) =>
      explain(
        facts({ revision: queued, active: null, deployment: { deleteRequestedAt: at(900), purgeAfter } }),
      ).causes[1];
    const end = at(90_000);
    expect(deletionCause(end)?.message).toContain(`can be restored until ${end.toISOString()} (POST`);
    expect(deletionCause(at(950))?.message).toContain('can no longer be cancelled');
  });

  test('names the deletion of its deployment as a cause, and does not claim to serve', () => {
    const deployment = { deleteRequestedAt: at(900) };
    expect(explain(facts({ deployment }))).toMatchObject({ serves: 'unknown' });
    expect(explain(facts({ revision: queued, deployment, active: null })).causes[1]).toMatchObject({
      reason: 'DeletionRequested',
      at: at(900),
    });
  });

  test('accepts unknown reasons and invalid times in conditions that were written by hand', () => {
    const odd = { ...condition('Odd', 'False', 'constructor'), lastTransitionTime: 'yesterday' };
    const explained = explain(
      facts({ revision: deploying, active: null, deployment: { conditions: [odd] } }),
    );
    expect(explained.causes.at(-1)).toMatchObject({ reason: 'constructor', condition: 'Odd', at: at(100) });
    expect(explained.remedy).toMatchObject({ reason: 'RolloutInProgress' });
  });
});

const EVERY = REVISION_STATUSES.flatMap((status) =>
  LISTENER_STATUSES.flatMap((listener) =>
    [null, OTHER, undefined].map((active) => ({ status, listener, active })),
  ),
);

test('starts with the revision in every status, and claims to serve only while the listener is connected', () => {
  for (const { status, listener, active } of EVERY) {
    const explained = explain(
      facts({
        revision: { status, reason: null, message: null },
        listener: { status: listener },
        ...(active === undefined ? {} : { active }),
        successor: OTHER,
      }),
    );
    expect(explained.causes[0]).toMatchObject({ level: 'revision' });
    expect(explained.summary).toMatch(/^Revision 3 /);
    expect(explained.serves === 'yes' && listener !== 'CONNECTED').toBe(false);
    expect(explained.knowledge.current).toBe(listener === 'CONNECTED');
    const needsCluster = !isTerminalStatus(status);
    const told = explained.causes.some(({ level }) => level === 'listener');
    if (needsCluster) expect(told).toBe(listener !== 'CONNECTED');
  }
});

test.each([
  [-3, '0 seconds'],
  [1, '1 second'],
  [90, '90 seconds'],
  [120, '2 minutes'],
  [7199, '119 minutes'],
  [7200, '2 hours'],
  [400_000, '4 days'],
])('formats %i seconds as %s', (seconds, text) => expect(duration(seconds)).toBe(text));

describe('a connected listener that does not observe the deployment', () => {
  test.each([
    ['unseen', 'NamespaceNotAllowed', 'does not observe the namespace'],
    ['returning', 'ListenerLost', 'has not reported the state of its cluster yet'],
  ] as const)('is named as the cause, and no knowledge is current: %s', (unwatched, reason, text) => {
    const explained = explain(facts({ deployment: { unwatched } }));
    expect(explained).toMatchObject({
      serves: 'unknown',
      knowledge: { current: false, at: at(160) },
      remedy: { reason },
    });
    expect(explained.causes.find(({ level }) => level === 'listener')).toMatchObject({
      reason,
      message: expect.stringContaining(text) as string,
    });
  });
});

describe('symptoms of running pods', () => {
  const failureSource = { component: 'api', kind: 'Pod', object: 'web-1', container: 'app', exit_code: 1 };
  const symptom = (reason: string, more: object = {}) => ({
    component: 'api',
    reason,
    message: `api: pod web-1, container app: ${reason}`,
    failureSource,
    since: '2026-01-01T10:05:00Z',
    ...more,
  });
  const troubled = (...symptoms: ReturnType<typeof symptom>[]) =>
    explain(
      facts({
        deployment: {
          conditions: [
            condition('Ready', 'False', symptoms[0]?.reason ?? '', symptoms[0]?.message),
            condition('Progressing', 'False', 'Reconciling'),
            serving('True'),
          ],
          symptoms,
        },
      }),
    );

  const REASONS: [string, RegExp][] = [
    ['InvalidImageName', /image_uri/],
    ['ImagePullFailed', /image_pull_secrets/],
    ['ContainerConfigInvalid', /Secret, ConfigMap or key/],
    ['CrashLoop', /exit code/],
    ['Unschedulable', /capacity/],
    ['QuotaExceeded', /quota/],
    ['AdmissionRefused', /rule of the cluster/],
    ['MountFailed', /PersistentVolumeClaim/],
    ['ReadinessFailed', /probe/],
    ['NodeLost', /node/],
  ];
  test.each(REASONS)('name the failure source and the remedy of %s', (reason, text) => {
    const explained = troubled(symptom(reason));
    expect(explained.causes.at(-1)).toMatchObject({
      level: 'object',
      object: failureSource,
      reason,
      current: true,
    });
    expect(explained.remedy).toMatchObject({ reason, text: expect.stringMatching(text) });
    // Nothing has failed for good.
    expect(explained.remedy?.text).not.toMatch(/redeploy|does not retry/);
    expect(explained.summary).toContain('pod web-1, container app');
  });

  test('have a remedy about memory when the app or a data service had too little memory', () => {
    const message = 'pod x, container app: CrashLoopBackOff: exit code 137 (OOMKilled)';
    expect(troubled(symptom('CrashLoop', { message })).remedy?.text).toContain('memory_limit_mb');
    const database = symptom('CrashLoop', { component: 'database', message });
    expect(troubled(database).remedy?.text).toContain('db_memory_mb');
    const cache = symptom('CrashLoop', { component: 'cache', message });
    expect(troubled(cache).remedy?.text).toContain('cache_memory_mb');
  });

  test('name the limit of a sidecar or init container that had too little memory', () => {
    const message = 'queue: pod x, container log: CrashLoopBackOff: exit code 137 (OOMKilled)';
    for (const [kind, list] of [
      ['sidecar', 'sidecars'],
      ['init', 'init_containers'],
    ] as const) {
      const named = { ...failureSource, container: 'log', container_kind: kind };
      const remedy = troubled(symptom('CrashLoop', { message, failureSource: named })).remedy?.text;
      expect(remedy).toContain(`${list}[…].resources.limits.memory`);
      expect(remedy).not.toContain('memory_limit_mb');
    }
  });

  test('are omitted when they are quiet or of a revision that is not active', () => {
    expect(troubled(symptom('CrashLoop', { quiet: true })).causes.at(-1)?.level).toBe('condition');
    const older = explain(facts({ active: OTHER, deployment: { symptoms: [symptom('CrashLoop')] } }));
    expect(JSON.stringify(older.causes)).not.toContain('CrashLoop');
  });

  test('end with those of the database, because an app fails without it', () => {
    const database = symptom('ImagePullFailed', { component: 'database', message: 'database: pod x' });
    expect(troubled(database, symptom('CrashLoop')).remedy).toMatchObject({ reason: 'ImagePullFailed' });
  });

  test('are not current while the cluster is not observed', () => {
    const lost = explain(
      facts({ deployment: { symptoms: [symptom('CrashLoop')] }, listener: { status: 'LOST' } }),
    );
    expect(lost.causes.at(-1)).toMatchObject({ level: 'object', current: false });
    expect(lost.remedy?.reason).toBe('ListenerLost');
  });
});

describe('a deployment that is being removed', () => {
  const note: Condition = {
    type: 'Deletion',
    status: 'False',
    reason: 'FinalizerBlocks',
    message: 'PersistentVolumeClaim shop-db is being deleted and is held by the finalizer example.com/hold',
    lastTransitionTime: at(950).toISOString(),
  };
  const before = [condition('Ready', 'False', 'CrashLoop'), serving('True')];
  const deployment = { deleteRequestedAt: at(900), generation: 4, conditions: [...before, note] };

  test('names the object that blocks the removal, and its remedy', () => {
    const { causes, remedy, serves, summary } = explain(facts({ deployment }));
    expect(causes.map(({ reason }) => reason)).toEqual([
      'RolloutComplete',
      'DeletionRequested',
      'FinalizerBlocks',
    ]);
    expect(causes.at(-1)).toMatchObject({
      level: 'object',
      object: { kind: 'PersistentVolumeClaim', object: 'shop-db' },
      at: at(950),
      current: true,
    });
    expect(remedy).toMatchObject({ kind: 'act', reason: 'FinalizerBlocks' });
    expect(summary).toContain('example.com/hold');
    expect(serves).toBe('unknown');
  });

  test('is not explained by earlier conditions, and shows the last note while it is not observed', () => {
    expect(explain(facts({ deployment: { ...deployment, conditions: before } })).causes).toHaveLength(2);
    const lost = explain(facts({ deployment, listener: { status: 'LOST' } }));
    expect(lost.causes.at(-1)).toMatchObject({ reason: 'FinalizerBlocks', current: false });
  });

  test('is explained by its running workloads during the grace period', () => {
    const within = { ...deployment, purgeAfter: at(2000), generation: 3, conditions: before };
    expect(explain(facts({ deployment: within })).causes.map(({ reason }) => reason)).toContain('CrashLoop');
  });
});

test('names the object of a condition whose deletion is blocked', () => {
  const message = 'Service shop is being deleted and is held by the finalizer example.com/hold';
  const conditions = [{ ...condition('Ready', 'False', 'FinalizerBlocks'), message }, serving('True')];
  const { causes, remedy } = explain(facts({ deployment: { conditions } }));
  expect(causes.at(-1)).toMatchObject({ condition: 'Ready', object: { kind: 'Service', object: 'shop' } });
  expect(remedy).toMatchObject({ reason: 'FinalizerBlocks' });
});
