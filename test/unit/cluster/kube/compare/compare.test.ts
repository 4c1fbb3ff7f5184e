import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { UntypedObject } from '../../../../../src/cluster/kube/client/object.ts';
import {
  desiredHash,
  subsetDiff,
  whyApply,
  withHash,
} from '../../../../../src/cluster/kube/compare/compare.ts';

const ANNOTATION = 'example.com/hash';

function deployment(container: object, pod: object = {}): UntypedObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'a', namespace: 'ns', labels: { app: 'a' } },
    spec: { template: { spec: { containers: [{ name: 'app', image: 'x:1', ...container }], ...pod } } },
  };
}

/** The differences between `desired.spec.template.spec.containers[0]` and a live container. */
function containerDiff(desired: object, live: object): string[] {
  return subsetDiff(deployment(desired), deployment(live)).map(
    ({ path, why }) => `${path.replace('spec.template.spec.containers[name=app].', '')} ${why}`,
  );
}

describe('the comparison', () => {
  test.each<[string, object, object]>([
    [
      'defaults that the server filled in',
      {},
      { terminationMessagePath: '/dev/x', resources: {}, imagePullPolicy: 'Always' },
    ],
    [
      'another notation of the same cpu',
      { resources: { limits: { cpu: '1' } } },
      { resources: { limits: { cpu: '1000m' } } },
    ],
    [
      'another notation of the same memory',
      { resources: { requests: { memory: '1024Mi' } } },
      { resources: { requests: { memory: '1Gi' } } },
    ],
    [
      'a cpu given as a number',
      { resources: { limits: { cpu: 2 } } },
      { resources: { limits: { cpu: '2' } } },
    ],
    ['empty limits', { resources: { limits: {} } }, { resources: {} }],
    ['an empty list', { args: [], env: [] }, {}],
    ['an empty string', { env: [{ name: 'A', value: '' }] }, { env: [{ name: 'A' }] }],
    ['null and undefined', { command: null, workingDir: undefined }, {}],
    [
      'a false that is not stored',
      { volumeMounts: [{ name: 'v', mountPath: '/v', readOnly: false }] },
      { volumeMounts: [{ name: 'v', mountPath: '/v' }] },
    ],
    [
      'a zero that is not stored',
      { livenessProbe: { initialDelaySeconds: 0, periodSeconds: 5 } },
      { livenessProbe: { periodSeconds: 5 } },
    ],
    [
      'entries of others in a merged list',
      { env: [{ name: 'A', value: '1' }] },
      {
        env: [
          { name: 'THEIRS', value: 'x' },
          { name: 'A', value: '1' },
        ],
      },
    ],
    [
      'another order of mounts',
      {
        volumeMounts: [
          { name: 'a', mountPath: '/a' },
          { name: 'b', mountPath: '/b' },
        ],
      },
      {
        volumeMounts: [
          { name: 'b', mountPath: '/b' },
          { name: 'a', mountPath: '/a' },
        ],
      },
    ],
    [
      'a port whose protocol was filled in',
      { ports: [{ containerPort: 80 }] },
      { ports: [{ containerPort: 80, protocol: 'TCP' }] },
    ],
  ])('ignores %s', (_name, desired, live) => {
    expect(containerDiff(desired, live)).toEqual([]);
  });

  test('ignores labels and annotations of others, and the metadata of the server', () => {
    const desired = deployment({});
    const live = deployment({});
    Object.assign(live.metadata, {
      uid: 'u',
      resourceVersion: '5',
      labels: { app: 'a', theirs: 'x' },
      annotations: { 'deployment.kubernetes.io/revision': '1' },
    });
    desired.metadata.uid = 'another';
    expect(subsetDiff(desired, live)).toEqual([]);
  });

  test('treats text that only looks like a quantity as text', () => {
    expect(
      containerDiff({ env: [{ name: 'A', value: '1' }] }, { env: [{ name: 'A', value: '1000m' }] }),
    ).toEqual(['env[name=A].value differs']);
  });
});

describe('the differences', () => {
  test.each<[string, object, object, string[]]>([
    ['another image', { image: 'x:2' }, {}, ['image is x:1, should be x:2']],
    [
      'less memory',
      { resources: { limits: { memory: '1Gi' } } },
      { resources: { limits: { memory: '1G' } } },
      ['resources.limits.memory is 1G, should be 1Gi'],
    ],
    ['a missing field', { workingDir: '/srv' }, {}, ['workingDir is missing']],
    ['a missing variable', { env: [{ name: 'A', value: '1' }] }, {}, ['env is missing']],
    [
      'one missing variable of two',
      { env: [{ name: 'A' }, { name: 'B' }] },
      { env: [{ name: 'B' }] },
      ['env[name=A] is missing'],
    ],
    [
      'variables out of order',
      { env: [{ name: 'A' }, { name: 'B' }] },
      { env: [{ name: 'B' }, { name: 'A' }] },
      ['env[name=B] is out of order'],
    ],
    ['an additional argument', { args: ['a'] }, { args: ['a', 'b'] }, ['args has 2 entries, should have 1']],
    ['another argument', { args: ['a', 'b'] }, { args: ['a', 'c'] }, ['args[1] differs']],
    [
      'a missing false that is not the default',
      { securityContext: { allowPrivilegeEscalation: false } },
      { securityContext: {} },
      ['securityContext.allowPrivilegeEscalation is missing'],
    ],
    [
      'a port of another protocol',
      { ports: [{ containerPort: 53, protocol: 'UDP' }] },
      { ports: [{ containerPort: 53, protocol: 'TCP' }] },
      ['ports[containerPort=53,protocol=UDP] is missing'],
    ],
  ])('include %s', (_name, desired, live, expected) => {
    expect(containerDiff(desired, live)).toEqual(expected);
  });

  test('include an empty volume that became another one', () => {
    const [wanted, changed] = [
      { name: 'v', emptyDir: {} },
      { name: 'v', configMap: { name: 'c' } },
    ];
    expect(subsetDiff(deployment({}, { volumes: [wanted] }), deployment({}, { volumes: [changed] }))).toEqual(
      [{ path: 'spec.template.spec.volumes[name=v].emptyDir', why: 'is missing' }],
    );
  });

  test('include init containers out of order', () => {
    const [first, second] = [{ name: 'first' }, { name: 'second' }];
    const desired = deployment({}, { initContainers: [first, second] });
    expect(subsetDiff(desired, deployment({}, { initContainers: [second, first] }))).toHaveLength(1);
    expect(
      subsetDiff(desired, deployment({}, { initContainers: [first, { name: 'theirs' }, second] })),
    ).toEqual([]);
  });

  test('include an added port in a network policy, whose lists are replaced as a whole', () => {
    const policy = (...ports: object[]) => ({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: 'p' },
      spec: { podSelector: {}, ingress: [{ ports }] },
    });
    const [db, ssh] = [
      { protocol: 'TCP', port: 5432 },
      { protocol: 'TCP', port: 22 },
    ];
    expect(subsetDiff(policy(db), policy(db, ssh))).toEqual([
      { path: 'spec.ingress[0].ports', why: 'has 2 entries, should have 1' },
    ]);
  });

  test('never show the value of a Secret or a variable', () => {
    const secret = (password: string) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's' },
      data: { password, image: password },
    });
    expect(JSON.stringify(subsetDiff(secret('old'), secret('hunter2')))).not.toMatch(/hunter2|old/);
    const env = (value: string) => ({ env: [{ name: 'TOKEN', value }] });
    expect(containerDiff(env('old'), env('hunter2'))).toEqual(['env[name=TOKEN].value differs']);
  });

  test('treat stringData of a Secret like data', () => {
    const live = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data: { a: 'aGk=' } };
    const desired = (a: string) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's' },
      stringData: { a },
    });
    expect(subsetDiff(desired('hi'), live)).toEqual([]);
    expect(subsetDiff(desired('ho'), live)).toEqual([{ path: 'data.a', why: 'differs' }]);
  });
});

describe('fields that are applied as a whole', () => {
  const policy = (spec: object) => ({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'a', labels: { x: 'y' } },
    spec,
  });
  const pods = (labels: object) => ({ podSelector: { matchLabels: labels } });

  test('differ by keys that others added inside them, and by no other keys', () => {
    const desired = policy(pods({ a: '1' }));
    const live = policy({ ...pods({ a: '1', added: '2' }), more: 'x' });
    live.metadata.labels = { ...live.metadata.labels, theirs: 'z' } as never;
    expect(subsetDiff(desired, live)).toEqual([
      { path: 'spec.podSelector.matchLabels.added', why: 'is not in the desired state' },
    ]);
  });

  test('differ by an added entry in a list', () => {
    const desired = policy({ ingress: [{ from: [pods({ a: '1' })] }] });
    const live = policy({ ingress: [{ from: [pods({ a: '1' }), pods({})] }] });
    expect(subsetDiff(desired, live)).toEqual([
      { path: 'spec.ingress[0].from', why: 'has 2 entries, should have 1' },
    ]);
  });
});

describe('the hash', () => {
  test('requires a write only when the desired state changed', () => {
    const desired = withHash(deployment({ env: [{ name: 'A', value: '1' }] }), ANNOTATION);
    expect(whyApply(desired, desired, ANNOTATION)).toEqual([]);
    expect(whyApply(deployment({ env: [{ name: 'A', value: '1' }] }), desired, ANNOTATION)).toEqual([]);
    expect(whyApply(deployment({}), desired, ANNOTATION)).toEqual([
      { path: `metadata.annotations[${ANNOTATION}]`, why: 'desired state changed' },
    ]);
  });

  test('does not hide an edit by hand', () => {
    const desired = withHash(deployment({}), ANNOTATION);
    const edited = withHash(deployment({}), ANNOTATION);
    Object.assign(edited, { spec: deployment({ image: 'evil' })['spec'] });
    expect(whyApply(desired, edited, ANNOTATION)).toHaveLength(1);
  });

  test('does not depend on the order of keys, on preconditions or on itself', () => {
    const a = deployment({ image: 'x', workingDir: '/' });
    const b = deployment({ workingDir: '/', image: 'x' });
    b.metadata = {
      labels: b.metadata.labels,
      namespace: 'ns',
      name: 'a',
      uid: 'u',
      resourceVersion: '9',
    } as never;
    expect(desiredHash(a)).toBe(desiredHash(b));
    expect(desiredHash(withHash(a, ANNOTATION), ANNOTATION)).toBe(desiredHash(a, ANNOTATION));
    expect(desiredHash(a)).toMatch(/^[0-9a-f]{16}$/);
  });

  test('changes with every change of the object', () => {
    const hash = desiredHash(deployment({ env: [{ name: 'A', value: '1' }] }));
    expect(desiredHash(deployment({ env: [{ name: 'A', value: '2' }] }))).not.toBe(hash);
    expect(desiredHash(deployment({ env: [{ name: 'A', value: '1' }, { name: 'B' }] }))).not.toBe(hash);
    expect(desiredHash(deployment({}))).not.toBe(hash);
  });
});

const scalar = fc.oneof(fc.string({ minLength: 1 }), fc.integer({ min: 1 }), fc.constant(true));
const fields = fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), scalar, { maxKeys: 4 });
const tree = fc.letrec<{ value: unknown; object: Record<string, unknown> }>((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, scalar, fc.array(scalar, { maxLength: 3 }), tie('object')),
  object: fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), tie('value'), { maxKeys: 4 }),
})).object;

describe('the comparison of any object', () => {
  test('finds no difference between an object and itself, with or without more fields', () => {
    fc.assert(
      fc.property(tree, fields, (object, more) => {
        expect(subsetDiff(object, object)).toEqual([]);
        expect(subsetDiff(object, { ...prefixed(more), ...object })).toEqual([]);
      }),
    );
  });

  test('finds any changed leaf as one difference, and changes the hash', () => {
    fc.assert(
      fc.property(tree, fc.nat(), (object, which) => {
        const leaves = leavesOf(object);
        const leaf = leaves[which % Math.max(1, leaves.length)];
        if (leaf === undefined) return;
        const live = structuredClone(object);
        changeAt(live, leaf);
        expect(subsetDiff(object, live)).toHaveLength(1);
        expect(desiredHash(asObject(object))).not.toBe(desiredHash(asObject(live)));
      }),
    );
  });
});

const prefixed = (more: object) =>
  Object.fromEntries(Object.entries(more).map(([key, value]) => [`more-${key}`, value]));
const asObject = (spec: object): UntypedObject => ({
  apiVersion: 'v1',
  kind: 'X',
  metadata: { name: 'x' },
  spec,
});

function leavesOf(value: unknown, at: (string | number)[] = []): (string | number)[][] {
  if (Array.isArray(value)) return value.flatMap((item, index) => leavesOf(item, [...at, index]));
  if (value !== null && typeof value === 'object') {
    return Object.entries(value).flatMap(([key, member]) => leavesOf(member, [...at, key]));
  }
  return [at];
}

function changeAt(root: object, at: (string | number)[]): void {
  let holder = root as Record<string | number, unknown>;
  for (const step of at.slice(0, -1)) holder = holder[step] as Record<string | number, unknown>;
  holder[at.at(-1) ?? ''] = 'something else entirely';
}

describe('a field that is applied as a whole', () => {
  const service = (selector: object) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'x' },
    spec: { selector },
  });

  test('differs by a key that another writer added', () => {
    expect(subsetDiff(service({ app: 'a' }), service({ app: 'a', x: 'y' }))).toEqual([
      { path: 'spec.selector.x', why: 'is not in the desired state' },
    ]);
    expect(subsetDiff(service({ app: 'a' }), service({ app: 'a' }))).toEqual([]);
  });

  test('differs by a selector that was added to a peer in a rule of a NetworkPolicy', () => {
    const policy = (peer: object) => ({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: 'x' },
      spec: { podSelector: { matchLabels: { a: 'b' } }, ingress: [{ from: [peer] }] },
    });
    const ours = { podSelector: { matchLabels: { c: 'd' } } };
    expect(subsetDiff(policy(ours), policy({ ...ours, namespaceSelector: {} }))).toEqual([
      { path: 'spec.ingress[0].from[0].namespaceSelector', why: 'is not in the desired state' },
    ]);
    expect(subsetDiff(policy(ours), policy(ours))).toEqual([]);
  });
});
