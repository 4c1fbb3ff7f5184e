import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKubeClient } from '../../../../src/cluster/kube/client/client.ts';
import { TenantNamespaces } from '../../../../src/cluster/listener/apply/tenant-namespace.ts';
import { formerSpec } from '../../../../src/contract/resource/former-names.ts';
import { contentHash } from '../../../../src/domain/core/hash.ts';
import { resourceSpecSchema } from '../../../../src/domain/resource-spec/resource-spec.ts';
import type { DeploymentRecord } from '../../../../src/hub/store/core/records.ts';
import { requestDeletion } from '../../../../src/hub/store/deployments/deployments.ts';
import { waitFor } from '../../../cluster/wait.ts';
import { createNamespace, deleteNamespace, environment, kubectlAsAdmin } from '../../harness/environment.ts';
import {
  eventually,
  type ListenerFixture,
  RENDERING,
  type RunningListener,
  startListenerFixture,
} from '../../harness/listener.ts';

let fixture: ListenerFixture;
let listener: RunningListener;
beforeAll(async () => {
  fixture = await startListenerFixture('purge');
  listener = await fixture.start();
});
afterAll(() => fixture.stop());

const remove = async (record: DeploymentRecord) => {
  await fixture.hub.store.database.forTenant(fixture.tenantId).transaction((transaction) =>
    requestDeletion(transaction, fixture.tenantId, record.id, {
      deleteTracingProject: true,
      actor: { kind: 'system' },
    }),
  );
  fixture.hub.hints.notifyAll();
};
/**
 * The garbage collector discovers new kinds only every 30 s. Until then it does not notice deletions of custom
 * resources.
 */
const gone = (record: DeploymentRecord) =>
  waitFor(`${record.name} gone`, async () => ((await fixture.read(record.id)) === null ? true : undefined), {
    timeoutMs: 60_000,
  });

/** Objects that the operator creates and that outlive the custom resource. */
async function leftByOperator(
  { id, appName }: DeploymentRecord,
  namespace = fixture.namespace,
): Promise<void> {
  const metadata = (name: string) => ({
    name,
    namespace,
    labels: { 'app.kubernetes.io/managed-by': 'berth', 'berth.dev/deployment-id': id },
  });
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
  const items = [
    { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: metadata(`${appName}-db`), spec },
    { apiVersion: 'v1', kind: 'Secret', metadata: metadata(`${appName}-db`) },
    {
      apiVersion: 'apps/v1',
      kind: 'ControllerRevision',
      metadata: metadata(`${appName}-1`),
      revision: 1,
      data: {},
    },
  ];
  await kubectlAsAdmin(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
}
const left = async (appName: string) =>
  (await fixture.kubectl('get', 'mdep,pvc,secret,controllerrevision', '-o', 'name'))
    .split('\n')
    .filter((name) => name.includes(appName));

describe('a deletion', () => {
  it('leaves nothing of the deployment and everything of others', async () => {
    const secrets = [{ name: 'A', value: '1' }];
    const record = await fixture.deploy('going', { secrets });
    const other = await fixture.deploy('staying', { secrets });
    await fixture.acknowledged(record.id);
    await fixture.change(record, { secrets: { kind: 'values', secrets: [{ name: 'A', value: '2' }] } });
    await fixture.acknowledged(record.id);
    await fixture.acknowledged(other.id);
    await leftByOperator(record);
    await leftByOperator(other);
    // Same name prefix, but without the deployment's label: it must be kept.
    await fixture.kubectl('create', 'secret', 'generic', `${record.appName}-env-9`);
    expect(await left(record.appName)).toHaveLength(7);
    await remove(record);
    await gone(record);
    expect(await left(record.appName)).toEqual([`secret/${record.appName}-env-9`]);
    expect(await left(other.appName)).toHaveLength(5);
    const projects = await fixture.hub.store.sql<{ name: string }>(
      'SELECT name FROM tracing_projects WHERE tenant_id = $1',
      [fixture.tenantId],
    );
    expect(projects.map(({ name }) => name)).not.toContain('going');
  });

  it('waits for a slow custom resource without delaying others', async () => {
    const record = await fixture.deploy('slow');
    await fixture.acknowledged(record.id);
    await fixture.kubectl(
      'patch',
      'mdep',
      record.appName,
      '--type=merge',
      '-p',
      '{"metadata":{"finalizers":["test.example/wait"]}}',
    );
    await remove(record);
    await fixture.until(record, 'being deleted', ({ metadata }) => metadata.deletionTimestamp !== undefined);
    const other = await fixture.deploy('meanwhile');
    await fixture.acknowledged(other.id);
    expect(await fixture.read(record.id)).toMatchObject({ status: 'AWAITING_DELETE' });
    await fixture.kubectl(
      'patch',
      'mdep',
      record.appName,
      '--type=merge',
      '-p',
      '{"metadata":{"finalizers":null}}',
    );
    await gone(record);
  });

  it('ends without leftovers when the deployment never reached the cluster', async () => {
    const record = await fixture.deploy('never', { namespace: fixture.namespace, appName: 'Not A Name' });
    await remove(record);
    await gone(record);
  });

  it('removes the old deployment when a new one of the same name is created at once', async () => {
    const old = await fixture.deploy('again');
    await fixture.acknowledged(old.id);
    await remove(old);
    const young = await fixture.deploy('again');
    await gone(old);
    await fixture.acknowledged(young.id);
    expect(await left(old.appName)).toEqual([]);
    expect(await left(young.appName)).toHaveLength(1);
  });

  it('is repeated when an object comes back afterwards', async () => {
    const record = await fixture.deploy('ghost');
    await fixture.acknowledged(record.id);
    const { metadata, spec } = (await fixture.mdep(record.appName)) ?? {};
    await remove(record);
    await gone(record);
    const { name, annotations } = metadata ?? {};
    const ghost = {
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'ManagedDeployment',
      metadata: { name, annotations },
      spec,
    };
    await kubectlAsAdmin(['create', '-n', fixture.namespace, '-f', '-'], JSON.stringify(ghost));
    await eventually('removed again', async () =>
      (await left(record.appName)).length === 0 ? true : undefined,
    );
  });
});

describe('a namespace of a tenant', () => {
  it('is created with its level, policy and quota, and kept when the deployment is deleted', async () => {
    const namespace = `berth-${fixture.tenantId}`;
    await listener.stop();
    const cloud = await fixture.start({
      namespaces: [],
      rendering: { ...RENDERING, podSecurity: 'restricted' },
    });
    const record = await fixture.deploy('cloudy', { namespace });
    await fixture.acknowledged(record.id);
    const get = async (...args: string[]) => JSON.parse(await kubectlAsAdmin(['get', ...args, '-o', 'json']));
    expect((await get('namespace', namespace)).metadata.labels).toMatchObject({
      'pod-security.kubernetes.io/enforce': 'restricted',
      'berth.dev/tenant-id': fixture.tenantId,
    });
    expect((await get('networkpolicy', 'berth-default-deny', '-n', namespace)).spec).toMatchObject({
      podSelector: {},
    });
    // The API server normalizes quantities: 512 cores, 1 TiB.
    const hard = {
      'requests.cpu': '512',
      'requests.memory': '1Ti',
      'requests.storage': '2Ti',
      persistentvolumeclaims: '200',
      'count/secrets': '5k',
      'services.loadbalancers': '0',
      'services.nodeports': '0',
    };
    const quota = async () => (await get('resourcequota', 'berth-tenant', '-n', namespace)).spec.hard;
    expect(await quota()).toEqual(hard);
    const [limits] = (await get('limitrange', 'berth-container-defaults', '-n', namespace)).spec.limits;
    expect(limits).toMatchObject({ type: 'Container', default: { cpu: '1', memory: '1Gi' } });
    // A changed quota of the tenant is applied with its next work item.
    await fixture.hub.store.sql('UPDATE tenants SET quotas = $2 WHERE id = $1', [
      fixture.tenantId,
      JSON.stringify({ cpu: 1000, storage_gi: null }),
    ]);
    const second = await fixture.deploy('cloudy-too', { namespace });
    await fixture.acknowledged(second.id);
    const { 'requests.storage': _, ...others } = hard;
    expect(await quota()).toEqual({ ...others, 'requests.cpu': '2k' });
    await remove(second);
    await gone(second);
    await remove(record);
    await gone(record);
    await get('namespace', namespace);
    await cloud.stop();
    await deleteNamespace(namespace);
    listener = await fixture.start();
  });

  it('is not used when it belongs to another owner', async () => {
    const { tenantId } = fixture;
    const name = await createNamespace('foreign');
    const client = await createKubeClient({ ...environment(), userAgent: 'test', requestTimeoutMs: 5000 });
    const namespaces = new TenantNamespaces({ client, podSecurity: 'restricted', quota: null });
    await expect(
      namespaces.ensure({ name, tenantId, quotas: undefined }, () => undefined, new AbortController().signal),
    ).rejects.toMatchObject({ reason: 'Conflict' });
    await client.close();
    await deleteNamespace(name);
  });
});

describe('the resource that the listener sends', () => {
  it.each(['everything', 'shop', 'web-api', 'internal-image'])(
    'equals the stored one for %s',
    async (sample) => {
      const { source, source_config } = JSON.parse(readFileSync(`test/samples/${sample}.json`, 'utf8'));
      const template = await fixture.deploy(`template-${sample}`);
      const record = await fixture.deploy(sample, {
        source,
        sourceConfig: {
          ...template.sourceConfig,
          deployment_type: source_config.deployment_type ?? null,
          resource_spec: resourceSpecSchema.parse(source_config.resource_spec ?? {}),
        },
      });
      await fixture.acknowledged(record.id);
      const { spec, metadata } = await fixture.until(record, 'there', () => true);
      expect(contentHash(formerSpec(spec))).toBe(metadata.annotations['berth.dev/spec-hash']);
    },
  );
});
