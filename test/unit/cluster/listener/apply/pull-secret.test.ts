import { beforeEach, describe, expect, it } from 'vitest';
import { PullSecrets } from '../../../../../src/cluster/listener/apply/pull-secret.ts';
import { applyWork, FakeCluster, NAME, NAMESPACE, OURS, TENANT } from '../fixtures.ts';

const signal = new AbortController().signal;
const PULL = `${NAME}-pull`;
let cluster: FakeCluster;
let secrets: PullSecrets;
beforeEach(() => {
  cluster = new FakeCluster();
  secrets = new PullSecrets(cluster.client);
});

const itemWith = (config: string) => applyWork({ pull_secret: { name: PULL, docker_config: config } });
const ensure = (config = '{"auths":{}}', repair = false, guard = () => {}) =>
  secrets.ensure(itemWith(config), repair, guard, signal);
const content = () =>
  Buffer.from(
    (cluster.get('Secret', PULL)?.['data'] as Record<string, string> | undefined)?.['.dockerconfigjson'] ??
      '',
    'base64',
  ).toString();

describe('the pull secret', () => {
  it('has the type that the kubelet reads and the deployment’s labels, and is immutable', async () => {
    await ensure();
    expect(cluster.get('Secret', PULL)).toMatchObject({
      type: 'kubernetes.io/dockerconfigjson',
      immutable: true,
      metadata: { namespace: NAMESPACE, labels: { ...OURS, 'app.kubernetes.io/part-of': NAME } },
    });
    expect(content()).toBe('{"auths":{}}');
    expect(JSON.stringify(cluster.calls)).not.toContain(TENANT);
  });

  it('is not created for an item without one', async () => {
    await secrets.ensure(applyWork(), true, () => {}, signal);
    expect(cluster.calls).toEqual([]);
  });

  it('needs one call the first time and none while it is unchanged, and is written again in a repair', async () => {
    await ensure();
    await ensure();
    expect(cluster.calls).toEqual([`create Secret ${PULL}`]);
    cluster.remove('Secret', PULL);
    await ensure(undefined, true);
    expect(content()).toBe('{"auths":{}}');
  });

  it('is not written by a new process of the listener when nothing differs', async () => {
    await ensure();
    const uid = cluster.get('Secret', PULL)?.metadata.uid;
    secrets = new PullSecrets(cluster.client);
    await ensure();
    expect(cluster.get('Secret', PULL)?.metadata.uid).toBe(uid);
    expect(cluster.writes()).toEqual([`create Secret ${PULL}`, `create Secret ${PULL}`]);
  });

  it('is replaced when its content or type differs, also after a write by another process', async () => {
    await ensure('old');
    await ensure('new');
    expect(content()).toBe('new');
    cluster.put({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: PULL, namespace: NAMESPACE, labels: OURS },
      type: 'Opaque',
      data: { '.dockerconfigjson': Buffer.from('new').toString('base64') },
    });
    await ensure('new', true);
    expect(cluster.get('Secret', PULL)).toMatchObject({ type: 'kubernetes.io/dockerconfigjson' });
  });

  it('causes a retryable conflict when an object of another owner has its name', async () => {
    cluster.put({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: PULL, namespace: NAMESPACE, labels: {} },
    });
    await expect(ensure()).rejects.toMatchObject({ reason: 'Conflict', retryable: true });
    expect(cluster.writes()).toEqual([`create Secret ${PULL}`]);
  });

  it('causes a retryable error while it is being deleted', async () => {
    const metadata = {
      name: PULL,
      namespace: NAMESPACE,
      labels: OURS,
      deletionTimestamp: '2030-01-01T00:00:00Z',
    };
    cluster.put({ apiVersion: 'v1', kind: 'Secret', metadata });
    await expect(ensure()).rejects.toMatchObject({ reason: 'ApplyRefused', retryable: true });
  });

  it('is not replaced once the lease is lost', async () => {
    await ensure('old');
    let writes = 0;
    const lost = () => {
      writes += 1;
      if (writes > 1) throw new Error('lost');
    };
    await expect(ensure('new', false, lost)).rejects.toThrow('lost');
    expect(content()).toBe('old');
  });
});
