import { beforeEach, describe, expect, it } from 'vitest';
import { type ApplyDeps, applyItem } from '../../../../../src/cluster/listener/apply/apply.ts';
import { EnvSecrets } from '../../../../../src/cluster/listener/apply/env-secrets.ts';
import { IdentityRecords } from '../../../../../src/cluster/listener/apply/identity-records.ts';
import { PullSecrets } from '../../../../../src/cluster/listener/apply/pull-secret.ts';
import { TenantNamespaces } from '../../../../../src/cluster/listener/apply/tenant-namespace.ts';
import { TermOver } from '../../../../../src/cluster/listener/refusal.ts';
import type { Resource } from '../../../../../src/cluster/listener/resource-view.ts';
import { LABELS } from '../../../../../src/contract/resource/names.ts';
import { contentHash } from '../../../../../src/domain/core/hash.ts';
import { recordingLogger } from '../../kube/support.ts';
import { applyWork, FakeCluster, NAME, NAMESPACE, OURS, specOf, TENANT, workSpec } from '../fixtures.ts';

const signal = new AbortController().signal;
let cluster: FakeCluster;
let deps: ApplyDeps;
let logger: ReturnType<typeof recordingLogger>;

function depsFor(more: Partial<ApplyDeps> = {}): ApplyDeps {
  const { client } = cluster;
  return {
    client,
    view: cluster.view(),
    secrets: new EnvSecrets({ client, logger }),
    pullSecrets: new PullSecrets(client),
    identities: new IdentityRecords(client),
    namespaces: new TenantNamespaces({ client, podSecurity: 'restricted', quota: null }),
    logger,
    guard: () => {},
    ...more,
  };
}
beforeEach(() => {
  cluster = new FakeCluster();
  logger = recordingLogger();
  deps = depsFor();
});

const apply = (item = applyWork(), repair = false) => applyItem(item, repair, deps, signal);
const live = () => cluster.get('ManagedDeployment', NAME) as unknown as Resource;
const secret = (number: number) => ({
  name: `${NAME}-env-${number}`,
  revision_number: number,
  revision_id: `r${number}`,
  data: { A: 'ü' },
});

/** The custom resource as a listener had applied it. */
function applied(generation: number, more: object = {}): void {
  const spec = specOf(generation, more);
  const annotations = { 'berth.dev/spec-hash': contentHash(workSpec(spec)) };
  cluster.put({
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ManagedDeployment',
    metadata: { name: NAME, namespace: NAMESPACE, labels: OURS, annotations },
    spec,
  });
}

describe('the custom resource', () => {
  it('is created with labels and the hash of its spec, after its environment', async () => {
    const item = applyWork({ env_secrets: [secret(1)] });
    expect(await apply(item)).toEqual({ kind: 'done' });
    expect(cluster.writes()).toEqual([`create Secret ${NAME}-env-1`, `create ManagedDeployment ${NAME}`]);
    expect(live().metadata.annotations).toEqual({ 'berth.dev/spec-hash': item.spec_hash });
    expect(cluster.get('Secret', `${NAME}-env-1`)).toMatchObject({
      immutable: true,
      data: { A: Buffer.from('ü').toString('base64') },
    });
  });

  it('is not written when nothing differs', async () => {
    applied(1);
    await apply();
    expect(cluster.writes()).toEqual([]);
  });

  it('is applied when the generation is newer or another account has edited it, even its generation', async () => {
    applied(1);
    await apply(applyWork({ generation: 2 }));
    expect(live().spec.recordGeneration).toBe(2);
    const edited = live();
    cluster.put({ ...edited, spec: { ...edited.spec, recordGeneration: 99, suspend: true } });
    await apply(applyWork({ generation: 2 }));
    expect(live().spec).toMatchObject({ recordGeneration: 2, suspend: false });
  });

  it('is marked when its host changes, until the certificate of the former host is removed', async () => {
    const routed = (generation: number, url?: string) => {
      const spec = workSpec(specOf(generation, url === undefined ? {} : { routing: { url } }));
      return applyWork({ generation, spec, spec_hash: contentHash(spec) });
    };
    const isNoted = () => live().metadata.annotations?.['berth.dev/former-host'] === 'true';
    const notes: boolean[] = [];
    for (const item of [
      routed(1, 'https://a.example.com'),
      routed(2, 'https://a.example.com/path'),
      routed(3, 'https://b.example.com'),
      routed(4),
    ]) {
      await apply(item);
      notes.push(isNoted());
    }
    expect(notes).toEqual([false, false, true, true]);
    const object = live();
    delete object.metadata.annotations?.['berth.dev/former-host'];
    cluster.put({ ...object });
    await apply(routed(5, 'https://c.example.com'));
    expect(isNoted()).toBe(false);
  });

  it('is not overwritten when another replica has applied a newer generation', async () => {
    applied(5);
    expect(await apply(applyWork({ generation: 4 }))).toEqual({ kind: 'late' });
    expect(live().spec.recordGeneration).toBe(5);
    expect(cluster.writes()).toEqual([]);
  });

  it('is overwritten when no hub could issue its generation, even if its annotation has the right hash', async () => {
    for (const generation of [2_000_000_000, 2_147_483_647]) {
      applied(generation, { suspend: true });
      expect(await apply(applyWork({ generation: 4 }))).toEqual({ kind: 'done' });
      expect(live().spec).toMatchObject({ recordGeneration: 4, suspend: false });
    }
  });

  it('is read again when it was deleted and created again between read and write', async () => {
    applied(1);
    const stale = live();
    cluster.remove('ManagedDeployment', NAME);
    applied(1);
    deps = depsFor({ view: cluster.view(stale) });
    await apply(applyWork({ generation: 2 }));
    expect(live().spec.recordGeneration).toBe(2);
    expect(cluster.writes()).toHaveLength(2);
  });

  it('is created with a create, not with the apply, when it was deleted between read and write', async () => {
    applied(1);
    const stale = live();
    cluster.remove('ManagedDeployment', NAME);
    deps = depsFor({ view: cluster.view(stale) });
    await apply(applyWork({ generation: 2 }));
    expect(cluster.writes()).toEqual([`apply ManagedDeployment ${NAME}`, `create ManagedDeployment ${NAME}`]);
  });

  it('is found, not created twice, when the response to its creation was lost', async () => {
    cluster.failures.set('create ManagedDeployment', ['lost']);
    await expect(apply()).rejects.toMatchObject({ kind: 'network' });
    await apply();
    expect(cluster.writes()).toHaveLength(1);
  });

  it('is not applied while it is being deleted', async () => {
    applied(1);
    const object = live();
    cluster.put({ ...object, metadata: { ...object.metadata, deletionTimestamp: '2030-01-01T00:00:00Z' } });
    expect((await apply(applyWork({ generation: 2 }))).kind).toBe('wait');
    expect(cluster.writes()).toEqual([]);
  });

  const other = (spec = specOf(1, { deploymentId: 'other' })) => ({
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ManagedDeployment',
    metadata: { name: NAME, namespace: NAMESPACE },
    spec,
  });
  const docker = { name: `${NAME}-pull`, docker_config: '{}' };

  it('is not changed when it belongs to another deployment; its name is recorded, and no Secret is created', async () => {
    cluster.put(other());
    const item = applyWork({ env_secrets: [secret(1)], pull_secret: docker });
    await expect(apply(item)).rejects.toMatchObject({ reason: 'Conflict', retryable: true });
    expect(cluster.writes()).toEqual([`create Secret ${NAME}-identity`]);
    expect(cluster.get('Secret', `${NAME}-identity`)?.metadata.labels).toMatchObject(OURS);
    expect(live().spec.deploymentId).toBe('other');
    cluster.remove('ManagedDeployment', NAME);
    await apply(item);
    expect(cluster.get('Secret', `${NAME}-env-1`)).toBeDefined();
  });

  it('leaves no Secrets of this deployment when another deployment takes its name meanwhile', async () => {
    cluster.before = (call) => call === 'create ManagedDeployment' && void cluster.put(other());
    const item = applyWork({ env_secrets: [secret(1)], pull_secret: docker });
    await expect(apply(item)).rejects.toMatchObject({ reason: 'Conflict', retryable: true });
    expect(cluster.get('Secret', `${NAME}-env-1`)).toBeUndefined();
    expect(cluster.get('Secret', docker.name)).toBeUndefined();
    cluster.before = () => {};
    cluster.remove('ManagedDeployment', NAME);
    await apply(item);
    expect(cluster.get('Secret', `${NAME}-env-1`)).toBeDefined();
    expect(cluster.get('Secret', docker.name)).toBeDefined();
  });

  it('leaves the Secrets of running workloads unchanged when it was lost and another deployment has its name', async () => {
    const item = applyWork({ env_secrets: [secret(1)], pull_secret: docker });
    await apply(item);
    const names = [`${NAME}-env-1`, docker.name];
    const uids = () => names.map((name) => cluster.get('Secret', name)?.metadata.uid);
    const before = uids();
    expect(before).not.toContain(undefined);
    cluster.remove('ManagedDeployment', NAME);
    cluster.put(other());
    for (const listener of [depsFor(), deps]) {
      deps = listener;
      await expect(apply(item, true)).rejects.toMatchObject({ reason: 'Conflict' });
      expect(uids()).toEqual(before);
    }
  });

  it.each([
    ['after a restart', false],
    ['during a repair', true],
  ])(
    'leaves older Secrets unchanged %s when another deployment takes its name meanwhile',
    async (_, repair) => {
      await apply(applyWork({ env_secrets: [secret(1)], pull_secret: docker }));
      const names = [`${NAME}-env-1`, docker.name];
      const uids = () => names.map((name) => cluster.get('Secret', name)?.metadata.uid);
      const before = uids();
      cluster.remove('ManagedDeployment', NAME);
      if (!repair) deps = depsFor();
      cluster.before = (call) => call === 'create ManagedDeployment' && void cluster.put(other());
      const item = applyWork({ generation: 2, env_secrets: [secret(1), secret(2)], pull_secret: docker });
      await expect(apply(item, repair)).rejects.toMatchObject({ reason: 'Conflict' });
      expect(uids()).toEqual(before);
      expect(cluster.get('Secret', `${NAME}-env-2`)).toBeUndefined();
    },
  );

  it('causes a conflict after several attempts when other accounts keep changing it', async () => {
    applied(1);
    cluster.before = (call) => call === 'apply ManagedDeployment' && void cluster.put({ ...live() });
    await expect(apply(applyWork({ generation: 2 }))).rejects.toMatchObject({ kind: 'conflict' });
    expect(cluster.writes()).toHaveLength(6);
  });

  it('is rejected without a retry in the namespace of Berth itself', async () => {
    deps = depsFor({ ownNamespace: NAMESPACE });
    await expect(apply()).rejects.toMatchObject({ reason: 'NamespaceNotAllowed', retryable: false });
    expect(cluster.calls).toEqual([]);
  });

  it('is rejected outside of the listener’s namespaces', async () => {
    await expect(apply(applyWork({ namespace: 'kube-system' }))).rejects.toMatchObject({
      reason: 'NamespaceNotAllowed',
    });
    expect(cluster.calls).toEqual([]);
  });
});

describe('the Secrets of an environment', () => {
  it('are created once and cached, and a repair checks them again', async () => {
    const item = applyWork({ env_secrets: [secret(1)] });
    await apply(item);
    await apply({ ...item, generation: 2 });
    expect(cluster.writes().filter((call) => call.includes('Secret'))).toHaveLength(1);
    cluster.remove('Secret', `${NAME}-env-1`);
    await apply(item, true);
    expect(cluster.get('Secret', `${NAME}-env-1`)).toBeDefined();
  });

  it('are accepted unchanged when they belong to the deployment, and cause a conflict otherwise', async () => {
    const metadata = { name: `${NAME}-env-1`, namespace: NAMESPACE };
    cluster.put({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { ...metadata, labels: { ...OURS, [LABELS.revisionId]: 'r1' } },
      data: { OLD: '' },
    });
    const item = applyWork({ env_secrets: [secret(1)] });
    await apply(item);
    expect(cluster.get('Secret', metadata.name)?.['data']).toEqual({ OLD: '' });
    cluster.put({ apiVersion: 'v1', kind: 'Secret', metadata: { ...metadata, labels: {} } });
    await expect(apply(item, true)).rejects.toMatchObject({ reason: 'Conflict' });
  });

  it('are replaced when they belong to another revision with the same number, as after a restore of the hub', async () => {
    const item = applyWork({ env_secrets: [secret(1)] });
    await apply(item);
    const before = cluster.get('Secret', `${NAME}-env-1`);
    const restored = { ...secret(1), revision_id: 'r1-again', data: { A: 'new' } };
    await apply({ ...item, generation: 2, env_secrets: [restored] });
    const after = cluster.get('Secret', `${NAME}-env-1`);
    expect(after?.['data']).toEqual({ A: Buffer.from('new').toString('base64') });
    expect(after?.metadata.uid).not.toBe(before?.metadata.uid);
    const name = `Secret ${NAME}-env-1`;
    expect(cluster.writes().filter((call) => call.endsWith(name))).toEqual([
      `create ${name}`,
      `create ${name}`,
      `delete ${name}`,
      `create ${name}`,
    ]);
  });

  it('are kept when another owner replaced them between read and deletion', async () => {
    const metadata = { name: `${NAME}-env-1`, namespace: NAMESPACE };
    const foreign = { apiVersion: 'v1', kind: 'Secret', metadata: { ...metadata, labels: {} } };
    cluster.put({ ...foreign, metadata: { ...metadata, labels: OURS } });
    cluster.before = (call) => {
      if (call !== 'delete Secret') return;
      cluster.remove('Secret', metadata.name);
      cluster.put(foreign);
    };
    const item = applyWork({ env_secrets: [secret(1)] });
    await expect(apply(item)).rejects.toMatchObject({ reason: 'ApplyRefused', retryable: true });
    expect(cluster.get('Secret', metadata.name)?.metadata.labels).toEqual({});
  });

  it('are removed and reported when no revision needs them, and a failed removal does not block the apply', async () => {
    const labels = { ...OURS };
    for (const number of [1, 2]) {
      cluster.put({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: `${NAME}-env-${number}`, namespace: NAMESPACE, labels: number === 1 ? labels : {} },
      });
    }
    const item = applyWork({
      env_secrets: [secret(12)],
      stale_env_revisions: [3, 2, 1],
    });
    cluster.failures.set('find Secret', ['server']);
    expect(await apply(item)).toEqual({ kind: 'done', gone: [] });
    expect(cluster.get('Secret', `${NAME}-env-1`)).toBeDefined();
    expect(await apply({ ...item, generation: 2, env_secrets: [secret(13)] })).toEqual({
      kind: 'done',
      gone: [3, 2, 1],
    });
    expect(cluster.get('Secret', `${NAME}-env-1`)).toBeUndefined();
    expect(cluster.get('Secret', `${NAME}-env-2`)).toBeDefined();
  });

  it('are removed even if no other change is due, and then no further call is made', async () => {
    await apply(applyWork());
    const metadata = { name: `${NAME}-env-1`, namespace: NAMESPACE, labels: { ...OURS } };
    cluster.put({ apiVersion: 'v1', kind: 'Secret', metadata });
    cluster.calls.length = 0;
    expect(await apply(applyWork({ stale_env_revisions: [2, 1] }))).toEqual({ kind: 'done', gone: [2, 1] });
    expect(cluster.writes()).toEqual([`delete Secret ${NAME}-env-1`]);
    cluster.calls.length = 0;
    expect(await apply(applyWork())).toEqual({ kind: 'done' });
    expect(cluster.calls).toEqual([]);
  });

  it('are reported as removed up to the first that cannot be removed', async () => {
    for (const number of [1, 2, 3]) {
      const metadata = { name: `${NAME}-env-${number}`, namespace: NAMESPACE, labels: { ...OURS } };
      cluster.put({ apiVersion: 'v1', kind: 'Secret', metadata });
    }
    cluster.before = (call) => {
      const left = [1, 2, 3].filter((number) => cluster.get('Secret', `${NAME}-env-${number}`));
      if (call === 'delete Secret' && left.length === 2) cluster.failures.set('delete Secret', ['server']);
    };
    const item = applyWork({ stale_env_revisions: [3, 2, 1] });
    expect(await apply(item)).toEqual({ kind: 'done', gone: [3] });
  });

  it('are kept when the cluster runs their revision, even if the hub does not know of it yet', async () => {
    const names = [4, 3, 2, 1].map((number) => `${NAME}-env-${number}`);
    for (const name of names) {
      cluster.put({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name, namespace: NAMESPACE, labels: { ...OURS } },
      });
    }
    await apply(applyWork());
    const live = cluster.get('ManagedDeployment', NAME);
    if (live === undefined) throw new Error('the resource is not there');
    const revision = (number: number) => ({ id: `r${number}`, number, templates: `${NAME}-${number}` });
    const status = {
      activeRevision: revision(1),
      rollout: { ...revision(3), startTime: '2026-01-01T00:00:00Z' },
      failedRevision: { ...revision(2), reason: 'CrashLoop', message: 'm' },
    };
    cluster.put({ ...live, status });
    const item = applyWork({ generation: 2, env_secrets: [secret(14)], stale_env_revisions: [4, 3, 2, 1] });
    expect(await apply(item)).toEqual({ kind: 'done', gone: [4] });
    expect(names.filter((name) => cluster.get('Secret', name) !== undefined)).toEqual(names.slice(1));
  });
});

describe('an apply', () => {
  it.each([
    ['before the environment', 0, []],
    ['before the custom resource', 1, [`create Secret ${NAME}-env-1`]],
  ])('stops when the term ends %s', async (_name, writes, expected) => {
    deps = depsFor({
      guard: () => {
        if (cluster.writes().length >= writes) throw new TermOver();
      },
    });
    await expect(apply(applyWork({ env_secrets: [secret(1)] }))).rejects.toBeInstanceOf(TermOver);
    expect(cluster.writes()).toEqual(expected);
  });
});

describe('the namespace of a tenant', () => {
  const namespace = `berth-${TENANT}`;
  const item = applyWork({ namespace, create_namespace: true });

  it('is created once for many deployments, even at the same time', async () => {
    await Promise.all([1, 2, 3].map((n) => apply({ ...item, name: `a-${n}` })));
    expect(cluster.writes().filter((call) => call === `create Namespace ${namespace}`)).toHaveLength(1);
  });

  it('is not used when it belongs to another tenant', async () => {
    cluster.put({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace, labels: { ...OURS, 'berth.dev/tenant-id': 'other' } },
    });
    await expect(apply(item)).rejects.toMatchObject({ reason: 'Conflict' });
  });
});
