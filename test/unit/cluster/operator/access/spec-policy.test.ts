import { describe, expect, test } from 'vitest';
import { forbiddenParts } from '../../../../../src/cluster/operator/access/spec-policy.ts';
import type { ObservedResource } from '../../../../../src/cluster/operator/observed.ts';
import { managedDeploymentSpecSchema } from '../../../../../src/contract/resource/managed-deployment.ts';
import { resolvePolicy } from '../../../../../src/domain/policy/policy.ts';
import { NAMESPACE, World } from '../fixtures.ts';

const API = `Deployment/${NAMESPACE}/web-api`;
const image = 'registry.test/helper:1';
const PLAIN = { revision: { image: 'web:1' } };
const PRIVILEGED = {
  ...PLAIN,
  podTemplate: { sidecars: [{ name: 'helper', image, securityContext: { privileged: true } }] },
};

function parts(
  podTemplate: object,
  name = 'web',
  hosting: 'cloud' | 'self_hosted' = 'self_hosted',
  more = {},
) {
  const spec = managedDeploymentSpecSchema.parse({ revision: { image: 'web:1', ...more }, podTemplate });
  const resource = { metadata: { name, namespace: NAMESPACE }, spec } as ObservedResource;
  return forbiddenParts(resource, resolvePolicy(hosting)).map(({ resourcePath }) => resourcePath);
}

describe('rejected fields of pods, by path in the custom resource', () => {
  test.each([
    ['contain no field of an allowed spec', { labels: { team: 'shop' }, volumes: [{ name: 'v' }] }, []],
    [
      'contain a reserved label',
      { labels: { 'berth.dev/deployment-id': 'x' } },
      ['spec.podTemplate.labels.berth.dev/deployment-id'],
    ],
    [
      'contain a mount without a volume',
      { volumeMounts: [{ name: 'v', mountPath: '/v' }] },
      ['spec.podTemplate.volumeMounts[0].name'],
    ],
    [
      'contain an account of Berth',
      { serviceAccountName: 'berth-operator' },
      ['spec.podTemplate.serviceAccountName'],
    ],
    [
      'contain a Secret of another deployment',
      { imagePullSecrets: [{ name: 'shop-0a1b2c3d-pull' }] },
      ['spec.podTemplate.imagePullSecrets[0].name'],
    ],
  ] as const)('%s', (_what, podTemplate, expected) => {
    expect(parts(podTemplate)).toEqual(expected);
  });

  test('depend on the hosting mode', () => {
    const account = { serviceAccountName: 'payments' };
    expect(parts(account)).toEqual([]);
    expect(parts(account, 'web', 'cloud')).toEqual(['spec.podTemplate.serviceAccountName']);
  });

  const variables = (count: number, bytes: number) => ({
    env: [...Array(count).keys()].map((n) => ({ name: `V${n}`, value: 'x'.repeat(bytes) })),
  });

  const references = (count: number, length: number) => ({
    secretReferences: [...Array(count).keys()].map((n) => ({
      name: `V${n}`,
      secretName: 's'.repeat(length),
      secretKey: 'k'.repeat(length),
    })),
  });

  test.each<[string, object, 'cloud' | 'self_hosted', string[]]>([
    ['as many variables as the policy allows', variables(256, 100), 'cloud', []],
    ['more variables than the policy allows', variables(257, 100), 'cloud', ['spec.podTemplate.env']],
    ['more variables than the other policy allows', variables(257, 100), 'self_hosted', []],
    [
      'variables larger than a request may have',
      variables(100, 700),
      'self_hosted',
      ['spec.podTemplate.env'],
    ],
    [
      'commands larger than a request may have',
      { commands: { api: { args: Array(3).fill('x'.repeat(30_000)) } } },
      'self_hosted',
      ['spec.podTemplate.commands'],
    ],
    ['as many references as a request may have', references(8, 20), 'self_hosted', []],
    [
      'references larger than a request may have',
      references(100, 253),
      'self_hosted',
      ['spec.podTemplate.secretReferences'],
    ],
    [
      'a reference in the URI of an external database',
      { env: [{ name: 'DATABASE_URI_CUSTOM', value: 'postgresql://$(HOST)/x' }] },
      'self_hosted',
      ['spec.podTemplate.env[0].value'],
    ],
  ])('include %s', (_what, podTemplate, hosting, expected) => {
    expect(parts(podTemplate, 'web', hosting)).toEqual(expected);
  });

  test('include an app image that is only an id', () => {
    expect(parts({}, 'web', 'self_hosted', { image: 'sha256:3f' })).toEqual(['spec.revision.image']);
    expect(parts({}, 'web', 'self_hosted', { image: 'library/sha256:3f' })).toEqual([]);
  });

  test('exclude references to its own Secrets', () => {
    const own = { imagePullSecrets: [...Array(20).keys()].map((n) => ({ name: `mine-${n}` })) };
    own.imagePullSecrets.push({ name: 'shop-0a1b2c3d-pull' });
    expect(parts(own, 'shop-0a1b2c3d', 'cloud', { envSecretName: 'shop-0a1b2c3d-env-1' })).toEqual([]);
    expect(parts({}, 'web', 'self_hosted', { envSecretName: 'shop-0a1b2c3d-env-1' })).toEqual([
      'spec.revision.envSecretName',
    ]);
  });
});

describe('the operator', () => {
  const refused = (world: World) => {
    expect(world.condition('Ready')).toBe('False Refused');
    const message = world.status.conditions?.find(({ type }) => type === 'Ready')?.message;
    expect(message).toContain('spec.podTemplate.sidecars[0].securityContext.privileged');
  };

  test('creates no pod with a rejected field, and reports it', async () => {
    const world = new World(PRIVILEGED);
    await world.converge();
    refused(world);
    expect(world.cluster.get(API)).toBeUndefined();
    expect(world.status.activeRevision).toBeUndefined();
  });

  test('leaves the active revision running, and applies the next change', async () => {
    const world = new World(PLAIN);
    await world.converge();
    world.change(PRIVILEGED);
    await world.converge();
    refused(world);
    expect(world.condition('Serving')).toBe('True Available');
    expect(JSON.stringify(world.cluster.get(API))).not.toContain(image);
    world.change({ revision: { image: 'web:2' } });
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
  });

  test('keeps the active revision, and creates its objects again, when the policy is narrowed', async () => {
    const world = new World(PRIVILEGED);
    world.policy = resolvePolicy('self_hosted', { pod_security: 'privileged' });
    world.restart();
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
    world.policy = resolvePolicy('self_hosted');
    world.restart();
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
    world.cluster.remove(API);
    await world.converge();
    expect(world.condition('Serving')).toBe('True Available');
  });

  test('rejects the field even if the status was edited', async () => {
    const world = new World(PRIVILEGED);
    world.cluster.edit(`ManagedDeployment/${NAMESPACE}/web`, (object) => {
      object['status'] = { activeRevision: { number: 1, templates: 'web-1', image: 'web:1' } };
    });
    await world.converge();
    refused(world);
    expect(world.cluster.get(API)).toBeUndefined();
  });
});

describe('a database or cache that is rejected', () => {
  const DATABASE = `StatefulSet/${NAMESPACE}/web-db`;
  const CLAIM = `PersistentVolumeClaim/${NAMESPACE}/web-db`;
  const message = (world: World) => world.status.conditions?.find(({ type }) => type === 'Ready')?.message;

  test.each([
    ['an image id', { image: 'sha256:3f' }, 'spec.database.image'],
    ['a limit of 0', { resources: { limits: { memory: '0' } } }, 'spec.database.resources.limits.memory'],
  ])('is not created with %s', async (_what, database, field) => {
    const world = new World({ ...PLAIN, database });
    await world.converge();
    expect(world.condition('Ready')).toBe('False Refused');
    expect(world.condition('DatabaseReady')).toBe('False Refused');
    expect([world.condition('Stalled'), world.condition('Reconciling')]).toEqual(['True Refused', 'absent']);
    expect(message(world)).toContain(field);
    expect([DATABASE, CLAIM, API].map((id) => world.cluster.get(id))).toEqual(Array(3).fill(undefined));
    world.change(PLAIN);
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
    expect(world.status.dataImages?.database).toBe('postgres:18');
  });

  test('keeps running unchanged, and so does the app', async () => {
    const world = new World(PLAIN);
    await world.converge();
    const before = world.cluster.get(DATABASE)?.['spec'];
    world.change({ ...PLAIN, database: { resources: { limits: { cpu: '0.0' } } } });
    await world.converge();
    expect(world.condition('Ready')).toBe('False Refused');
    expect([world.condition('Stalled'), world.condition('Serving')]).toEqual([
      'True Refused',
      'True Available',
    ]);
    expect(world.cluster.get(DATABASE)?.['spec']).toEqual(before);
  });

  test('is accepted with a rejected image if it exists, because it keeps its image', async () => {
    const world = new World({ ...PLAIN, database: { image: 'postgres:17' } });
    await world.converge();
    world.change({ ...PLAIN, database: { image: 'sha256:3f' } });
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
  });
});
