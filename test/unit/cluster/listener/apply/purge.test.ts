import { beforeEach, describe, expect, it } from 'vitest';
import { EnvSecrets } from '../../../../../src/cluster/listener/apply/env-secrets.ts';
import { IdentityRecords } from '../../../../../src/cluster/listener/apply/identity-records.ts';
import { type PurgeMemory, purgeItem } from '../../../../../src/cluster/listener/apply/purge.ts';
import { hostHash } from '../../../../../src/contract/resource/names.ts';
import { recordingLogger } from '../../kube/support.ts';
import { FakeCluster, ID, NAME, NAMESPACE, OURS, purgeWork, specOf } from '../fixtures.ts';

const signal = new AbortController().signal;
let cluster: FakeCluster;
let memory: PurgeMemory;
beforeEach(() => {
  cluster = new FakeCluster();
  memory = new Map();
});

const NOW = new Date('2026-01-01T00:05:00Z');
function purgeOnce(item = purgeWork({ env_secrets: [`${NAME}-env-1`] })) {
  const { client } = cluster;
  const secrets = new EnvSecrets({ client, logger: recordingLogger() });
  const identities = new IdentityRecords(client);
  const deps = { client, view: cluster.view(), secrets, identities, guard: () => {}, now: () => NOW };
  return purgeItem(item, memory, deps, signal);
}
const put = (apiVersion: string, kind: string, name: string, more: object = {}) =>
  cluster.put({ apiVersion, kind, metadata: { name, namespace: NAMESPACE, labels: OURS }, ...more });

/**
 * Repeats the purge until nothing is left. Objects that are being deleted in the foreground disappear between the
 * checks.
 */
async function purge(item?: ReturnType<typeof purgeWork>): Promise<number> {
  for (let round = 1; round < 20; round += 1) {
    if ((await purgeOnce(item)).kind === 'done') return round;
    cluster.remove('ManagedDeployment', NAME);
  }
  throw new Error('it never ends');
}

describe('a purge', () => {
  it('deletes the custom resource first, in the foreground, and waits for it before it deletes the rest', async () => {
    put('berth.dev/v1alpha1', 'ManagedDeployment', NAME, { spec: specOf(1) });
    put('v1', 'PersistentVolumeClaim', `${NAME}-db`);
    expect(await purgeOnce()).toMatchObject({ kind: 'wait' });
    expect(await purgeOnce()).toMatchObject({ kind: 'wait' });
    expect(cluster.writes()).toEqual([`delete ManagedDeployment ${NAME}`]);
    expect(cluster.get('PersistentVolumeClaim', `${NAME}-db`)).toBeDefined();
  });

  it('deletes all objects of the deployment, and no others', async () => {
    put('berth.dev/v1alpha1', 'ManagedDeployment', NAME, {
      spec: specOf(1, { revision: { number: 7, envSecretName: `${NAME}-env-7` } }),
    });
    for (const name of [`${NAME}-env-1`, `${NAME}-env-7`, `${NAME}-db`, `${NAME}-pull`])
      put('v1', 'Secret', name);
    put('v1', 'PersistentVolumeClaim', `${NAME}-db`);
    put('apps/v1', 'ControllerRevision', `${NAME}-1`);
    const foreign = { 'berth.dev/deployment-id': ID };
    cluster.put({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'copy', namespace: NAMESPACE, labels: foreign },
    });
    cluster.put({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'other', namespace: NAMESPACE, labels: {} },
    });
    await purge(purgeWork({ env_secrets: [`${NAME}-env-1`, 'other'] }));
    expect([...cluster.objects.keys()].sort()).toEqual([
      `PersistentVolumeClaim ${NAMESPACE}/copy`,
      `Secret ${NAMESPACE}/other`,
    ]);
  });

  it('deletes the certificates of its hosts, which have no label', async () => {
    const certificate = (name: string) => {
      const annotations = { 'cert-manager.io/certificate-name': name };
      cluster.put({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name, namespace: NAMESPACE, annotations },
      });
    };
    const [own, other] = ['shop.example.org', 'other.example.org'].map(
      (host) => `${NAME}-tls-${hostHash(host)}`,
    );
    for (const name of [`${NAME}-tls`, own, other]) certificate(name ?? '');
    await purge(purgeWork({ domains: ['shop.example.org'] }));
    expect([...cluster.objects.keys()]).toEqual([`Secret ${NAMESPACE}/${other}`]);
  });

  it('deletes the certificates of hosts that were removed just before, which only the custom resource names', async () => {
    const [noted, applied, other] = ['noted.example.org', 'applied.example.org', 'other.example.org'];
    const secretOf = (host = '') => `${NAME}-tls-${hostHash(host)}`;
    for (const name of [noted, applied, other].map(secretOf)) {
      const annotations = { 'cert-manager.io/certificate-name': name };
      cluster.put({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name, namespace: NAMESPACE, annotations },
      });
    }
    const resource = (name: string, spec: object, host = '') => {
      const annotations = { 'berth.dev/former-domains': hostHash(host) };
      const metadata = { name, namespace: NAMESPACE, labels: OURS, annotations };
      cluster.put({ apiVersion: 'berth.dev/v1alpha1', kind: 'ManagedDeployment', metadata, spec });
    };
    resource(NAME, specOf(1, { routing: { domains: [applied] } }), noted);
    await purge(purgeWork({ domains: [] }));
    expect([...cluster.objects.keys()]).toEqual([`Secret ${NAMESPACE}/${secretOf(other)}`]);
    resource(NAME, specOf(1, { deploymentId: 'other' }), other);
    await purgeOnce(purgeWork({ domains: [] }));
    expect(cluster.get('Secret', secretOf(other))).toBeDefined();
  });

  it('checks often at first, and less often later', async () => {
    put('berth.dev/v1alpha1', 'ManagedDeployment', NAME, { spec: specOf(1) });
    const waits: unknown[] = [];
    for (let i = 0; i < 20; i += 1) waits.push(await purgeOnce());
    const ms = waits.map((result) => (result as { ms: number }).ms);
    expect(ms.slice(0, 11)).toEqual(Array(11).fill(500));
    expect(ms.slice(11)).toEqual([1000, 1500, 2000, 2500, 3000, 3000, 3000, 3000, 3000]);
  });

  it('is done at once when nothing exists', async () => {
    expect(await purge()).toBe(1);
    expect(cluster.writes()).toEqual([]);
  });

  it('keeps a custom resource of the same name that belongs to another deployment', async () => {
    put('berth.dev/v1alpha1', 'ManagedDeployment', NAME, { spec: specOf(1, { deploymentId: 'other' }) });
    expect((await purgeOnce()).kind).toBe('done');
    expect(cluster.get('ManagedDeployment', NAME)).toBeDefined();
  });

  it('waits while a claim is being deleted', async () => {
    put('v1', 'PersistentVolumeClaim', `${NAME}-db`);
    const claim = cluster.get('PersistentVolumeClaim', `${NAME}-db`);
    if (claim !== undefined)
      cluster.put({ ...claim, metadata: { ...claim.metadata, deletionTimestamp: 'now' } });
    expect((await purgeOnce()).kind).toBe('wait');
    expect(cluster.writes()).toEqual([]);
  });

  it('keeps an object that was created again between read and deletion', async () => {
    put('v1', 'Secret', `${NAME}-db`);
    cluster.before = (call) => {
      if (call !== 'delete Secret') return;
      cluster.before = () => {};
      cluster.remove('Secret', `${NAME}-db`);
      put('v1', 'Secret', `${NAME}-db`);
    };
    await purgeOnce();
    expect(cluster.get('Secret', `${NAME}-db`)).toBeDefined();
  });
});

describe('the reported blocker of a purge', () => {
  const SINCE = '2026-01-01T00:00:00Z';
  const leaving = (
    apiVersion: string,
    kind: string,
    name: string,
    metadata: object = {},
    more: object = {},
  ) =>
    cluster.put({
      apiVersion,
      kind,
      metadata: { name, namespace: NAMESPACE, labels: OURS, deletionTimestamp: SINCE, ...metadata },
      ...more,
    });
  const held = { finalizers: ['example.com/hold'] };
  const holdOf = async () => ((await purgeOnce()) as { hold?: { reason: string; message: string } }).hold;
  const lookOften = async () => {
    for (let round = 0; round < 12; round += 1) await purgeOnce();
  };

  it.each([
    ['v1', 'PersistentVolumeClaim', `${NAME}-db`],
    ['apps/v1', 'ControllerRevision', `${NAME}-1`],
    ['v1', 'Secret', `${NAME}-db`],
    ['v1', 'Secret', `${NAME}-env-1`],
  ])('is a finalizer on the %s %s %s, without a delay', async (apiVersion, kind, name) => {
    leaving(apiVersion, kind, name, held);
    const hold = await holdOf();
    expect(hold?.reason).toBe('FinalizerBlocks');
    expect(hold?.message).toContain(`${kind} ${name} is being deleted`);
    expect(hold?.message).toContain('example.com/hold');
    expect(cluster.writes()).toEqual([]);
    cluster.remove(kind, name);
    expect((await purgeOnce()).kind).toBe('done');
  });

  it('is a finalizer on the custom resource, or the reason in its status', async () => {
    const name = NAME;
    leaving('berth.dev/v1alpha1', 'ManagedDeployment', name, held, { spec: specOf(1) });
    expect((await holdOf())?.message).toContain(`ManagedDeployment ${name} is being deleted`);
    const conditions = [
      { type: 'Ready', status: 'False', reason: 'FinalizerBlocks', message: 'Service x is held' },
    ];
    leaving('berth.dev/v1alpha1', 'ManagedDeployment', name, held, {
      spec: specOf(1),
      status: { conditions },
    });
    expect(await holdOf()).toEqual({ reason: 'FinalizerBlocks', message: 'Service x is held' });
  });

  it('is the custom resource when it waits for some time without a reported reason', async () => {
    leaving('berth.dev/v1alpha1', 'ManagedDeployment', NAME, {}, { spec: specOf(1) });
    expect(await holdOf()).toBeUndefined();
    for (let round = 0; round < 20; round += 1) await purgeOnce();
    expect(await holdOf()).toMatchObject({ reason: 'DependentsLeft' });
  });

  it('is any pod that uses the claim, and then the finalizer of the claim', async () => {
    leaving('v1', 'PersistentVolumeClaim', `${NAME}-db`, { finalizers: ['kubernetes.io/pvc-protection'] });
    const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: `${NAME}-db` } }];
    const pod = (name: string, phase: string) =>
      cluster.put({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name, namespace: NAMESPACE },
        spec: { volumes, nodeName: 'node-1' },
        status: { phase },
      });
    pod('backup', 'Running');
    pod('old', 'Succeeded');
    expect(await holdOf()).toBeUndefined();
    await lookOften();
    const hold = await holdOf();
    expect(hold).toMatchObject({ reason: 'VolumeInUse', message: expect.stringContaining('Pod backup') });
    expect(hold?.message).not.toContain('Pod old');
    cluster.remove('Pod', 'backup');
    expect(await holdOf()).toMatchObject({
      reason: 'FinalizerBlocks',
      message: expect.stringContaining('kubernetes.io/pvc-protection'),
    });
  });

  it('is a pod that its node does not end, or a pod whose owner is missing', async () => {
    leaving('v1', 'Pod', 'web-1', {}, { spec: { nodeName: 'node-1' }, status: { phase: 'Running' } });
    await lookOften();
    expect(await holdOf()).toMatchObject({
      reason: 'PodNotEnding',
      message: expect.stringContaining('node-1'),
    });
    cluster.remove('Pod', 'web-1');
    const ownerReferences = [
      { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-x', uid: 'u', controller: true },
    ];
    put('v1', 'Pod', 'web-2');
    const web = cluster.get('Pod', 'web-2');
    cluster.put({ ...web, metadata: { ...web?.metadata, ownerReferences } } as never);
    expect(await holdOf()).toMatchObject({
      reason: 'DependentsLeft',
      message: expect.stringContaining('ReplicaSet web-x'),
    });
  });

  it('is also the namespace, with its remaining content', async () => {
    leaving('v1', 'PersistentVolumeClaim', `${NAME}-db`, held);
    const conditions = [
      { type: 'NamespaceContentRemaining', status: 'True', message: 'Some resources are remaining: pvc' },
      { type: 'NamespaceDeletionDiscoveryFailure', status: 'False', message: 'all found' },
    ];
    const metadata = { name: NAMESPACE, namespace: '', deletionTimestamp: SINCE };
    cluster.put({ apiVersion: 'v1', kind: 'Namespace', metadata, status: { conditions } });
    await lookOften();
    const hold = await holdOf();
    expect(hold?.message).toContain(`Namespace ${NAMESPACE} is being deleted`);
    expect(hold?.message).toContain('Some resources are remaining: pvc');
    expect(hold?.message).not.toContain('all found');
  });

  it.each([
    ['delete PersistentVolumeClaim', 'DeletionRefused'],
    ['list ControllerRevision', 'DeletionRefused'],
    ['delete ManagedDeployment', 'DeletionRefused'],
  ])('is a rejected call (%s), which is repeated until it succeeds', async (call, reason) => {
    if (call.endsWith('ManagedDeployment')) {
      put('berth.dev/v1alpha1', 'ManagedDeployment', NAME, { spec: specOf(1) });
    }
    put('v1', 'PersistentVolumeClaim', `${NAME}-db`);
    put('v1', 'Secret', `${NAME}-db`);
    cluster.failures.set(call, ['forbidden', 'invalid']);
    expect(await purgeOnce()).toMatchObject({ kind: 'wait', hold: { reason } });
    expect(await purgeOnce()).toMatchObject({ kind: 'wait', hold: { reason } });
    await purge();
    expect(cluster.objects.size).toBe(0);
  });

  it('does not include a server error, which is thrown', async () => {
    cluster.failures.set('list PersistentVolumeClaim', ['server']);
    await expect(purgeOnce()).rejects.toThrow('server');
  });
});
