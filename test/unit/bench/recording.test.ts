import { expect, test } from 'vitest';
import { percentiles } from '../../bench/cluster/latencies.ts';
import { nameLike, plainObjects, renamed } from '../../bench/cluster/playing.ts';
import { type Recording, upTo, whenAsked } from '../../bench/cluster/recording.ts';

const step = (method: string, body: object, isResource = false) =>
  ({ role: 'operator', method, contentType: 'application/json', isResource, path: '/p', body }) as never;

const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    name: 'shop-01-abcdef01-db',
    namespace: 'here',
    labels: { 'berth.dev/deployment-id': 'the-id' },
    resourceVersion: '1',
    ownerReferences: [{ kind: 'ManagedDeployment', uid: 'the-uid' }],
  },
  spec: { clusterIP: 'None' },
};

const recording: Recording = {
  waves: [
    [step('POST', { kind: 'ManagedDeployment', metadata: { name: 'shop-01-abcdef01' } }, true)],
    [step('PATCH', service), step('POST', { kind: 'Event', metadata: { name: 'e' } })],
    [step('PATCH', { ...service, spec: {} }), step('PUT', { kind: 'ManagedDeployment' }, true)],
  ],
  objects: 2,
  summary: '',
  reads: '',
  name: 'shop-01-abcdef01',
  namespace: 'here',
  deploymentId: 'the-id',
  uid: 'the-uid',
};

test('the objects of a recording are what somebody would apply by hand: each once, as it was made, owned by nothing', () => {
  expect(plainObjects(recording)).toEqual([
    {
      ...service,
      metadata: { name: service.metadata.name, namespace: 'here', labels: service.metadata.labels },
    },
  ]);
});

test('a floor writes under a name of the same length, in another namespace, for another deployment', () => {
  const name = nameLike(recording, 'floor-1', 7);
  expect(name).toHaveLength(recording.name.length);
  const [made] = renamed(plainObjects(recording), recording, { name, namespace: 'there' });
  expect(made?.metadata).toMatchObject({ name: `${name}-db`, namespace: 'there' });
  expect(JSON.stringify(made)).not.toMatch(/the-id|abcdef01|"here"/);
});

test('a recording is cut after the first write of a kind, and not where there is none', () => {
  expect(upTo(recording, 'Service').waves).toEqual(recording.waves.slice(0, 2));
  expect(() => upTo(recording, 'Deployment')).toThrow('nothing of kind Deployment was written');
});

test('what only a floor needs is made when it is asked for, and once', async () => {
  let made = 0;
  const asked = whenAsked(async () => {
    made += 1;
    return made;
  });
  expect(made).toBe(0);
  expect(await Promise.all([asked(), asked()])).toEqual([1, 1]);
  expect(await asked()).toBe(1);
});

test('names of many deployments of a floor differ', () => {
  const names = Array.from({ length: 6000 }, (_, index) => nameLike(recording, 'floor-1', index));
  expect(new Set(names).size).toBe(names.length);
});

test('percentiles are of the values in order of size', () => {
  expect(percentiles([3, 1, 2], 'idle ')).toEqual({ 'idle p50': 2, 'idle p99': 2.98 });
});
