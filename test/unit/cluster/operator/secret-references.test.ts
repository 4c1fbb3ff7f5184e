import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../../src/cluster/kube/client/object.ts';
import { LABELS, MANAGED_BY, MARKER_KEY_SECRET } from '../../../../src/contract/resource/names.ts';
import { resolvePolicy } from '../../../../src/domain/policy/policy.ts';
import { CONFIG, message, NAMESPACE, revised, steps, template, World } from './fixtures.ts';
import {
  api,
  change,
  marker,
  POLL_MS,
  reference,
  type SecretOptions,
  secret,
  serving,
  storedNames,
} from './secret-reference-fixtures.ts';
import { Namespace } from './several-resources.ts';

/** References to Secrets: the operator reads their values at an interval, and replaces pods when a value changes. */

const uidOf = (world: World) => world.cluster.get(`Secret/${NAMESPACE}/payments`)?.metadata.uid;
describe('a reference to a Secret', () => {
  test('is read by the pods, and its value is nowhere else', async () => {
    const world = await serving();
    expect(world.status.activeRevision).toMatchObject({ number: 1 });
    expect(api(world).spec.containers[0]?.env).toContainEqual({
      name: 'STRIPE_KEY',
      valueFrom: { secretKeyRef: { name: 'payments', key: 'api-key' } },
    });
    const all = world.cluster
      .ids()
      .filter((id) => !id.startsWith('Secret/'))
      .map((id) => JSON.stringify(world.cluster.get(id)));
    for (const text of ['s3cret-value', Buffer.from('s3cret-value').toString('base64')])
      expect(all.join()).not.toContain(text);
  });

  test('has a marker that depends on a key in the namespace of Berth', async () => {
    const world = await serving();
    const key = world.cluster.get(`Secret/berth-system/${MARKER_KEY_SECRET}`);
    expect(key).toMatchObject({ immutable: true });
    const value = Buffer.from('s3cret-value').toString('base64');
    const guesses = ['s3cret-value', value].flatMap((text) =>
      ['sha256', 'sha1', 'md5'].map((algorithm) => createHash(algorithm).update(text).digest('hex')),
    );
    expect(marker(world)).toMatch(/^[0-9a-f]{32}$/);
    for (const guess of guesses) expect(guess).not.toContain(marker(world));
    world.cluster.remove(`Secret/berth-system/${MARKER_KEY_SECRET}`);
    const other = await serving();
    expect(marker(other)).not.toBe(marker(world));
  });

  test('replaces the pods exactly once when its value changes', async () => {
    const world = await serving();
    const first = marker(world);
    change(world, 'payments', { 'api-key': 'another' });
    world.now += POLL_MS;
    await world.converge();
    expect(marker(world)).not.toBe(first);
    expect(world.status.activeRevision).toMatchObject({ number: 1, templates: storedNames(world).at(-1) });
    expect(world.status.failedRevision).toBeUndefined();
    const second = marker(world);
    for (let round = 0; round < 3; round += 1) {
      world.now += POLL_MS;
      expect(await world.converge()).toEqual([]);
    }
    expect(marker(world)).toBe(second);
  });

  test('uses the former templates again when the former value returns', async () => {
    const world = await serving();
    const [before, name] = [marker(world), world.status.activeRevision?.templates];
    change(world, 'payments', { 'api-key': 'another' });
    world.now += POLL_MS;
    await steps(world, 1);
    change(world, 'payments', { 'api-key': 's3cret-value' });
    world.now += POLL_MS;
    await world.converge();
    expect(marker(world)).toBe(before);
    expect(world.status.activeRevision?.templates).toBe(name);
  });

  test('changes nothing when the Secret is created again with the same value, or gets another key', async () => {
    const world = await serving();
    const uid = uidOf(world);
    world.cluster.remove(`Secret/${NAMESPACE}/payments`);
    world.cluster.put(secret('payments', { 'api-key': 's3cret-value', more: 'x' }));
    expect(uidOf(world)).not.toBe(uid);
    world.now += POLL_MS;
    expect(await world.converge()).toEqual([]);
  });

  test('changes nothing after a restart of the operator', async () => {
    const world = await serving();
    for (let round = 0; round < 2; round += 1) {
      world.restart();
      expect(await world.converge()).toEqual([]);
    }
  });

  test('is read once for each interval, and not at all without the field', async () => {
    const world = await serving();
    const { client } = world.cluster;
    const { find } = client;
    let reads = 0;
    client.find = (async (kind: { kind: string }, at: { name: string }, options: object) => {
      if (at.name === 'payments') reads += 1;
      return find(kind as never, at as never, options as never);
    }) as typeof find;
    world.restart();
    for (let second = 0; second < 121; second += 1) {
      await world.reconcile();
      world.now += 1_000;
    }
    expect(reads).toBe(3);
    const outcome = await world.reconcile();
    expect(outcome).toMatchObject({ kind: 'requeue' });
    expect(outcome.kind === 'requeue' ? outcome.afterMs : 0).toBeGreaterThan(50_000);
    world.change(revised('web:1', 2));
    await world.converge();
    reads = 0;
    world.now += POLL_MS * 2;
    expect(await world.reconcile()).toEqual({ kind: 'settled' });
    expect(reads).toBe(0);
  });
});

describe('a revision whose Secret or key is missing', () => {
  test.each([
    ['Secret', undefined, 'the Secret payments does not exist'],
    ['key', { other: 'x' }, 'the Secret payments has no key api-key'],
  ])('fails and names it: a missing %s', async (_what, data, text) => {
    const world = new World(revised('web:1', 1));
    await world.converge();
    if (data !== undefined) world.cluster.put(secret('payments', data));
    world.change(revised('web:2', 2, reference('payments')));
    await steps(world, 2);
    expect(message(world, 'Ready')).toContain(text);
    expect(world.status.failedRevision).toBeUndefined();
    await world.converge();
    await steps(world, 10);
    expect(world.condition('Ready')).toBe('False SecretReferenceMissing');
    expect(world.condition('Stalled')).toBe('True SecretReferenceMissing');
    expect(message(world, 'Ready')).toContain(text);
    expect(world.status).toMatchObject({
      activeRevision: { number: 1 },
      failedRevision: {
        number: 2,
        reason: 'SecretReferenceMissing',
        failureSource: { kind: 'Secret', object: 'payments', field: 'secret_references[0]' },
      },
    });
    expect(world.images('api')).toEqual(['web:1']);

    world.cluster.remove(`Secret/${NAMESPACE}/payments`);
    world.cluster.put(secret('payments', { 'api-key': 'x' }));
    world.now += POLL_MS;
    await steps(world, 3);
    expect(world.status.activeRevision).toMatchObject({ number: 1 });
    world.change(revised('web:2', 3, reference('payments')));
    await world.converge();
    expect(world.status.activeRevision).toMatchObject({ number: 3 });
    expect(world.images('api')).toEqual(['web:2']);
  });

  test('runs without failing when it is created while the revision waits', async () => {
    const world = new World(revised('web:1', 1, reference('payments')));
    await steps(world, 3);
    world.cluster.put(secret('payments', { 'api-key': 'x' }));
    await world.converge();
    expect(world.status.activeRevision).toMatchObject({ number: 1 });
    expect(world.status.failedRevision).toBeUndefined();
  });

  test('keeps its running pods when the Secret is deleted later', async () => {
    const world = await serving();
    const before = marker(world);
    world.cluster.remove(`Secret/${NAMESPACE}/payments`);
    for (let round = 0; round < 3; round += 1) {
      world.now += POLL_MS;
      expect(await world.converge()).toEqual([]);
    }
    expect(marker(world)).toBe(before);
    expect(world.condition('Ready')).toBe('True Converged');
    world.cluster.put(secret('payments', { 'api-key': 's3cret-value' }));
    world.now += POLL_MS;
    expect(await world.converge()).toEqual([]);
  });
});

describe('a Secret that deployments may not use', () => {
  const labelled = (labels: Readonly<Record<string, string>>) => ({ labels });
  const REFUSED: [what: string, name: string, options: SecretOptions][] = [
    ["Berth's database credentials of this deployment", 'web-db', {}],
    ['the environment of this deployment', 'web-env-1', {}],
    ['credentials of a deployment of the hub', 'shop-0a1b2c3d-db', {}],
    ['a Secret of Berth', 'other', labelled({ [LABELS.managedBy]: MANAGED_BY, [LABELS.deploymentId]: 'x' })],
    ['a Secret of the platform', 'other', labelled({ [LABELS.partOf]: 'berth' })],
    ['the key of markers', MARKER_KEY_SECRET, {}],
    ['a token of a ServiceAccount', 'other', { type: 'kubernetes.io/service-account-token' }],
    ['a bootstrap token', 'other', { type: 'bootstrap.kubernetes.io/token' }],
    ['a release of Helm', 'other', { type: 'helm.sh/release.v1' }],
    ['a release of Helm by its name', 'sh.helm.release.v1.shop.v1', {}],
  ];
  const container = (more: object) => ({ podTemplate: { sidecars: [{ name: 's', image: 's:1', ...more }] } });
  const volume = (source: object) => ({ podTemplate: { volumes: [{ name: 'v', ...source }] } });
  const USES: [what: string, use: (name: string) => object][] = [
    ['secretReferences', (name) => reference(name)],
    ['envFrom', (name) => container({ envFrom: [{ secretRef: { name } }] })],
    [
      'valueFrom',
      (name) => container({ env: [{ name: 'A', valueFrom: { secretKeyRef: { name, key: 'api-key' } } }] }),
    ],
    [
      'envFrom of initContainers',
      (name) => ({
        podTemplate: { initContainers: [{ name: 'i', image: 'i:1', envFrom: [{ secretRef: { name } }] }] },
      }),
    ],
    ['volumes', (name) => volume({ secret: { secretName: name } })],
    ['projected volumes', (name) => volume({ projected: { sources: [{ secret: { name } }] } })],
    ['csi volumes', (name) => volume({ csi: { driver: 'csi.example.com', nodePublishSecretRef: { name } } })],
  ];
  /** Only the kubelet reads a pull Secret, so a deployment may name its own Secrets there, and no label is needed. */
  const PULL = (name: string) => ({ podTemplate: { imagePullSecrets: [{ name }] } });
  const OF_OTHERS = REFUSED.filter(([, name]) => !name.startsWith('web-'));

  test.each([
    ...USES.flatMap(([field, use]) => REFUSED.map((row) => [field, ...row, use] as const)),
    ...OF_OTHERS.map((row) => ['imagePullSecrets', ...row, PULL] as const),
  ])('is not used by %s: %s', async (_field, _what, name, options, use) => {
    const world = new World(revised('web:1', 1));
    await world.converge();
    const id = `Secret/${NAMESPACE}/${name}`;
    if (world.cluster.get(id) === undefined) world.cluster.put(secret(name, { 'api-key': 'x' }, options));
    world.change(revised('web:1', 2, use(name)));
    await steps(world, 12);
    expect(message(world, 'Ready')).toMatch(/cannot be used here/);
    expect(world.status).toMatchObject({
      activeRevision: { number: 1 },
      failedRevision: { reason: 'Refused' },
    });
    expect(JSON.stringify(template(world, 'api'))).not.toMatch(/"(secret)?[nN]ame":"(other|sh\.helm)/);
  });

  /** A deployment that runs while the policy requires the label. */
  async function strict(more: object = {}): Promise<World> {
    const world = new World(revised('web:1', 1, more));
    world.policy = {
      ...resolvePolicy('self_hosted'),
      secret_references: { labelled_only: true, max_secrets: 20 },
    };
    world.restart();
    world.cluster.put(secret('payments', { 'api-key': 'x' }));
    await world.converge();
    expect(world.status.activeRevision).toMatchObject({ number: 1 });
    return world;
  }

  test.each(USES)('needs a label when the policy requires one: %s', async (_field, use) => {
    const world = await strict();
    world.change(revised('web:1', 2, use('payments')));
    await steps(world, 8);
    expect(message(world, 'Ready')).toContain('does not have the label berth.dev/referenceable=true');
    world.cluster.edit(`Secret/${NAMESPACE}/payments`, ({ metadata }) => {
      metadata.labels = { 'berth.dev/referenceable': 'true' };
    });
    world.change(revised('web:1', 3, use('payments')));
    await steps(world, 30);
    await world.converge();
    expect(world.status.activeRevision).toMatchObject({ number: 3 });
  });

  test.each(USES)('needs the label also when pods use it to pull images: %s', async (_field, use) => {
    const world = await strict(PULL('payments'));
    world.change(revised('web:1', 2, use('payments')));
    await steps(world, 8);
    expect(world.status).toMatchObject({
      activeRevision: { number: 1 },
      failedRevision: { number: 2, reason: 'Refused' },
    });
    expect(message(world, 'Ready')).toContain('does not have the label berth.dev/referenceable=true');
    world.change(revised('web:2', 3, PULL('payments')));
    await world.converge();
    expect(world.status.activeRevision).toMatchObject({ number: 3 });
  });

  test.each([...USES, ['imagePullSecrets', PULL] as const])(
    'is that of the OTLP headers of the platform, although Berth adds it to the app: %s',
    async (_field, use) => {
      const world = new World(revised('web:1', 1));
      world.cluster.put(secret('otlp-headers', { OTEL_EXPORTER_OTLP_HEADERS: 'x=y' }));
      world.restart({ ...CONFIG, otlpEndpoint: 'https://otlp.example', otlpHeadersSecret: 'otlp-headers' });
      await world.converge();
      expect(JSON.stringify(template(world, 'api'))).toContain('"name":"otlp-headers"');
      world.change(revised('web:1', 2, use('otlp-headers')));
      await steps(world, 8);
      expect(message(world, 'Ready')).toContain('belongs to the platform and cannot be used here');
      expect(world.status).toMatchObject({
        activeRevision: { number: 1 },
        failedRevision: { number: 2, reason: 'Refused' },
      });
    },
  );

  test('is a certificate of another deployment', async () => {
    const world = new Namespace();
    world.create('shop', { revision: { image: 'shop:1' } });
    await world.work();
    world.cluster.put(secret('shop-tls', { 'tls.key': 'x' }));
    world.create('evil', { revision: { image: 'evil:1' }, ...reference('shop-tls', 'tls.key') });
    await world.work();
    expect(world.ready('evil')).toMatch(/^Refused: .*belongs to another deployment/);
  });
});

describe('a deployment in the namespace of Berth itself', () => {
  test('does not run, and the reason is clear', async () => {
    const world = new World(revised('web:1', 1, reference('berth', 'DATABASE_URL')));
    world.ownNamespace = NAMESPACE;
    world.restart();
    world.cluster.put(secret('berth', { DATABASE_URL: 'x' }));
    await steps(world, 12);
    expect(world.status.failedRevision).toMatchObject({ reason: 'Refused' });
    expect(message(world, 'Ready')).toContain(
      `metadata.namespace: ${NAMESPACE} is the namespace of Berth itself`,
    );
    expect(template(world, 'api')).toBeUndefined();
  });

  test('keeps the pods that an earlier version allowed, but gets no Secret of this namespace', async () => {
    const world = new World(revised('web:1', 1));
    await world.converge();
    world.ownNamespace = NAMESPACE;
    world.restart();
    expect(await world.converge()).toEqual([]);
    world.change(revised('web:2', 2));
    await world.converge();
    expect(world.images('api')).toEqual(['web:2']);
    world.cluster.put(secret('berth', { 'api-key': 'x' }));
    const uses = [reference('berth'), { revision: { image: 'web:3', number: 3, envSecretName: 'berth' } }];
    for (const [index, use] of uses.entries()) {
      world.change(revised('web:3', 3 + index, use));
      await steps(world, 12);
      expect(message(world, 'Ready')).toContain('is in the namespace of Berth itself');
      expect(world.status.activeRevision).toMatchObject({ number: 2 });
      expect(world.images('api')).toEqual(['web:2']);
    }
  });
});

test('two operators that need the key at the same time use one key', async () => {
  const world = new World(revised('web:1', 1, reference('payments')));
  world.cluster.put(secret('payments', { 'api-key': 'x' }));
  const { client } = world.cluster;
  const { create } = client;
  client.create = (async (object: KubeObject, options: never) => {
    if (object.metadata.name === MARKER_KEY_SECRET) {
      client.create = create;
      world.cluster.put({ ...object, data: { key: Buffer.alloc(32, 7).toString('base64') } } as never);
    }
    return create(object as never, options);
  }) as typeof create;
  await world.converge();
  const chosen = marker(world);
  world.restart();
  expect(await world.converge()).toEqual([]);
  expect(marker(world)).toBe(chosen);
});
