import { beforeEach, describe, expect, it } from 'vitest';
import { applyItem } from '../../../../../src/cluster/listener/apply/apply.ts';
import { EnvSecrets } from '../../../../../src/cluster/listener/apply/env-secrets.ts';
import { IdentityRecords } from '../../../../../src/cluster/listener/apply/identity-records.ts';
import { PullSecrets } from '../../../../../src/cluster/listener/apply/pull-secret.ts';
import { type PurgeMemory, purgeItem } from '../../../../../src/cluster/listener/apply/purge.ts';
import { TenantNamespaces } from '../../../../../src/cluster/listener/apply/tenant-namespace.ts';
import { deploymentIdOf, inventoryItem } from '../../../../../src/cluster/listener/report/observe.ts';
import type { Resource } from '../../../../../src/cluster/listener/resource-view.ts';
import { LABELS } from '../../../../../src/contract/resource/names.ts';
import { recordingLogger } from '../../kube/support.ts';
import { applyWork, FakeCluster, NAME, NAMESPACE, OURS, purgeWork, specOf } from '../fixtures.ts';

const signal = new AbortController().signal;
const SECRET = `${NAME}-identity`;
let cluster: FakeCluster;
beforeEach(() => {
  cluster = new FakeCluster();
});

const parts = () => {
  const { client } = cluster;
  const logger = recordingLogger();
  return {
    client,
    view: cluster.view(),
    secrets: new EnvSecrets({ client, logger }),
    pullSecrets: new PullSecrets(client),
    identities: new IdentityRecords(client),
    namespaces: new TenantNamespaces({ client, podSecurity: 'restricted' as const, quota: null }),
    logger,
    guard: () => {},
  };
};
const ready = (reason: string) => ({ type: 'Ready', status: 'False', reason, message: `${reason}: by aaa` });
const unknown = (reason: string) => ({ type: 'Serving', status: 'Unknown', reason, message: '' });

/** The hub's resource with conditions of the operator. */
function resource(conditions: object[]): Resource {
  return cluster.put({
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ManagedDeployment',
    metadata: { name: NAME, namespace: NAMESPACE, labels: { ...OURS, [LABELS.tenantId]: 'x' } },
    spec: { ...specOf(1), tenantId: 'x' },
    status: { conditions },
  }) as unknown as Resource;
}
const stateOf = () => cluster.get('Secret', SECRET)?.metadata.labels?.[LABELS.identity];

describe('a resource that the operator blocks because of its identity', () => {
  it('is claimed, and the hub receives the reason until the operator has decided again', async () => {
    resource([ready('Conflict'), unknown('Conflict')]);
    const apply = () => applyItem(applyWork(), false, parts(), signal);
    await expect(apply()).rejects.toThrow('Conflict: by aaa');
    expect(stateOf()).toBe('claimed');
    await expect(apply()).rejects.toThrow('Conflict: by aaa');
    expect(cluster.writes().filter((call) => call.includes(SECRET))).toHaveLength(2);
    resource([]);
    expect(await apply()).toEqual({ kind: 'done' });
  });

  it('is not claimed when the conflict is about one of its objects', async () => {
    resource([ready('Conflict'), { ...unknown('Unavailable') }]);
    expect(await applyItem(applyWork(), false, parts(), signal)).toEqual({ kind: 'done' });
    expect(stateOf()).toBeUndefined();
  });

  it('has another hash in the inventory than the applied spec', () => {
    const whole = inventoryItem(resource([]));
    const held = inventoryItem(resource([ready('Conflict')]));
    expect(held?.spec_hash).not.toBe(whole?.spec_hash);
  });
});

describe('the identity record of a name', () => {
  it('is replaced by a claim when its deployment has left', async () => {
    const { identities } = parts();
    await identities.put(applyWork(), 'left', () => {}, signal);
    await identities.put(applyWork(), 'claimed', () => {}, signal);
    expect(stateOf()).toBe('claimed');
    expect(cluster.get('Secret', SECRET)).not.toHaveProperty('data');
  });

  it('does not replace a Secret that Berth did not create', async () => {
    cluster.put({ apiVersion: 'v1', kind: 'Secret', metadata: { name: SECRET, namespace: NAMESPACE } });
    const put = parts().identities.put(applyWork(), 'claimed', () => {}, signal);
    await expect(put).rejects.toThrow('exists that Berth did not create');
    expect(stateOf()).toBeUndefined();
  });

  it('is written before the deletion of a resource whose workloads are kept, and stays', async () => {
    resource([]);
    const memory: PurgeMemory = new Map();
    const item = purgeWork({ keep_workloads: true });
    expect(await purgeItem(item, memory, parts(), signal)).toMatchObject({ kind: 'wait' });
    expect(cluster.writes()).toEqual([`create Secret ${SECRET}`, `delete ManagedDeployment ${NAME}`]);
    expect(await purgeItem(item, memory, parts(), signal)).toEqual({ kind: 'done' });
    expect(stateOf()).toBe('left');
  });

  it('is deleted with a purged deployment', async () => {
    await parts().identities.put(applyWork(), 'claimed', () => {}, signal);
    await purgeItem(purgeWork(), new Map(), parts(), signal);
    expect(stateOf()).toBeUndefined();
  });
});

it('a deployment id in upper case does not belong to the hub', () => {
  const letters = '0190abcd-0000-7000-8000-00000000000a';
  expect(deploymentIdOf({ spec: { deploymentId: letters } } as Resource)).toBe(letters);
  expect(deploymentIdOf({ spec: { deploymentId: letters.toUpperCase() } } as Resource)).toBeNull();
});
