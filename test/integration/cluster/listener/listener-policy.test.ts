/** What the listener's account may write in cloud mode: the rights and the policy of the chart in a real API server. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { waitFor } from '../../../cluster/wait.ts';
import { startWholeBerth, type WholeBerth } from '../../harness/berth.ts';
import { type BoundedListener, boundedListener } from '../../harness/bounded-listener.ts';
import { createNamespace, deleteNamespace, kubectlAsAdmin } from '../../harness/environment.ts';

const ENFORCE = 'pod-security.kubernetes.io/enforce';
const folder = mkdtempSync(join(realpathSync(tmpdir()), 'berth-test-bounds-'));
let listener: BoundedListener;
/** Namespace of a tenant. */
let tenant: string;
/** Namespace of another program. */
let foreign: string;

const labelsOf = (id: string) => ({
  'app.kubernetes.io/managed-by': 'berth',
  'berth.dev/tenant-id': id,
  [ENFORCE]: 'restricted',
});
const namespaceOf = (id: string, more: object = {}, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: `berth-${id}`, labels: { ...labelsOf(id), ...more }, ...metadata },
});

/**
 * Dry run with the listener's account.
 * @returns 'allowed', or the message of the API server
 */
async function attempt(args: readonly string[], object?: object): Promise<string> {
  const input = object === undefined ? undefined : JSON.stringify(object);
  return listener.run([...args, '--dry-run=server'], input).then(
    () => 'allowed',
    (error: Error) => error.message,
  );
}
const create = (object: object) => attempt(['create', '-f', '-'], object);
const apply = (object: object) => attempt(['apply', '--server-side', '--force-conflicts', '-f', '-'], object);
const patch = (name: string, change: object, ...more: string[]) =>
  attempt(['patch', 'namespace', name, '--type=merge', '-p', JSON.stringify(change), ...more]);
const label = (name: string, labels: Readonly<Record<string, string | null | undefined>>) =>
  patch(name, { metadata: { labels } });

const POLICY = /denied request: the listener of Berth may/;

beforeAll(async () => {
  listener = await boundedListener(folder);
  foreign = await createNamespace('foreign');
  const made = namespaceOf(randomUUID());
  tenant = made.metadata.name;
  await listener.run(['create', '-f', '-'], JSON.stringify(made));
}, 120_000);
afterAll(async () => {
  await Promise.all([tenant, foreign].map((name) => name && deleteNamespace(name)));
  await listener?.remove();
  rmSync(folder, { recursive: true, force: true });
});

const inside = (namespace: string): object[] => [
  {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'open', namespace },
    spec: { podSelector: {}, ingress: [{}], egress: [{}] },
  },
  {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'a', namespace },
    spec: { hard: { pods: '0' } },
  },
  { apiVersion: 'v1', kind: 'LimitRange', metadata: { name: 'a', namespace }, spec: { limits: [] } },
  { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a', namespace }, data: {} },
  {
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ManagedDeployment',
    metadata: { name: 'a', namespace },
    spec: { revision: {}, database: { external: true }, cache: { external: true } },
  },
];

describe('the listener with the rights of its ClusterRole', () => {
  it('writes in the namespace of a tenant', async () => {
    for (const object of inside(tenant)) expect(await create(object)).toBe('allowed');
  });

  it('deletes in the namespace of a tenant, and not in another', async () => {
    for (const namespace of [tenant, foreign]) {
      await kubectlAsAdmin(['-n', namespace, 'create', 'secret', 'generic', 'former']);
      const answer = await attempt(['-n', namespace, 'delete', 'secret', 'former']);
      if (namespace === tenant) expect(answer).toBe('allowed');
      else expect(answer).toMatch(POLICY);
    }
  });

  it('writes nothing in the namespace of another program, of the cluster or of Berth itself', async () => {
    for (const namespace of [foreign, 'kube-system', 'default', listener.own])
      for (const object of inside(namespace)) expect(await create(object)).toMatch(POLICY);
  });

  it('writes only Secrets in the build namespace', async () => {
    const [networkPolicy = {}, quota = {}, , secret = {}] = inside(listener.builds);
    expect(await create(secret)).toBe('allowed');
    for (const object of [networkPolicy, quota]) expect(await create(object)).toMatch(POLICY);
  });

  it('changes an existing policy or quota only in the namespace of a tenant', async () => {
    for (const namespace of [tenant, foreign]) {
      const [, quota = {}] = inside(namespace);
      await kubectlAsAdmin(['apply', '-f', '-'], JSON.stringify(quota));
      const changed = { ...quota, spec: { hard: { pods: '9' } } };
      const answer = await apply(changed);
      if (namespace === tenant) expect(answer).toBe('allowed');
      else expect(answer).toMatch(POLICY);
    }
  });

  it('takes over no namespace by setting a label', async () => {
    const labels = labelsOf(randomUUID());
    for (const name of [foreign, 'kube-system', 'default', listener.own, listener.builds]) {
      expect(await label(name, labels)).toMatch(POLICY);
      expect(await label(name, { a: 'b' })).toMatch(POLICY);
    }
    // Also by apply, and also when half of the labels exist already.
    expect(await apply({ ...namespaceOf('x'), metadata: { name: foreign, labels } })).toMatch(POLICY);
    await kubectlAsAdmin(['label', 'namespace', foreign, 'app.kubernetes.io/managed-by=berth']);
    expect(await label(foreign, labels)).toMatch(POLICY);
    for (const object of inside(foreign)) expect(await create(object)).toMatch(POLICY);
  });

  it('creates only namespaces of tenants', async () => {
    const id = randomUUID();
    expect(await create(namespaceOf(id))).toBe('allowed');
    const refused = [
      { ...namespaceOf(id), metadata: { name: `berth-${id}` } },
      namespaceOf(id, {}, { name: 'kube-other' }),
      namespaceOf(id, { 'berth.dev/tenant-id': randomUUID() }),
      namespaceOf(id, { 'app.kubernetes.io/managed-by': 'Berth' }),
      namespaceOf(id, { [ENFORCE]: 'privileged' }),
      namespaceOf(id, { [ENFORCE]: 'baseline' }),
      namespaceOf(id, { [`${ENFORCE}-version`]: 'v1.0' }),
      namespaceOf(id, { 'berth.dev/ingress': 'true' }),
      namespaceOf(id, { 'berth.dev/registry': 'true' }),
      namespaceOf('system'),
      namespaceOf('builds2'),
    ];
    for (const object of refused) expect(await create(object), JSON.stringify(object)).toMatch(POLICY);
  });

  it('restores the labels of a tenant, and removes none on which its limits depend', async () => {
    await kubectlAsAdmin(['label', 'namespace', tenant, `${ENFORCE}-`, 'berth.dev/ingress=true']);
    expect(await label(tenant, { [ENFORCE]: 'restricted' })).toBe('allowed');
    await kubectlAsAdmin(['label', 'namespace', tenant, `${ENFORCE}=restricted`, 'berth.dev/ingress-']);
    const refused = [
      { 'app.kubernetes.io/managed-by': null },
      { 'app.kubernetes.io/managed-by': 'other' },
      { 'berth.dev/tenant-id': null },
      { 'berth.dev/tenant-id': randomUUID() },
      { [ENFORCE]: null },
      { [ENFORCE]: 'privileged' },
      { [`${ENFORCE}-version`]: 'v1.0' },
      { 'berth.dev/ingress': 'true' },
    ];
    for (const labels of refused) expect(await label(tenant, labels), JSON.stringify(labels)).toMatch(POLICY);
    const owner = { apiVersion: 'v1', kind: 'Namespace', name: 'default', uid: randomUUID() };
    expect(await patch(tenant, { metadata: { ownerReferences: [owner] } })).toMatch(POLICY);
    expect(await label(tenant, { 'example.com/team': 'a' })).toBe('allowed');
  });

  it('may not delete or finalize a namespace', async () => {
    expect(await attempt(['delete', 'namespace', tenant])).toMatch(/cannot delete resource/);
    for (const subresource of ['status', 'finalize'])
      expect(await patch(tenant, {}, `--subresource=${subresource}`)).toMatch(/cannot (get|patch) resource/);
  });
});

test('the listener reports a rejection of the policy as a reason of the deployment, and continues once it is allowed', async () => {
  const berth: WholeBerth = await startWholeBerth('bounds', {
    hosting: 'cloud',
    settings: { BERTH_LISTENER_KUBECONFIG: listener.kubeconfig, BERTH_BUILD_NAMESPACE: listener.builds },
  });
  const workloads = `berth-${berth.tenantId}`;
  try {
    const secrets = [{ name: 'TOKEN', value: 'first' }];
    const { id } = await berth.create({
      name: 'web',
      source: 'internal_image',
      source_config: {},
      source_revision_config: { image_uri: 'registry.example/web:1' },
      secrets,
    });
    await berth.ready(id);
    await kubectlAsAdmin(['label', 'namespace', workloads, 'berth.dev/tenant-id-']);
    const changed = { secrets: [{ name: 'TOKEN', value: 'second' }] };
    expect((await berth.call('PATCH', `/v2/deployments/${id}`, changed)).status).toBe(200);
    await waitFor(
      'the refusal',
      async () => {
        const { body } = await berth.call('GET', `/v2/deployments/${id}`);
        const text = JSON.stringify(body);
        if (text.includes('ApplyRefused') && text.includes(`${workloads} is no namespace of a tenant`))
          return true;
        throw new Error(text);
      },
      { timeoutMs: 60_000, intervalMs: 300 },
    );
    await kubectlAsAdmin(['label', 'namespace', workloads, `berth.dev/tenant-id=${berth.tenantId}`]);
    await berth.ready(id);
  } finally {
    await berth.stop();
    await deleteNamespace(workloads);
  }
}, 400_000);

test('a deployment becomes READY and is deleted when the policy is in force', async () => {
  const berth: WholeBerth = await startWholeBerth('bounds-flow', {
    hosting: 'cloud',
    settings: { BERTH_LISTENER_KUBECONFIG: listener.kubeconfig, BERTH_BUILD_NAMESPACE: listener.builds },
  });
  const workloads = `berth-${berth.tenantId}`;
  try {
    const { id } = await berth.create({
      name: 'web',
      source: 'internal_image',
      source_config: {},
      source_revision_config: { image_uri: 'registry.example/web:1' },
      secrets: [{ name: 'TOKEN', value: 'first' }],
    });
    await berth.ready(id);
    expect((await berth.call('DELETE', `/v2/deployments/${id}`)).status).toBe(204);
    await waitFor(
      'the deletion to end',
      async () => {
        const { status, body } = await berth.call('GET', `/v2/deployments/${id}`);
        if (status === 404) return true;
        throw new Error(JSON.stringify(body));
      },
      { timeoutMs: 120_000, intervalMs: 300 },
    );
  } finally {
    await berth.stop();
    await deleteNamespace(workloads);
  }
}, 400_000);

/** Rights that RBAC may grant one day, or that an administrator has added. */
describe('the listener with every right in the cluster', () => {
  beforeAll(() => listener.grantEveryRight(), 60_000);

  it('deletes and finalizes no namespace, and writes no subresource of one', async () => {
    for (const name of [tenant, foreign]) {
      expect(await attempt(['delete', 'namespace', name])).toMatch(/denied request: the listener of Berth/);
      const status = { metadata: { annotations: { a: 'b' } } };
      expect(await patch(name, status, '--subresource=status')).toMatch(
        /denied request: the listener of Berth/,
      );
      const path = `/api/v1/namespaces/${name}/finalize?dryRun=All`;
      const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name }, spec: { finalizers: [] } };
      const answer = listener.run(['replace', '--raw', path, '-f', '-'], JSON.stringify(object));
      await expect(answer).rejects.toThrow(/denied request: the listener of Berth/);
    }
  });

  it('writes no object of the cluster', async () => {
    const binding = ['create', 'clusterrolebinding', 'a', '--clusterrole=view', '--user=a'];
    expect(await attempt(binding)).toMatch(POLICY);
    expect(await attempt(['label', 'clusterrole', 'view', 'a=b'])).toMatch(POLICY);
    expect(await attempt(['delete', 'crd', 'manageddeployments.berth.dev'])).toMatch(POLICY);
  });

  it('writes and deletes nothing in namespaces that are not a tenant’s', async () => {
    for (const namespace of [foreign, 'kube-system', listener.own]) {
      for (const args of [
        ['create', 'serviceaccount', 'a'],
        ['create', 'rolebinding', 'a', '--clusterrole=admin', '--user=a'],
        ['create', 'configmap', 'a'],
        ['delete', 'serviceaccount', 'default'],
      ])
        expect(await attempt(['-n', namespace, ...args]), args.join(' ')).toMatch(POLICY);
    }
    expect(await attempt(['-n', tenant, 'create', 'configmap', 'a'])).toBe('allowed');
  });
});
