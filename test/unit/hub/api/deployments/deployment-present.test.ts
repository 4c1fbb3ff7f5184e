import { describe, expect, test } from 'vitest';
import type { Condition } from '../../../../../src/domain/conditions/conditions.ts';
import { resolvePolicy } from '../../../../../src/domain/policy/policy.ts';
import { shownConditions } from '../../../../../src/hub/api/deployments/deployment-conditions.ts';
import { chooseNamespace } from '../../../../../src/hub/api/deployments/deployment-placement.ts';
import { presentDeployment } from '../../../../../src/hub/api/deployments/deployment-present.ts';
import type { DeploymentRecord, ListenerRecord } from '../../../../../src/hub/store/core/records.ts';
import type { SecretBox } from '../../../../../src/hub/store/secrets/secret-box.ts';

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second));

const condition = (type: string, status: Condition['status']): Condition => ({
  type,
  status,
  reason: 'Converged',
  message: 'there',
  lastTransitionTime: at(1).toISOString(),
});

function record(more: Partial<DeploymentRecord> = {}): DeploymentRecord {
  return {
    generation: 2,
    createdAt: at(0),
    updatedAt: at(5),
    deleteRequestedAt: null,
    purgeAfter: null,
    conditions: [condition('DatabaseReady', 'True'), condition('Ready', 'True')],
    observation: { generation: 2 },
    listener: { everSeen: true, alive: true, lastSeenAt: at(9), leased: false, lostAt: null },
    ...more,
  } as DeploymentRecord;
}

const ready = (more: Partial<DeploymentRecord>) =>
  shownConditions(record(more)).find(({ type }) => type === 'Ready');

describe('conditions', () => {
  test('are those of the cluster when it has observed the desired generation', () => {
    expect(shownConditions(record())).toEqual(record().conditions);
  });

  test('are not Ready when an older generation was observed', () => {
    const observation = { generation: 1 } as DeploymentRecord['observation'];
    expect(ready({ observation })).toMatchObject({ status: 'False', reason: 'Reconciling' });
    expect(shownConditions(record({ observation }))).toHaveLength(2);
  });

  test('show a rejection, also before the first observation', () => {
    const refused = { ...condition('Ready', 'False'), reason: 'ApplyRefused' };
    expect(ready({ observation: null, conditions: [refused] })).toEqual(refused);
    expect(ready({ observation: null, conditions: [] })).toMatchObject({ reason: 'Reconciling' });
  });

  test('state a listener that was never seen, a deletion, or a lost listener', () => {
    const never = { everSeen: false, alive: false, lastSeenAt: null, leased: false, lostAt: null };
    expect(ready({ listener: never, conditions: [] })).toMatchObject({ reason: 'ListenerNeverSeen' });
    expect(
      ready({ listener: never, conditions: [], deleteRequestedAt: at(7), purgeAfter: at(9) }),
    ).toMatchObject({ reason: 'DeletionRequested' });
    expect(ready({ deleteRequestedAt: at(7), purgeAfter: at(9) })).toMatchObject({
      status: 'False',
      reason: 'DeletionRequested',
      message: expect.stringContaining(`can be restored until ${at(9).toISOString()}`),
    });
    expect(ready({ deleteRequestedAt: at(7), purgeAfter: at(7) })?.message).toBe(
      `deletion was requested at ${at(7).toISOString()}: the deployment is removed with all of its data`,
    );
    const lost = { everSeen: true, alive: false, lastSeenAt: at(9), leased: false, lostAt: null };
    const conditions = shownConditions(record({ listener: lost }));
    expect(conditions.map(({ status, reason }) => [status, reason])).toEqual([
      ['Unknown', 'ListenerLost'],
      ['Unknown', 'ListenerLost'],
    ]);
    expect(conditions[0]?.message).toContain('True');
    expect(ready({ listener: lost, conditions: [] })).toMatchObject({ status: 'Unknown' });
  });
});

describe('conditions of a deployment that is being removed', () => {
  const noted = { ...condition('Deletion', 'False'), reason: 'FinalizerBlocks', message: 'Pod a is held' };
  const going = { deleteRequestedAt: at(7), purgeAfter: null };
  const seen = (more: Partial<DeploymentRecord>, now?: Date) =>
    shownConditions(record({ ...going, ...more }), now).map(({ type, status, reason }) => [
      type,
      status,
      reason,
    ]);

  test('are Unknown, because the observed objects may be gone', () => {
    expect(seen({})).toEqual([
      ['DatabaseReady', 'Unknown', 'BeingDeleted'],
      ['Ready', 'False', 'DeletionRequested'],
    ]);
  });

  test('state what blocks the removal in Ready, and do not show the condition Deletion of the hub', () => {
    const conditions = [condition('Serving', 'True'), noted];
    expect(seen({ conditions })).toEqual([
      ['Serving', 'Unknown', 'BeingDeleted'],
      ['Ready', 'False', 'FinalizerBlocks'],
    ]);
    expect(ready({ ...going, conditions })?.message).toMatch(/^Pod a is held; deletion was requested/);
  });

  test('do not repeat a cause that is no longer observed', () => {
    const lost = { ...record().listener, alive: false };
    expect(seen({ conditions: [noted], listener: lost })).toEqual([['Ready', 'False', 'DeletionRequested']]);
  });

  test('are those of the cluster during the grace period, and Unknown while it is not observed', () => {
    const within = { purgeAfter: at(60) };
    expect(seen(within, at(30))[0]).toEqual(['DatabaseReady', 'True', 'Converged']);
    expect(seen(within, at(60))[0]).toEqual(['DatabaseReady', 'Unknown', 'BeingDeleted']);
    const lost = { ...within, listener: { ...record().listener, alive: false } };
    expect(seen(lost, at(30))).toEqual([
      ['DatabaseReady', 'Unknown', 'ListenerLost'],
      ['Ready', 'False', 'DeletionRequested'],
    ]);
  });
});

describe('the URL of a deployment that is being removed', () => {
  const url = 'https://shop.example.com';
  const shown = (more: Partial<DeploymentRecord>, now: Date) => {
    const observation = { generation: 2, observedAt: at(6), url } as DeploymentRecord['observation'];
    const sourceRevisionConfig = {} as DeploymentRecord['sourceRevisionConfig'];
    const sourceConfig = { resource_spec: {}, listener_config: null } as DeploymentRecord['sourceConfig'];
    const whole = record({ observation, sourceConfig, sourceRevisionConfig, ...more });
    return presentDeployment(whole, { box: {} as SecretBox, showSecrets: true, secrets: [], now }).url;
  };

  test('is null when the grace period has ended', () => {
    expect(shown({}, at(30))).toBe(url);
    const within = { deleteRequestedAt: at(7), purgeAfter: at(60) };
    expect(shown(within, at(59))).toBe(url);
    expect(shown(within, at(60))).toBeNull();
    expect(shown({ deleteRequestedAt: at(7), purgeAfter: at(7) }, at(30))).toBeNull();
    expect(shown({ deleteRequestedAt: at(7), purgeAfter: null }, at(30))).toBeNull();
  });
});

test.each([
  ['', 'not in the list of the listener'],
  ['no rights', 'cannot read the namespace apps: no rights'],
])(
  'shows Unknown conditions with their last status when the listener does not see the namespace (%j)',
  (unseen, words) => {
    const listener = { ...record().listener, unseen };
    const conditions = shownConditions(record({ listener, namespace: 'apps' }));
    expect(conditions.map(({ type, status, reason }) => [type, status, reason])).toEqual([
      ['DatabaseReady', 'Unknown', 'NamespaceNotAllowed'],
      ['Ready', 'Unknown', 'NamespaceNotAllowed'],
    ]);
    expect(conditions[0]?.message).toContain(words);
    expect(conditions[0]?.message).toContain('The condition was True');
  },
);

describe('chooseNamespace', () => {
  const tenantId = '01890000-0000-7000-8000-000000000001';
  const listener = (...k8s_namespaces: string[]) => ({ computeConfig: { k8s_namespaces } }) as ListenerRecord;
  const choose = (hosting: 'cloud' | 'self_hosted', asked: string | null, ...listed: string[]) =>
    chooseNamespace({ hosting, policy: resolvePolicy(hosting) }, tenantId, asked, listener(...listed));

  test.each([
    ['self_hosted', null, [], 'default'],
    ['self_hosted', null, ['a', 'b'], 'a'],
    ['self_hosted', 'b', ['a', 'b'], 'b'],
    ['self_hosted', 'any', [], 'any'],
    ['self_hosted', 'kube-system', ['kube-system'], 'kube-system'],
    ['cloud', null, ['a'], `berth-${tenantId}`],
    ['cloud', `berth-${tenantId}`, [], `berth-${tenantId}`],
  ] as const)(
    'returns in %s mode for the request %s and the list %j: %s',
    (hosting, asked, listed, namespace) => {
      expect(choose(hosting, asked, ...listed)).toBe(namespace);
    },
  );

  test('rejects the namespace of Berth itself, listed or not, and never selects it by default', () => {
    const rules = (ownNamespace: string) => ({
      hosting: 'self_hosted' as const,
      policy: resolvePolicy('self_hosted', { namespaces: { refused: [] } }),
      ownNamespace,
    });
    const inOwn = (asked: string | null, ...listed: string[]) =>
      chooseNamespace(rules('platform'), tenantId, asked, listener(...listed));
    expect(() => inOwn('platform')).toThrow(expect.objectContaining({ statusCode: 400 }));
    expect(() => inOwn('platform', 'platform', 'a')).toThrow(expect.objectContaining({ statusCode: 400 }));
    expect(inOwn(null, 'platform', 'a')).toBe('a');
    expect(inOwn('a', 'platform', 'a')).toBe('a');
    expect(() => inOwn(null, 'platform')).toThrow(expect.objectContaining({ statusCode: 400 }));
    expect(() => chooseNamespace(rules('default'), tenantId, null, listener())).toThrow(
      expect.objectContaining({ statusCode: 400 }),
    );
  });

  test.each([
    ['self_hosted', 'c', ['a', 'b']],
    ['self_hosted', 'kube-system', []],
    ['self_hosted', 'berth-system', []],
    ['cloud', 'a', ['a']],
    ['cloud', 'berth-01890000-0000-7000-8000-000000000002', []],
  ] as const)('rejects in %s mode the request %s with the list %j', (hosting, asked, listed) => {
    expect(() => choose(hosting, asked, ...listed)).toThrow(expect.objectContaining({ statusCode: 400 }));
  });
});
