/** Objects of deployments: asked for at the API, read by the listener with its own account from the real API server. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { LABELS, MANAGED_BY } from '../../../../src/contract/resource/names.ts';
import { PLATFORM_LISTENER_ID } from '../../../../src/domain/deployment/source.ts';
import { waitFor as waitAtMost } from '../../../cluster/wait.ts';
import type { Answer, Client, Deployment } from '../../harness/api.ts';
import { kubectlAsAdmin, uniqueName } from '../../harness/environment.ts';
import { type LogWorld, startLogWorld } from '../../harness/log-world.ts';

const SECRET = 'canary-of-the-object-map';
/** Texts that a version of YAML, or kubectl, reads as another type. */
const TYPED = [
  'on',
  '~',
  'null',
  '012',
  '1_000',
  '0o7',
  '0o_7',
  '0X1F',
  '1e3',
  '190:20:30',
  '2026-11-30',
  'a\u0085b',
  '<<',
];
const HOSTILE = `<script>alert(1)</script> \u202egnp.exe 🚢 ${'x'.repeat(2_000)}`;

const TYPED_ANNOTATIONS = Object.fromEntries(TYPED.map((text, at) => [`typed-${at}`, text]));

interface Shown {
  kind: string;
  name: string;
  owner: { kind: string; name: string } | null;
  state: string;
  message: string | null;
  component: string | null;
  pod?: { phase: string; containers: Record<string, unknown>[] };
}
interface ObjectMap {
  resources: Shown[];
  unread: object[];
  metrics: { available: boolean; reason: string | null };
  detail?: unknown;
}
interface Details {
  object: Shown;
  yaml: string;
  events: { reason: string; message: string; count: number }[];
  detail?: unknown;
}

let world: LogWorld;
let running: { stop(): Promise<void> };
beforeAll(async () => {
  world = await startLogWorld('objects', { objectAnswerMs: 6_000, sweepMs: 500 });
  running = await world.startListener();
});
afterAll(() => world?.stop());

const waitFor = <T>(what: string, probe: () => Promise<T | undefined>) =>
  waitAtMost(what, probe, { timeoutMs: 40_000, intervalMs: 100 });

const pathOf = (of: Deployment, object = '') => `/v2/deployments/${of.id}/objects${object}`;
const list = (of: Deployment, client: Client = world.owner): Promise<Answer<ObjectMap>> =>
  client.call<ObjectMap>('GET', pathOf(of));
const get = (of: Deployment, kind: string, name: string, client: Client = world.owner) =>
  client.call<Details>('GET', pathOf(of, `/${kind}/${encodeURIComponent(name)}`));

const labelsOf = (of: Deployment, component = 'api') => ({
  [LABELS.managedBy]: MANAGED_BY,
  [LABELS.component]: component,
  [LABELS.deploymentId]: of.id,
});

const apply = (...items: object[]) =>
  kubectlAsAdmin(
    ['-n', world.namespace, 'apply', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
  );

/** What the operator would create for a component: a Deployment without pods, a Service, a volume claim. */
async function workloadOf(of: Deployment, name: string): Promise<void> {
  const metadata = { name, labels: labelsOf(of) };
  const selector = { matchLabels: labelsOf(of) };
  const container = {
    name: 'app',
    image: 'registry.example/shop/web:1',
    envFrom: [{ secretRef: { name: `${name}-env-1` } }],
    env: [{ name: 'GREETING', value: `say ${SECRET}` }],
  };
  const template = { metadata: { labels: labelsOf(of) }, spec: { containers: [container] } };
  const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
  await apply(
    { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { replicas: 0, selector, template } },
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { selector: {}, ports: [{ port: 8000 }] } },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { ...metadata, labels: labelsOf(of, 'database') },
      spec: { ...claim, storageClassName: 'none' },
    },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `${name}-env-1`, labels: labelsOf(of) },
      stringData: { PASSWORD: SECRET },
    },
  );
}

/** Waits until the custom resource is in the cluster. */
const applied = (of: Deployment) =>
  waitFor('the custom resource', async () => {
    const { body } = await list(of);
    return body.resources?.some(({ kind }) => kind === 'ManagedDeployment') || undefined;
  });

async function podOf(of: Deployment): Promise<string> {
  const name = uniqueName('pod');
  await world.node.makePod({
    namespace: world.namespace,
    name,
    labels: labelsOf(of),
    annotations: { hostile: HOSTILE, password: SECRET, ...TYPED_ANNOTATIONS },
    containers: ['app'],
  });
  await world.node.set({ namespace: world.namespace, name }, { app: 'runs' });
  return name;
}

test('lists each object with its owner and state, and Secrets by name only', async () => {
  const of = await world.deploy({ secrets: [{ name: 'PASSWORD', value: SECRET }] });
  await workloadOf(of, 'listed');
  const pod = await podOf(of);
  await applied(of);
  await waitFor('the ReplicaSet', async () => {
    const { body } = await list(of);
    return body.resources.some(({ kind }) => kind === 'ReplicaSet') || undefined;
  });
  const { status, body } = await list(of);
  expect(status).toBe(200);
  const states = Object.fromEntries(body.resources.map(({ kind, state }) => [kind, state]));
  expect(states).toEqual({
    ManagedDeployment: 'unknown',
    Deployment: 'inactive',
    ReplicaSet: 'inactive',
    Pod: 'progressing',
    PersistentVolumeClaim: 'progressing',
    Service: 'ready',
    Secret: 'unknown',
  });
  const of_kind = (wanted: string) => body.resources.find(({ kind }) => kind === wanted);
  expect(of_kind('ReplicaSet')?.owner).toEqual({ kind: 'Deployment', name: 'listed' });
  expect(of_kind('Secret')).toMatchObject({ name: 'listed-env-1', owner: { name: 'listed' }, message: null });
  expect(of_kind('PersistentVolumeClaim')?.component).toBe('database');
  expect(of_kind('Pod')).toMatchObject({
    name: pod,
    pod: { phase: 'Running', containers: [{ name: 'app', state: 'running' }] },
  });
  expect(body).toMatchObject({ omitted: [], unread: [] });
  expect(body.metrics).toEqual({ available: false, reason: expect.stringMatching(/no metrics API/) });
  expect(JSON.stringify(body)).not.toContain(SECRET);
});

test('shows one object as YAML without managedFields and values of secrets, with its events', async () => {
  const of = await world.deploy({ secrets: [{ name: 'PASSWORD', value: SECRET }] });
  const pod = await podOf(of);
  const { metadata } = JSON.parse(
    await kubectlAsAdmin(['-n', world.namespace, 'get', 'pod', pod, '-o', 'json']),
  ) as { metadata: { uid: string } };
  await apply({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: uniqueName('event') },
    involvedObject: { kind: 'Pod', namespace: world.namespace, name: pod, uid: metadata.uid },
    type: 'Warning',
    reason: 'Unhealthy',
    message: `${SECRET} ${HOSTILE}`,
    count: 4,
    firstTimestamp: '2026-01-01T00:00:00Z',
    lastTimestamp: '2026-01-01T00:00:05Z',
    source: { component: 'kubelet' },
  });
  const { status, body } = await get(of, 'Pod', pod);
  expect(status).toBe(200);
  expect(body.object).toMatchObject({ kind: 'Pod', name: pod });
  const manifest = parse(body.yaml) as {
    kind: string;
    metadata: { name: string; annotations: Record<string, string>; managedFields?: unknown };
  };
  expect(manifest.kind).toBe('Pod');
  const annotations = { hostile: HOSTILE, password: '***', ...TYPED_ANNOTATIONS };
  expect(manifest.metadata.annotations).toEqual(annotations);
  const read = await kubectlAsAdmin(
    ['annotate', '--local', '-f', '-', 'read=by-kubectl', '-o', 'json'],
    body.yaml,
  );
  expect(JSON.parse(read)).toMatchObject({ metadata: { annotations } });
  expect(manifest.metadata).not.toHaveProperty('managedFields');
  expect(body.events).toMatchObject([{ reason: 'Unhealthy', count: 4 }]);
  expect(body.events[0]?.message).toMatch(/^\*\*\* <script>/);
  expect(JSON.stringify(body)).not.toContain(SECRET);
  const reader = await world.api.client(world.owner.tenantId, ['deployments:read']);
  expect((await get(of, 'Pod', pod, reader)).status).toBe(200);
});

test('masks secrets in the messages with which containers end, also those that only the cluster knows', async () => {
  const of = await world.deploy({ secrets: [{ name: 'PASSWORD', value: SECRET }] });
  const pod = await podOf(of);
  const message = `fatal: ${SECRET}, PGPASSWORD=of-the-database, postgres://app:of-the-database@db/x`;
  const state = { terminated: { exitCode: 1, reason: 'Error', message } };
  const status = {
    containerStatuses: [{ name: 'app', restartCount: 1, ready: false, state, lastState: state }],
  };
  const full = status.containerStatuses.map((each) => ({ ...each, image: 'i', imageID: 'i' }));
  await kubectlAsAdmin([
    ...['-n', world.namespace, 'patch', 'pod', pod, '--subresource=status', '--type=merge'],
    ...['-p', JSON.stringify({ status: { containerStatuses: full } })],
  ]);
  const masked = 'fatal: ***, PGPASSWORD=***, postgres://***@db/x';
  const { body: map } = await list(of);
  const shown = map.resources.find(({ kind }) => kind === 'Pod');
  expect(shown?.pod?.containers[0]).toMatchObject({ message: masked, exit_code: 1 });
  expect(shown?.message).toContain(masked);
  const { body } = await get(of, 'Pod', pod);
  expect(body.yaml.split(masked)).toHaveLength(3);
  for (const answer of [map, body]) {
    expect(JSON.stringify(answer)).not.toContain(SECRET);
    expect(JSON.stringify(answer)).not.toContain('of-the-database');
  }
});

test('never returns Secrets, objects of other deployments, or anything to another tenant', async () => {
  const [of, other] = [await world.deploy(), await world.deploy()];
  await workloadOf(other, 'of-another');
  const secret = await get(other, 'Secret', 'of-another-env-1');
  expect(secret.status).toBe(422);
  expect(JSON.stringify(secret.body)).not.toContain(SECRET);
  expect((await get(other, 'Service', 'of-another')).status).toBe(200);
  expect((await get(of, 'Service', 'of-another')).status).toBe(404);
  for (const name of ['../../kube-system/x', 'x,metadata.namespace=kube-system'])
    expect((await get(of, 'Service', name)).status).toBe(422);
  const outsider = await world.api.tenant();
  expect((await list(other, outsider)).status).toBe(404);
  expect((await get(other, 'Service', 'of-another', outsider)).status).toBe(404);
});

test('withholds messages of pods that use secret_references from keys without secrets:read', async () => {
  const of = await world.deploy({
    secret_references: [{ name: 'STRIPE_KEY', secret_name: 'payments', secret_key: 'api-key' }],
  });
  await workloadOf(of, 'withheld');
  const reader = await world.api.client(world.owner.tenantId, ['deployments:read']);
  const [withheld, shown] = [await list(of, reader), await list(of)];
  const messageOf = ({ body }: Answer<ObjectMap>) =>
    body.resources.find(({ kind }) => kind === 'Deployment')?.message;
  expect(messageOf(shown)).toMatch(/Scaled to 0/);
  expect(messageOf(withheld)).toMatch(/secrets:read/);
});

test('decides what a caller may see after the wait for the listener', async () => {
  const answering = Promise.withResolvers<void>();
  await running.stop();
  running = await world.startListener((hub) => ({
    ...hub,
    sendObjects: async (...given) => {
      await answering.promise;
      return hub.sendObjects(...given);
    },
  }));
  onTestFinished(async () => {
    answering.resolve();
    await running.stop();
    running = await world.startListener();
  });
  const [of, other] = [await world.deploy(), await world.deploy()];
  await workloadOf(of, 'awaited');
  const { tenantId } = world.owner;
  const reader = await world.api.client(tenantId, ['deployments:read']);
  const revoked = await world.api.client(tenantId, ['deployments:read', 'deployments:write']);
  const [withheld, ended] = [list(of, reader), list(other, revoked)];
  await waitFor('the requests', async () => {
    const rows = await world.api.store.sql("SELECT 1 FROM log_requests WHERE kind = 'objects'");
    return rows.length === 2 || undefined;
  });
  const references = [{ name: 'STRIPE_KEY', secret_name: 'payments', secret_key: 'api-key' }];
  const changed = await world.owner.call('PATCH', `/v2/deployments/${of.id}`, {
    secret_references: references,
  });
  expect(changed.status).toBe(200);
  await world.api.store.sql('DELETE FROM api_keys WHERE tenant_id = $1 AND cardinality(scopes) = 2', [
    tenantId,
  ]);
  answering.resolve();
  const workload = (await withheld).body.resources.find(({ kind }) => kind === 'Deployment');
  expect(workload?.message).toMatch(/secrets:read/);
  expect((await ended).status).toBe(401);
});

test('shows the usage of pods beside requests and limits when the cluster has a metrics API', async () => {
  const plural = 'pods.metrics.k8s.io';
  const schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const version = { name: 'v1beta1', served: true, storage: true, schema: { openAPIV3Schema: schema } };
  await apply({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: plural, annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' } },
    spec: {
      group: 'metrics.k8s.io',
      scope: 'Namespaced',
      names: { plural: 'pods', singular: 'pod', kind: 'PodMetrics', listKind: 'PodMetricsList' },
      versions: [version],
    },
  });
  onTestFinished(async () => {
    await kubectlAsAdmin(['delete', 'crd', plural]);
  });
  await kubectlAsAdmin(['wait', '--for=condition=Established', `crd/${plural}`, '--timeout=60s']);
  const of = await world.deploy();
  const pod = await podOf(of);
  await waitFor('the metrics', async () => {
    await apply({
      apiVersion: 'metrics.k8s.io/v1beta1',
      kind: 'PodMetrics',
      metadata: { name: pod, labels: labelsOf(of) },
      containers: [{ name: 'app', usage: { cpu: '250m', memory: '64Mi' } }],
    }).catch(() => undefined);
    return (await list(of)).body.metrics.available || undefined;
  });
  const usage = async () =>
    (await list(of)).body.resources.find(({ kind }) => kind === 'Pod')?.pod?.containers[0]?.['usage'];
  await waitFor('the usage', async () => (await usage()) ?? undefined);
  expect(await usage()).toEqual({ cpu: 0.25, memory_mb: 64 });
});

test('berth objects, top and watch print objects, containers and changes', async () => {
  const of = await world.deploy();
  await workloadOf(of, 'printed');
  const pod = await podOf(of);
  const run = async (...words: string[]) => {
    const command = world.berth(...words);
    await command.ended;
    return command.lines.join('\n');
  };
  expect(await run('objects', of.name)).toMatch(/^Deployment\/printed +inactive/m);
  expect(await run('objects', of.name, 'service/printed')).toMatch(/^kind: Service$[\s\S]*^No events\.$/m);
  expect(await run('top', of.name)).toMatch(new RegExp(`^POD +CONTAINER[\\s\\S]*^${pod} +app `, 'm'));
  const watching = world.berth('watch');
  onTestFinished(() => watching.stop());
  await waitFor('the reset', async () => watching.lines.includes('reset') || undefined);
  const { id } = await world.deploy();
  await waitFor('the change', async () => watching.lines.some((line) => line.startsWith(id)) || undefined);
});

test('a listener of the previous version gets 409 at once, and its logs still work', async () => {
  await running.stop();
  await expire();
  running = await world.startListener((hub) => ({
    ...hub,
    lease: ({ abilities: _, ...request }, options) => hub.lease(request, options),
    logRequests: ({ knows: _, ...query }, options) =>
      hub.logRequests({ ...query, knows: ['previous'] }, options),
  }));
  const of = await world.deploy();
  const at = performance.now();
  const { status, body } = await list(of);
  expect(performance.now() - at).toBeLessThan(2_000);
  expect([status, body.detail]).toEqual([409, expect.stringMatching(/Upgrade the listener/)]);
  expect((await world.owner.call('GET', `/v2/deployments/${of.id}/logs`)).status).toBe(200);
  // The hub was updated, and the listener has not renewed its lease since.
  await world.api.store.sql('UPDATE listeners SET abilities = NULL');
  const late = list(of);
  await waitFor('the request', async () => {
    const rows = await world.api.store.sql("SELECT 1 FROM log_requests WHERE kind = 'objects'");
    return rows.length > 0 || undefined;
  });
  await running.stop();
  running = await world.startListener();
  expect((await late).status).toBe(200);
});

const expire = () =>
  world.api.store.sql('UPDATE listeners SET lease_expires_at = now() WHERE id = $1', [PLATFORM_LISTENER_ID]);

test('a lost listener gets 503, and a listener that does not answer 504', async () => {
  const of = await world.deploy();
  await running.stop();
  running = await world.startListener((hub) => ({
    ...hub,
    sendObjects: (_id, _answer, { signal } = {}) =>
      new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
  }));
  const silent = await list(of);
  expect([silent.status, silent.body.detail]).toEqual([504, expect.stringMatching(/time limit/)]);
  const left = await world.api.store.sql("SELECT 1 FROM log_requests WHERE kind = 'objects'");
  expect(left).toEqual([]);
  await running.stop();
  await expire();
  const lost = await list(of);
  expect([lost.status, lost.body.detail]).toEqual([503, expect.stringMatching(/cannot be reached/)]);
  running = await world.startListener();
});
