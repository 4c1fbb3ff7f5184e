import { beforeEach, describe, expect, it } from 'vitest';
import { EnvSecrets } from '../../../src/listener/env-secrets.ts';
import { type PurgeMemory, purgeItem } from '../../../src/listener/purge.ts';
import { recordingLogger } from '../kube/support.ts';
import { FakeCluster, ID, NAME, NAMESPACE, OURS, purgeWork, specOf } from './fixtures.ts';

const signal = new AbortController().signal;
let cluster: FakeCluster;
let memory: PurgeMemory;
beforeEach(() => {
  cluster = new FakeCluster();
  memory = new Map();
});

function look(item = purgeWork({ env_secrets: [`${NAME}-env-1`] })) {
  const { client } = cluster;
  const secrets = new EnvSecrets({ client, logger: recordingLogger() });
  return purgeItem(item, memory, { client, view: cluster.view(), secrets, guard: () => {} }, signal);
}
const put = (apiVersion: string, kind: string, name: string, more: object = {}) =>
  cluster.put({ apiVersion, kind, metadata: { name, namespace: NAMESPACE, labels: OURS }, ...more });

/** Looks until nothing is left; what is being deleted in the foreground goes between the looks. */
async function purge(item?: ReturnType<typeof purgeWork>): Promise<number> {
  for (let looks = 1; looks < 20; looks += 1) {
    if ((await look(item)).kind === 'done') return looks;
    cluster.remove('ManagedDeployment', NAME);
  }
  throw new Error('it never ends');
}

describe('purge', () => {
  it('removes the custom resource first, in the foreground, and looks on before it touches the rest', async () => {
    put('berth.dev/v1alpha1', 'ManagedDeployment', NAME, { spec: specOf(1) });
    put('v1', 'PersistentVolumeClaim', `${NAME}-db`);
    expect(await look()).toMatchObject({ kind: 'wait' });
    expect(await look()).toMatchObject({ kind: 'wait' });
    expect(cluster.writes()).toEqual([`delete ManagedDeployment ${NAME}`]);
    expect(cluster.get('PersistentVolumeClaim', `${NAME}-db`)).toBeDefined();
  });

  it('removes what is ours, twice looked for, and nothing foreign', async () => {
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

  it('looks soon while it goes on as it should, and less often at what hangs', async () => {
    put('berth.dev/v1alpha1', 'ManagedDeployment', NAME, { spec: specOf(1) });
    const waits: unknown[] = [];
    for (let i = 0; i < 20; i += 1) waits.push(await look());
    const ms = waits.map((result) => (result as { ms: number }).ms);
    expect(ms.slice(0, 11)).toEqual(Array(11).fill(500));
    expect(ms.slice(11)).toEqual([1000, 1500, 2000, 2500, 3000, 3000, 3000, 3000, 3000]);
  });

  it('of what is not there is done at once', async () => {
    expect(await purge()).toBe(1);
    expect(cluster.writes()).toEqual([]);
  });

  it('leaves a custom resource of the same name that is another’s', async () => {
    put('berth.dev/v1alpha1', 'ManagedDeployment', NAME, { spec: specOf(1, { deploymentId: 'other' }) });
    expect((await look()).kind).toBe('done');
    expect(cluster.get('ManagedDeployment', NAME)).toBeDefined();
  });

  it('does not count as done while a volume is protected', async () => {
    put('v1', 'PersistentVolumeClaim', `${NAME}-db`);
    const claim = cluster.get('PersistentVolumeClaim', `${NAME}-db`);
    if (claim !== undefined)
      cluster.put({ ...claim, metadata: { ...claim.metadata, deletionTimestamp: 'now' } });
    expect((await look()).kind).toBe('wait');
    expect(cluster.writes()).toEqual([]);
  });

  it('that is made anew between looking and deleting keeps the new one', async () => {
    put('v1', 'Secret', `${NAME}-db`);
    cluster.before = (call) => {
      if (call !== 'delete Secret') return;
      cluster.before = () => {};
      cluster.remove('Secret', `${NAME}-db`);
      put('v1', 'Secret', `${NAME}-db`);
    };
    await look();
    expect(cluster.get('Secret', `${NAME}-db`)).toBeDefined();
  });
});
