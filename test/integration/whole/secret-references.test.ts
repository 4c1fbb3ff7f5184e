/** References to Secrets on a real API server, by an operator with exactly the rights of its account. */
import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeClient } from '../../../src/cluster/kube/client/client.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import { ANNOTATIONS, MARKER_KEY_SECRET } from '../../../src/contract/resource/names.ts';
import { resolvePolicy } from '../../../src/domain/policy/policy.ts';
import { waitFor } from '../../cluster/wait.ts';
import { condition, type OperatorWorld, operatorWorld, startOperator } from '../harness/operator.ts';
import { App, adminClient, appSpec } from '../harness/rollouts.ts';

const POLL_MS = 1_000;
const IMAGE = 'registry.test/web:1';

let world: OperatorWorld;
let operator: Awaited<ReturnType<typeof startOperator>>;
let client: KubeClient;

const start = () =>
  startOperator({ ...world.settings, secretPollMs: POLL_MS, patience: { configErrorMs: 2_000 } });

beforeAll(async () => {
  world = await operatorWorld('secref');
  client = await adminClient();
  operator = await start();
});
afterAll(async () => {
  await operator.stop();
  await client.close();
  await world.end();
});

interface SecretOptions {
  readonly type?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Creates a Secret, or changes its values, as another user or operator does. */
async function putSecret(
  name: string,
  stringData: Readonly<Record<string, string>>,
  { type = 'Opaque', labels = {}, annotations = {} }: SecretOptions = {},
): Promise<void> {
  const metadata = { name, namespace: world.namespace, labels, annotations };
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata, type, stringData };
  await client.apply(secret as never, { fieldManager: 'external-secrets', force: true });
}

const reference = (secretName: string, secretKey = 'api-key') => ({
  podTemplate: { secretReferences: [{ name: 'STRIPE_KEY', secretName, secretKey }] },
});
const app = (name: string) => new App(client, world.namespace, name);

async function templateOf(shop: App): Promise<V1PodTemplateSpec> {
  const workloads = await shop.workloads();
  return workloads[`${shop.name}-api`]?.template as V1PodTemplateSpec;
}
const markerOf = async (shop: App) =>
  (await templateOf(shop)).metadata?.annotations?.[ANNOTATIONS.secretReferences];
const replicaSetsOf = async (shop: App) => (await shop.list(RESOURCES.ReplicaSet)).length;

/** Waits until the operator has read the Secrets of a deployment at least twice more. */
async function polled(secretName: string): Promise<void> {
  const reads = () =>
    operator.requests.filter(({ verb, resource }) => verb === 'get' && resource === 'secrets');
  const before = reads().length;
  await waitFor(
    `${secretName} to be read again`,
    async () => (reads().length >= before + 2 ? true : undefined),
    { timeoutMs: 30_000, intervalMs: 100 },
  );
}

test('pods read the value, and are replaced exactly once when it changes', async () => {
  await putSecret('payments', { 'api-key': 'first-value' });
  const shop = app('shop');
  await shop.apply(appSpec(1, IMAGE, reference('payments')));
  await shop.ready();
  const container = (await templateOf(shop)).spec?.containers.find(({ name }) => name === 'app');
  expect(container?.env).toContainEqual({
    name: 'STRIPE_KEY',
    valueFrom: { secretKeyRef: { name: 'payments', key: 'api-key' } },
  });
  const first = await markerOf(shop);
  expect(first).toMatch(/^[0-9a-f]{32}$/);
  expect(await replicaSetsOf(shop)).toBe(1);

  await putSecret('payments', { 'api-key': 'second-value' });
  await waitFor(
    'the pods to be replaced',
    async () => ((await markerOf(shop)) === first ? undefined : true),
    { timeoutMs: 30_000, intervalMs: 100 },
  );
  await shop.ready();
  const second = await markerOf(shop);
  await polled('payments');
  expect(await markerOf(shop)).toBe(second);
  expect(await replicaSetsOf(shop)).toBe(2);
  expect((await shop.status()).activeRevision).toMatchObject({ number: 1 });

  // A restart of the operator reads the same key, and changes nothing.
  await operator.stop();
  operator = await start();
  await polled('payments');
  await shop.ready();
  expect(await markerOf(shop)).toBe(second);
  expect(await replicaSetsOf(shop)).toBe(2);
  const [objects, revisions] = await Promise.all([
    shop.workloads(),
    client.listAll(RESOURCES.ControllerRevision, { namespace: world.namespace }),
  ]);
  const written = JSON.stringify([objects, revisions.items, await shop.status()]);
  for (const value of ['first-value', 'second-value'])
    for (const text of [value, Buffer.from(value).toString('base64')]) expect(written).not.toContain(text);
}, 120_000);

describe.concurrent('a revision with a missing Secret or key', () => {
  test.each([
    ['secret', undefined, 'the Secret lost-secret does not exist'],
    ['key', { other: 'x' }, 'the Secret lost-key has no key api-key'],
  ] as const)('fails and names it, and succeeds after a redeploy: %s', async (what, data, text) => {
    const [name, secretName] = [`miss-${what}`, `lost-${what}`];
    const shop = app(name);
    await shop.apply(appSpec(1, IMAGE));
    await shop.ready();
    if (data !== undefined) await putSecret(secretName, data);
    await shop.apply(appSpec(2, IMAGE, reference(secretName)));
    const failed = await shop.until('failed', ({ failedRevision }) => failedRevision?.number === 2);
    expect(failed).toMatchObject({
      activeRevision: { number: 1 },
      failedRevision: {
        reason: 'SecretReferenceMissing',
        failureSource: { kind: 'Secret', object: secretName },
      },
    });
    expect(failed.failedRevision?.message).toContain(text);
    expect(condition(failed, 'Ready')).toBe('False SecretReferenceMissing');
    expect(condition(failed, 'Stalled')).toBe('True SecretReferenceMissing');

    await putSecret(secretName, { 'api-key': 'x' });
    await shop.apply(appSpec(3, IMAGE, reference(secretName)));
    await shop.ready();
    expect((await shop.status()).activeRevision).toMatchObject({ number: 3 });
  });
});

test('a Secret that deployments may not use is out of reach of a custom resource, by each kind of reference', async () => {
  const owner = app('owner');
  await owner.apply({ revision: { id: 'r1', number: 1, image: IMAGE } });
  await owner.ready();
  await world.kubectl('-n', world.namespace, 'create', 'serviceaccount', 'robot');
  await putSecret(
    'robot-token',
    {},
    {
      type: 'kubernetes.io/service-account-token',
      annotations: { 'kubernetes.io/service-account.name': 'robot' },
    },
  );
  await putSecret('boot', { 'token-id': 'abcdef' }, { type: 'bootstrap.kubernetes.io/token' });
  await putSecret('release', { release: 'x' }, { type: 'helm.sh/release.v1' });
  await putSecret('platform', { key: 'x' }, { labels: { 'app.kubernetes.io/part-of': 'berth' } });
  const sidecar = (more: object) => ({ podTemplate: { sidecars: [{ name: 's', image: 's:1', ...more }] } });
  const volume = (source: object) => ({ podTemplate: { volumes: [{ name: 'v', ...source }] } });
  const USES: Readonly<Record<string, (name: string) => object>> = {
    refs: (name) => reference(name, 'key'),
    envfrom: (name) => sidecar({ envFrom: [{ secretRef: { name } }] }),
    valuefrom: (name) => sidecar({ env: [{ name: 'A', valueFrom: { secretKeyRef: { name, key: 'key' } } }] }),
    init: (name) => ({
      podTemplate: { initContainers: [{ name: 'i', image: 'i:1', envFrom: [{ secretRef: { name } }] }] },
    }),
    volume: (name) => volume({ secret: { secretName: name } }),
    projected: (name) => volume({ projected: { sources: [{ secret: { name } }] } }),
    csi: (name) => volume({ csi: { driver: 'csi.example.com', nodePublishSecretRef: { name } } }),
  };
  /** Only the kubelet reads a pull Secret, so a deployment may name its own Secrets there. */
  const USES_OF_OTHERS: typeof USES = {
    ...USES,
    pull: (name) => ({ podTemplate: { imagePullSecrets: [{ name }] } }),
  };
  const NAMES = ['robot-token', 'boot', 'release', 'platform', 'owner-db', 'shop-0a1b2c3d-env-1'];
  const cases = Object.keys(USES_OF_OTHERS).flatMap((use) =>
    NAMES.map((name, index) => ({ use, name, index })),
  );
  await Promise.all(
    cases.map(async ({ use, name, index }) => {
      const evil = app(`evil-${use}-${index}`);
      await evil.apply(appSpec(1, IMAGE, USES_OF_OTHERS[use]?.(name)));
      const status = await evil.until('rejected', (seen) => condition(seen, 'Ready') === 'False Refused');
      expect(JSON.stringify(status.conditions), `${use} ${name}`).toMatch(/cannot be used here/);
      expect(await evil.workloads()).toEqual({});
    }),
  );
  // The deployment itself cannot read what Berth created for it either.
  for (const [index, use] of Object.keys(USES).entries()) {
    await owner.apply({
      revision: { id: `r${index + 2}`, number: index + 2, image: IMAGE },
      ...USES[use]?.('owner-db'),
    });
    await owner.until('rejected', (seen) => condition(seen, 'Ready') === 'False Refused');
    expect(JSON.stringify((await templateOf(owner)).spec?.volumes ?? [])).not.toContain('owner-db');
  }
}, 180_000);

test('a Secret needs the label while the policy requires it', async () => {
  await operator.stop();
  const base = resolvePolicy('self_hosted');
  const policy = { ...base, secret_references: { ...base.secret_references, labelled_only: true } };
  operator = await startOperator({ ...world.settings, policy, secretPollMs: POLL_MS });
  await putSecret('unlabelled', { 'api-key': 'x' });
  const strict = app('strict');
  await strict.apply(appSpec(1, IMAGE, reference('unlabelled')));
  const status = await strict.until('rejected', (seen) => condition(seen, 'Ready') === 'False Refused');
  expect(JSON.stringify(status.conditions)).toContain('berth.dev/referenceable=true');
  await putSecret('unlabelled', { 'api-key': 'x' }, { labels: { 'berth.dev/referenceable': 'true' } });
  await strict.apply(appSpec(2, IMAGE, reference('unlabelled')));
  await strict.ready();
  // A pull Secret needs no label. Its use does not let containers read it.
  await putSecret('pulled', { 'api-key': 'x' });
  const puller = app('puller');
  await puller.apply(appSpec(1, IMAGE, { podTemplate: { imagePullSecrets: [{ name: 'pulled' }] } }));
  await puller.ready();
  const volumes = [{ name: 'v', secret: { secretName: 'pulled' } }];
  await puller.apply(appSpec(2, IMAGE, { podTemplate: { volumes } }));
  const refused = await puller.until('rejected', ({ failedRevision }) => failedRevision?.number === 2);
  expect(refused.failedRevision).toMatchObject({ reason: 'Refused' });
  expect(JSON.stringify((await templateOf(puller)).spec?.volumes ?? [])).not.toContain('pulled');
  // What already runs goes on, although its Secret has no label.
  expect(condition(await app('shop').status(), 'Ready')).toBe('True Converged');
}, 120_000);

test('the account of the operator reads the key of markers, and cannot list or watch Secrets', async () => {
  const { namespace } = world.settings.lease;
  const found = await client.get(RESOURCES.Secret, { namespace, name: MARKER_KEY_SECRET });
  expect(found).toMatchObject({ immutable: true });
  const verbs = operator.requests.filter(({ resource }) => resource === 'secrets').map(({ verb }) => verb);
  expect(new Set(verbs)).toEqual(new Set(['get']));
  const may = async (verb: string, place: string, name?: string) => {
    const user = `system:serviceaccount:${namespace}:berth-operator`;
    const resourceAttributes = { verb, resource: 'secrets', namespace: place, ...(name ? { name } : {}) };
    const review = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user, resourceAttributes },
    };
    const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
    const { body } = await client.request('POST', path, { body: review, contentType: 'application/json' });
    return (body as { status: { allowed: boolean } }).status.allowed;
  };
  for (const place of [namespace, world.namespace])
    for (const verb of ['list', 'watch', 'delete'])
      expect(await may(verb, place), `${verb} in ${place}`).toBe(false);
  expect(await may('get', namespace, MARKER_KEY_SECRET)).toBe(true);
  expect(await may('get', world.namespace)).toBe(true);
});
