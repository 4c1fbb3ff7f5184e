import { beforeEach, describe, expect, test } from 'vitest';
import { applyItem } from '../../../../../src/cluster/listener/apply/apply.ts';
import { EnvSecrets } from '../../../../../src/cluster/listener/apply/env-secrets.ts';
import { IdentityRecords } from '../../../../../src/cluster/listener/apply/identity-records.ts';
import { PullSecrets } from '../../../../../src/cluster/listener/apply/pull-secret.ts';
import { TenantNamespaces } from '../../../../../src/cluster/listener/apply/tenant-namespace.ts';
import type { Resource } from '../../../../../src/cluster/listener/resource-view.ts';
import { ANNOTATIONS } from '../../../../../src/contract/resource/names.ts';
import { recordingLogger } from '../../kube/support.ts';
import { applyWork, FakeCluster, NAME, NAMESPACE, OURS, specOf, workSpec } from '../fixtures.ts';

/** The annotation that binds the confirmation of a removal to one claim. */

const CLAIM = `${NAME}-db`;
const OFF = { database: { enabled: false } };
const REMOVED = { database: { enabled: false, removeVolume: true } };

let cluster: FakeCluster;
beforeEach(() => {
  cluster = new FakeCluster();
});

async function apply(generation: number, more: object, item: object = {}): Promise<void> {
  const { client } = cluster;
  const logger = recordingLogger();
  const deps = {
    client,
    view: cluster.view(),
    secrets: new EnvSecrets({ client, logger }),
    pullSecrets: new PullSecrets(client),
    identities: new IdentityRecords(client),
    namespaces: new TenantNamespaces({ client, podSecurity: 'restricted' as const, quota: null }),
    logger,
    guard: () => {},
  };
  const spec = workSpec(specOf(generation, more));
  await applyItem(applyWork({ generation, spec, ...item }), false, deps, new AbortController().signal);
}

const live = () => cluster.get('ManagedDeployment', NAME) as unknown as Resource;
const noted = () => live().metadata.annotations?.[ANNOTATIONS.claimToRemove];
function newClaim(): string {
  cluster.remove('PersistentVolumeClaim', CLAIM);
  const metadata = { name: CLAIM, namespace: NAMESPACE, labels: OURS };
  return cluster.put({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata }).metadata.uid ?? '';
}

describe('the confirmation of a removal', () => {
  test('applies to the claim that exists when it is applied, and not to a later one', async () => {
    await apply(1, OFF);
    expect(noted()).toBeUndefined();
    const uid = newClaim();
    await apply(2, REMOVED);
    expect(noted()).toBe(uid);
    newClaim();
    await apply(3, { ...REMOVED, cache: { enabled: false } });
    expect(noted()).toBe(uid);
  });

  test('applies to no claim when none existed', async () => {
    await apply(1, OFF);
    await apply(2, REMOVED);
    newClaim();
    await apply(3, { ...REMOVED, cache: { enabled: false } });
    expect(noted()).toBe('none');
  });

  test('applies to the present claim when it is taken back and given again', async () => {
    await apply(1, OFF);
    newClaim();
    await apply(2, REMOVED);
    const restored = newClaim();
    await apply(3, OFF);
    expect(noted()).toBeUndefined();
    await apply(4, REMOVED);
    expect(noted()).toBe(restored);
  });

  test('applies to no claim when the custom resource is created again or has lost the note', async () => {
    newClaim();
    await apply(1, REMOVED);
    expect(noted()).toBe('none');
    const { metadata, ...others } = live();
    const { [ANNOTATIONS.claimToRemove]: _, ...annotations } = metadata.annotations ?? {};
    cluster.put({ ...others, metadata: { ...metadata, annotations } } as never);
    await apply(2, { ...REMOVED, cache: { enabled: false } });
    expect(noted()).toBe('none');
  });

  test('applies to the claim whose removal has begun, also when the custom resource is created again', async () => {
    newClaim();
    await apply(1, REMOVED, { claim_to_remove: 'begun' });
    expect(noted()).toBe('begun');
    const { metadata, ...others } = live();
    const { [ANNOTATIONS.claimToRemove]: _, ...annotations } = metadata.annotations ?? {};
    cluster.put({ ...others, metadata: { ...metadata, annotations } } as never);
    await apply(1, REMOVED, { claim_to_remove: 'begun' });
    expect(noted()).toBe('begun');
  });

  test('applies to no claim when it is older than the edited spec in the cluster, as after a restore of the hub', async () => {
    await apply(7, {});
    newClaim();
    const { spec, ...others } = live();
    cluster.put({ ...others, spec: { ...spec, suspend: true } } as never);
    await apply(5, REMOVED);
    expect(noted()).toBe('none');
  });

  test('reads no claim when nothing is confirmed', async () => {
    await apply(1, OFF);
    await apply(2, {});
    expect(cluster.calls.filter((call) => call.startsWith('list'))).toEqual([]);
  });
});
