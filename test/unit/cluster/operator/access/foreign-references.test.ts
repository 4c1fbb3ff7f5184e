import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../../../src/cluster/kube/client/object.ts';
import { foreignReferences } from '../../../../../src/cluster/operator/access/foreign-references.ts';
import type { Observed } from '../../../../../src/cluster/operator/observed.ts';
import { LABELS, MANAGED_BY } from '../../../../../src/contract/resource/names.ts';
import { NAMESPACE, resource } from '../fixtures.ts';
import { Namespace } from '../several-resources.ts';

/** A victim without a record, `shop`, which has all that Berth makes for it. */
async function withVictim(): Promise<Namespace> {
  const world = new Namespace();
  world.create('shop', { revision: { image: 'shop:1' } });
  await world.work();
  return world;
}
const secret = (name: string, labels: Record<string, string> = {}) =>
  ({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: NAMESPACE, labels } }) as KubeObject;
const hasPods = (world: Namespace, name: string) =>
  world.cluster.get(`Deployment/${NAMESPACE}/${name}-api`) !== undefined;

const volume = (source: object) => ({ podTemplate: { volumes: [{ name: 'v', ...source }] } });
const sidecar = (more: object) => ({ podTemplate: { sidecars: [{ name: 's', image: 's:1', ...more }] } });
const USES: [string, object][] = [
  ['spec.revision.envSecretName', { revision: { image: 'evil:1', envSecretName: 'shop-db' } }],
  ['spec.revision.envSecretName', { revision: { image: 'evil:1', envSecretName: 'shop-db-copy' } }],
  ['spec.podTemplate.volumes[0].secret.secretName', volume({ secret: { secretName: 'shop-db' } })],
  [
    'spec.podTemplate.volumes[0].projected.sources[0].secret.name',
    volume({ projected: { sources: [{ secret: { name: 'shop-db' } }] } }),
  ],
  [
    'spec.podTemplate.volumes[0].persistentVolumeClaim.claimName',
    volume({ persistentVolumeClaim: { claimName: 'shop-db' } }),
  ],
  [
    'spec.podTemplate.sidecars[0].envFrom[0].secretRef.name',
    sidecar({ envFrom: [{ secretRef: { name: 'shop-db' } }] }),
  ],
  [
    'spec.podTemplate.sidecars[0].env[0].valueFrom.secretKeyRef.name',
    sidecar({ env: [{ name: 'P', valueFrom: { secretKeyRef: { name: 'shop-db-copy', key: 'password' } } }] }),
  ],
  [
    'spec.podTemplate.imagePullSecrets[0].name',
    { podTemplate: { imagePullSecrets: [{ name: 'shop-tls' }] } },
  ],
  ['spec.podTemplate.serviceAccountName', { podTemplate: { serviceAccountName: 'shop' } }],
];

describe('an object that Berth created for another deployment', () => {
  test.each(USES)('is not used by pods through %s (case %#)', async (path, more) => {
    const world = await withVictim();
    world.create('evil', { revision: { image: 'evil:1' }, ...more });
    await world.work();
    expect(world.ready('evil')).toMatch(/^Refused: /);
    expect(world.ready('evil')).toContain(path);
    expect(hasPods(world, 'evil')).toBe(false);
    expect(world.status('shop').deploymentStatus).toBe('READY');
  });

  test.each([
    ['later-db', { revision: { image: 'evil:1', envSecretName: 'later-db' } }],
    ['later-db', volume({ persistentVolumeClaim: { claimName: 'later-db' } })],
    ['later-tls', volume({ secret: { secretName: 'later-tls' } })],
    ['later-0000abcd', { podTemplate: { serviceAccountName: 'later-0000abcd' } }],
  ])('is not used under the name %s, even when it is created later (case %#)', async (name, more) => {
    const world = new Namespace();
    world.create('evil', { revision: { image: 'evil:1' }, ...more });
    await world.work(4);
    expect(world.ready('evil')).toContain('does not exist');
    const later = name.replace(/-(db|tls)$/, '');
    world.create(later, { revision: { image: 'shop:1' } });
    if (name === 'later-tls') world.cluster.put(secret(name));
    await world.work();
    expect(world.status(later).deploymentStatus).toBe('READY');
    expect(world.ready('evil')).toContain('belongs to another deployment');
    expect(hasPods(world, 'evil')).toBe(false);
  });

  test.each([
    ['shop-deadbeef-env-1', { revision: { image: 'evil:1', envSecretName: 'shop-deadbeef-env-1' } }],
    [
      'shop-deadbeef-pull',
      { revision: { image: 'evil:1' }, podTemplate: { imagePullSecrets: [{ name: 'shop-deadbeef-pull' }] } },
    ],
  ])('is not used as %s by a resource of the same name that has another id', async (name, more) => {
    for (const owner of ['hub', 'other']) {
      const world = new Namespace();
      world.cluster.put(secret(name, { [LABELS.managedBy]: MANAGED_BY, [LABELS.deploymentId]: owner }));
      world.create('shop-deadbeef', { deploymentId: 'other', ...more });
      await world.work();
      const isOwn = owner === 'other';
      expect(world.ready('shop-deadbeef')).toMatch(isOwn ? /^Converged: / : /^Refused: /);
      expect(hasPods(world, 'shop-deadbeef')).toBe(isOwn);
    }
  });

  test('is not used by a resource that contained its name only as text before', async () => {
    const world = await withVictim();
    const text = sidecar({ env: [{ name: 'P', value: 'shop-db' }] });
    world.create('evil', { revision: { number: 1, image: 'evil:1' }, ...text });
    await world.work();
    expect(world.status('evil').deploymentStatus).toBe('READY');
    world.cluster.edit(`ManagedDeployment/${NAMESPACE}/evil`, (resource) => {
      const spec = resource['spec'] as { recordGeneration: number; revision: object };
      Object.assign(resource.metadata, { generation: (resource.metadata.generation ?? 1) + 1 });
      spec.recordGeneration += 1;
      spec.revision = { number: 2, image: 'evil:2', envSecretName: 'shop-db' };
    });
    await world.work();
    expect(JSON.stringify(world.status('evil').conditions)).toContain('spec.revision.envSecretName');
    expect(JSON.stringify(world.cluster.list('Deployment'))).not.toContain('"secretRef":{"name":"shop-db"}');
  });

  test('is not used while its custom resource is gone', async () => {
    const world = await withVictim();
    world.cluster.put(secret('shop-tls'));
    world.delete('shop');
    world.create('evil', {
      revision: { image: 'evil:1' },
      ...volume({ secret: { secretName: 'shop-tls' } }),
    });
    await world.work();
    expect(world.ready('evil')).toContain('belongs to another deployment');
    expect(hasPods(world, 'evil')).toBe(false);
  });

  test('is not used even when a text of an earlier template equals its name', async () => {
    const world = await withVictim();
    world.create('evil', {
      revision: { image: 'evil:1' },
      podTemplate: {
        annotations: { secretName: 'shop-db', claimName: 'shop-db' },
        sidecars: [{ name: 's', image: 's:1', env: [{ name: 'P', value: 'shop-db' }] }],
      },
    });
    await world.work();
    expect(world.status('evil').deploymentStatus).toBe('READY');
    world.cluster.edit(`ManagedDeployment/${NAMESPACE}/evil`, (object) => {
      const added = volume({ secret: { secretName: 'shop-db' } });
      Object.assign(object['spec'] as object, added, { revision: { image: 'evil:1', number: 2 } });
    });
    await world.work();
    expect(world.ready('evil')).toContain('spec.podTemplate.volumes[0].secret.secretName');
    const mounted = JSON.stringify(world.cluster.get(`Deployment/${NAMESPACE}/evil-api`)?.['spec']);
    expect(mounted).not.toContain('"secret":{');
  });

  test('is not used by a later resource with the same name', async () => {
    const world = new Namespace();
    world.cluster.put(
      secret('web-env-1', { [LABELS.managedBy]: MANAGED_BY, [LABELS.deploymentId]: 'former' }),
    );
    world.create('web', { revision: { image: 'evil:1', envSecretName: 'web-env-1' } });
    await world.work();
    expect(world.ready('web')).toMatch(/^Refused: /);
    expect(hasPods(world, 'web')).toBe(false);
  });
});

test.each(['settings', 'orders-db', 'web-env-1', 'shop-env-1'])(
  'a resource may use a Secret that Berth did not create, although its name is %s',
  async (name) => {
    const world = await withVictim();
    world.cluster.put(secret(name));
    world.create('web', { revision: { image: 'web:1', envSecretName: name } });
    await world.work();
    expect(world.status('web').deploymentStatus).toBe('READY');
    expect(hasPods(world, 'web')).toBe(true);
  },
);

test('a resource may use a claim that Berth did not create, although its name is orders-db', async () => {
  const world = await withVictim();
  const spec = { resources: { requests: { storage: '1Gi' } } };
  world.cluster.put({ ...secret('orders-db'), kind: 'PersistentVolumeClaim', spec } as KubeObject);
  const more = volume({ persistentVolumeClaim: { claimName: 'orders-db' } });
  world.create('web', { revision: { image: 'web:1' }, ...more });
  await world.work();
  expect(world.status('web').deploymentStatus).toBe('READY');
  expect(hasPods(world, 'web')).toBe(true);
});

test.each(['payments', 'payments-0000abcd'])(
  'a resource may use a ServiceAccount that Berth did not create, although its name is %s',
  async (name) => {
    const world = await withVictim();
    world.cluster.put({ ...secret(name), kind: 'ServiceAccount' });
    world.create('web', { revision: { image: 'web:1' }, podTemplate: { serviceAccountName: name } });
    await world.work();
    expect(world.status('web').deploymentStatus).toBe('READY');
    expect(hasPods(world, 'web')).toBe(true);
  },
);

test('a resource may use a certificate that belongs to no deployment, although its name is orders-tls', async () => {
  const world = await withVictim();
  world.cluster.put(secret('orders-tls'));
  world.create('web', { revision: { image: 'web:1' }, ...volume({ secret: { secretName: 'orders-tls' } }) });
  await world.work();
  expect(hasPods(world, 'web')).toBe(true);
});

test('a resource uses a Secret that is created later as soon as it exists', async () => {
  const world = await withVictim();
  world.create('web', { revision: { image: 'web:1', envSecretName: 'orders-db' } });
  await world.work(3);
  expect(hasPods(world, 'web')).toBe(false);
  world.cluster.put(secret('orders-db'));
  await world.work(10);
  expect(hasPods(world, 'web')).toBe(true);
});

describe('a rejected reference', () => {
  const claim = (name: string) =>
    ({ ...secret(name), kind: 'PersistentVolumeClaim', spec: { resources: {} } }) as KubeObject;
  const account = (name: string) => ({ ...secret(name), kind: 'ServiceAccount' }) as KubeObject;
  const CAUSES: [string, object, KubeObject][] = [
    ['a ServiceAccount', { podTemplate: { serviceAccountName: 'shop' } }, account('shop')],
    ['a Secret', { revision: { image: 'web:1', envSecretName: 'shop-db' } }, secret('shop-db')],
    ['a claim', volume({ persistentVolumeClaim: { claimName: 'shop-db' } }), claim('shop-db')],
    ['a certificate', volume({ secret: { secretName: 'shop-tls' } }), secret('shop-tls')],
  ];

  test.each(CAUSES)(
    'is accepted once %s of another deployment is gone, without an event',
    async (_, more, made) => {
      const world = await withVictim();
      world.create('user', { revision: { image: 'web:1' }, ...more });
      await world.work();
      expect(world.ready('user')).toMatch(/^Refused: .*belongs to another deployment/);
      const outcome = await world.reconcileOnce('user');
      expect(outcome?.kind === 'requeue' ? outcome.afterMs : Number.NaN).toBeLessThanOrEqual(30_000);

      // The deployment is deleted with all that Berth made for it, and its former user makes an object of the name.
      for (const { kind, metadata } of world.objects())
        if (metadata.name === 'shop' || metadata.name.startsWith('shop-'))
          world.cluster.remove(`${kind}/${NAMESPACE}/${metadata.name}`);
      world.delete('shop');
      world.cluster.put(made);
      await world.work();
      expect(world.status('user').deploymentStatus).toBe('READY');
      expect(hasPods(world, 'user')).toBe(true);
    },
  );
});

test('an allowed reference is checked again after a while, until a stored template uses it', async () => {
  const { client } = new Namespace().cluster;
  let labels: Record<string, string> = {};
  let finds = 0;
  const check = (ticks: number) => ({
    view: { resource: () => undefined, children: () => [] },
    client: {
      find: (() => {
        finds += 1;
        return Promise.resolve(secret('shop-db', labels));
      }) as unknown as typeof client.find,
    },
    remembered,
    rules: { labelledOnly: false },
    signal: new AbortController().signal,
    ticks,
  });
  const remembered = {};
  const observed = {
    resource: resource({ revision: { image: 'web:1', envSecretName: 'shop-db' } }),
    storedTemplates: [],
  } as unknown as Observed;
  const found = async (ticks: number) => (await foreignReferences(observed, check(ticks))).length;
  expect(await found(0)).toBe(0);
  labels = { [LABELS.managedBy]: MANAGED_BY, [LABELS.deploymentId]: 'shop' };
  expect([await found(1_000), finds]).toEqual([0, 1]);
  expect([await found(60_000), finds]).toEqual([1, 2]);
  labels = {};
  expect(await found(61_000)).toBe(0);
});
