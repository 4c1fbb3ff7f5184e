/** A mutating admission policy changes what the operator writes. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { UntypedObject } from '../../../../../src/cluster/kube/client/object.ts';
import { SAFE_ADDITIONS } from '../../../../../src/cluster/operator/changes/added-fields.ts';
import { SAFE_FIELDS } from '../../../../../src/cluster/operator/changes/safe-fields.ts';
import { message, NAMESPACE, revised, scaled, settled, steps, template, World } from '../fixtures.ts';
import type { Fault, Write } from '../simulated-cluster.ts';

interface Workload {
  replicas: number;
  template: { metadata: { labels: object }; spec: { containers: Record<string, unknown>[] } };
}
type Change = (spec: Workload, object: UntypedObject) => void;

/** Admits objects of this kind, or this one, with a change. */
const changing = (id: string, change: Change) => (object: UntypedObject) => {
  if (object.kind !== id && `${object.kind}/${object.metadata.name}` !== id) return;
  change(object['spec'] as Workload, object);
};
const app = ({ template: { spec } }: Workload) => spec.containers[0] ?? {};
const pullAlways: Change = (spec) => Object.assign(app(spec), { imagePullPolicy: 'Always' });
const otherImage: Change = (spec) => Object.assign(app(spec), { image: 'evil:1' });

const SPEC = revised('web:1', 1);
const API = 'Deployment/web-api';
const CHANGED = 'FieldsChangedByCluster';

function changedWorld(change: ReturnType<typeof changing>, spec: object = SPEC): World {
  const world = new World(spec as typeof SPEC);
  world.cluster.admit = change;
  return world;
}

const pods = (world: World) => JSON.stringify(template(world, 'api'));

describe('a safe change', () => {
  test('lets the rollout complete with the policy in place, and is reported', async () => {
    const world = changedWorld(changing('Deployment', pullAlways));
    await world.converge();
    expect(world.status.activeRevision?.number).toBe(1);
    expect(world.condition('Ready')).toBe(`True ${CHANGED}`);
    expect(message(world, 'Ready')).toContain('containers[name=app].imagePullPolicy is Always');
    expect(world.events).toContainEqual(expect.objectContaining({ type: 'Warning', reason: CHANGED }));
    expect(pods(world)).toContain('"imagePullPolicy":"Always"');
  });

  test('is written once and then accepted, in this process and in the next', async () => {
    const world = changedWorld(changing('Deployment', pullAlways));
    await world.converge();
    world.now += 600_000;
    expect(await steps(world, 5)).toEqual([]);
    world.restart();
    expect(await steps(world, 5)).toEqual([]);
    expect(world.cluster.dryRuns).toEqual([]);
  });

  test('stays after the policy is removed, until the next change of the object', async () => {
    const world = changedWorld(changing(API, pullAlways));
    await world.converge();
    const before = pods(world);
    world.cluster.admit = undefined;
    world.restart();
    world.now += 600_000;
    expect(await steps(world, 5)).toEqual([]);
    expect(pods(world)).toBe(before);
    world.change(revised('web:2', 2));
    await world.converge();
    expect(pods(world)).toContain('"imagePullPolicy":"IfNotPresent"');
    expect(world.condition('Ready')).toBe('True Converged');
    expect(world.status.acceptedChanges).toBeUndefined();
  });

  test('is reverted as drift if a user makes it', async () => {
    const world = await settled(SPEC);
    world.cluster.edit(`Deployment/${NAMESPACE}/web-api`, (object) =>
      pullAlways(object['spec'] as Workload, object),
    );
    await world.converge();
    expect(pods(world)).toContain('"imagePullPolicy":"IfNotPresent"');
    expect(world.condition('Ready')).toBe('True Converged');
  });

  test('is reverted if a user sets another value than the policy does', async () => {
    const world = changedWorld(changing('Deployment', pullAlways));
    await world.converge();
    world.cluster.edit(`Deployment/${NAMESPACE}/web-api`, (object) =>
      otherImage(object['spec'] as Workload, object),
    );
    await world.converge();
    expect(world.images('api')).toEqual(['web:1']);
    expect(world.condition('Ready')).toBe(`True ${CHANGED}`);
  });
});

describe('a policy that is added later', () => {
  test('changes no idle object, and applies to the next revision', async () => {
    const world = await settled(SPEC);
    world.cluster.admit = changing('Deployment', pullAlways);
    world.restart();
    world.now += 600_000;
    expect(await steps(world, 5)).toEqual([]);
    world.change(revised('web:2', 2));
    await world.converge();
    expect(world.status.activeRevision?.number).toBe(2);
    expect(world.condition('Ready')).toBe(`True ${CHANGED}`);
  });

  test('leaves the active revision active if it changes the next one', async () => {
    const world = await settled(SPEC);
    world.cluster.admit = changing('Deployment', otherImage);
    world.change(revised('web:2', 2));
    await steps(world, 10);
    expect(world.status.activeRevision?.number).toBe(1);
    expect(world.condition('Ready')).toBe(`False ${CHANGED}`);
    world.cluster.admit = undefined;
    await steps(world, 20);
    expect(world.status.activeRevision?.number).toBe(2);
    expect(world.condition('Ready')).toBe('True Converged');
  });
});

const added: Change = (spec) => Object.assign(app(spec), { command: ['evil'] });
const labels: Change = ({ template: { metadata } }) =>
  Object.assign(metadata.labels, { 'berth.dev/template-hash': 'x' });

describe.each<[string, string, Change]>([
  ['an image', API, otherImage],
  ['a command that Berth does not set', API, added],
  ['the list of variables', API, (spec) => void (app(spec)['env'] as unknown[]).pop()],
  [
    'the value of a variable',
    API,
    (spec) => Object.assign((app(spec)['env'] as object[])[0] ?? {}, { value: 'x' }),
  ],
  ['a label of the pods', API, labels],
  ['the number of pods', API, (spec) => Object.assign(spec, { replicas: 3 })],
  ['the field paused', API, (spec) => Object.assign(spec, { paused: true })],
  [
    'the security context',
    API,
    (spec) => Object.assign(app(spec)['securityContext'] as object, { allowPrivilegeEscalation: true }),
  ],
  ['the image of the database', 'StatefulSet', otherImage],
  [
    'a port of the Service',
    'Service/web',
    (spec) => Object.assign((spec as unknown as { ports: object[] }).ports[0] ?? {}, { port: 81 }),
  ],
  [
    'the annotation with the applied hash',
    'Service/web',
    (_, { metadata }) => void delete metadata.annotations?.['berth.dev/applied-hash'],
  ],
])('%s that a policy changes', (_, id, change) => {
  test('blocks Ready, is reported, and is reverted within a minute after the policy is removed', async () => {
    const world = changedWorld(changing(id, change));
    await steps(world, 10);
    expect(world.condition('Ready')).toBe(`False ${CHANGED}`);
    expect(message(world, 'Ready')).toContain(id.split('/')[0]);
    if (id === API) expect(world.status.activeRevision).toBeUndefined();
    world.cluster.admit = undefined;
    await steps(world, 25);
    expect(world.condition('Ready')).toBe('True Converged');
    expect(world.status.activeRevision?.number).toBe(1);
    expect(pods(world)).not.toMatch(/evil|paused/);
  });

  test('is written at most twice, and then only as a dry run', async () => {
    const world = changedWorld(changing(id, change));
    const writes = (await steps(world, 10)).filter(
      (write) => write.includes(id) && !write.startsWith('status'),
    );
    expect(writes.length).toBeLessThanOrEqual(3);
    world.cluster.dryRuns = [];
    world.now += 60_000;
    expect(await steps(world, 30)).toEqual([]);
    // 60 s: one each 15 to 30 s.
    expect(world.cluster.dryRuns.length).toBeGreaterThan(0);
    expect(world.cluster.dryRuns.length).toBeLessThanOrEqual(8);
  });
});

test('reverts a changed key that makes the apply invalid once the policy is removed, without reporting a rejection', async () => {
  const port: Change = (spec) =>
    Object.assign((spec as unknown as { ports: object[] }).ports[0] ?? {}, { port: 81 });
  const world = changedWorld(changing('Service/web', port));
  await steps(world, 6);
  // Ours beside the changed one: two ports of one name.
  const isChanged = () => JSON.stringify(world.cluster.get(`Service/${NAMESPACE}/web`)).includes('"port":81');
  const when = ({ verb, id }: Write) => verb === 'apply' && id === 'Service/web' && isChanged();
  world.cluster.faults = Array.from({ length: 40 }, (): Fault => ({ when, error: 'invalid' }));
  world.now += 30_000;
  await steps(world, 10);
  expect(world.condition('Ready')).toBe(`False ${CHANGED}`);
  world.cluster.admit = undefined;
  await steps(world, 25);
  world.cluster.faults = [];
  await steps(world, 5);
  expect(world.condition('Ready')).toBe('True Converged');
  expect(world.events.map(({ reason }) => reason)).not.toContain('Refused');
});

test('fails no revision because of a changed template, and extends the deadline of the rollout', async () => {
  const world = changedWorld(changing(API, otherImage));
  world.cluster.stuck.set('api', 'ErrImageNeverPull');
  await steps(world, 10);
  const startedAt = world.status.rollout?.startTime;
  await steps(world, 10);
  expect(world.status.rollout?.startTime).toBe(startedAt);
  world.now += 600_000;
  await steps(world, 3);
  expect(world.status.failedRevision).toBeUndefined();
  expect(world.condition('Ready')).toBe(`False ${CHANGED}`);
  world.now += 350_000;
  await steps(world, 3);
  world.cluster.admit = undefined;
  world.cluster.stuck.set('api', 'ContainersNotReady');
  // Its pods have time to start.
  await steps(world, 30);
  expect(world.status.failedRevision).toBeUndefined();
  world.cluster.stuck.clear();
  await steps(world, 10);
  expect(world.status.activeRevision?.number).toBe(1);
  expect(world.condition('Ready')).toBe('True Converged');
});

test('reports an autoscaler with another range', async () => {
  const more = { components: { api: scaled(2, 4) } };
  const change: Change = (spec) => Object.assign(spec, { maxReplicas: 3 });
  const world = changedWorld(changing('HorizontalPodAutoscaler', change), revised('web:1', 1, more));
  await steps(world, 10);
  expect(world.condition('Ready')).toBe(`False ${CHANGED}`);
  world.cluster.admit = undefined;
  await steps(world, 25);
  expect(world.condition('Ready')).toBe('True Converged');
});

const digest = `web@sha256:${'a'.repeat(64)}`;
test.each([
  ['Never', 'Always', 'web:1', true],
  ['IfNotPresent', 'Never', 'web:1', true],
  ['Never', 'IfNotPresent', 'web:1', false],
  ['Never', 'IfNotPresent', digest, true],
  ['Always', 'IfNotPresent', digest, false],
  ['Always', 'Never', digest, false],
])('rates a change of imagePullPolicy from %s to %s for %s as safe: %s', (wanted, present, image, isSafe) => {
  const row = SAFE_FIELDS.find(({ field }) => field === 'imagePullPolicy');
  expect(row?.holds({ wanted, present, image })).toBe(isSafe);
});

describe.each<[string, (count: number) => Change]>([
  ['image', (count) => (spec) => Object.assign(app(spec), { image: `evil:${count}` })],
  ['number of pods', (count) => (spec) => Object.assign(spec, { replicas: 2 + count })],
])('a policy that sets another %s with each request', (_, change) => {
  test('causes at most two writes, and then only dry runs', async () => {
    let count = 0;
    const world = changedWorld((object) => {
      count += 1;
      changing(API, change(count))(object);
    });
    const writes = (await steps(world, 10)).filter((write) => write.endsWith(API));
    expect(writes.length).toBeLessThanOrEqual(3);
    world.cluster.dryRuns = [];
    expect(await steps(world, 60)).toEqual([]);
    // 120 s: one each 15 to 30 s.
    expect(world.cluster.dryRuns.length).toBeGreaterThan(0);
    expect(world.cluster.dryRuns.length).toBeLessThanOrEqual(16);
    expect(world.condition('Ready')).toBe(`False ${CHANGED}`);
    world.cluster.admit = undefined;
    await steps(world, 25);
    expect(world.condition('Ready')).toBe('True Converged');
  });
});

describe.each(['Service', 'Deployment'])('labels and owner of a %s that a policy removes', (kind) => {
  let count = 0;
  const strip = ({ metadata, ...object }: UntypedObject) => {
    if (object.kind !== kind) return;
    delete metadata.labels;
    delete metadata.ownerReferences;
    count += 1;
    // So that each write shows in the resource version.
    Object.assign(metadata.annotations ?? {}, { 'berth.dev/count': String(count) });
  };
  const versions = (world: World) => world.cluster.list(kind).map(({ metadata }) => metadata.resourceVersion);

  test('lead to a few writes and then to dry runs, until the policy is removed', async () => {
    const world = changedWorld(strip);
    await steps(world, 10);
    expect(world.condition('Ready')).toBe(`False ${CHANGED}`);
    expect(message(world, 'Ready')).toContain(kind);
    world.cluster.dryRuns = [];
    const before = versions(world);
    await steps(world, 30);
    expect(versions(world)).toEqual(before);
    expect(world.cluster.dryRuns.length).toBeGreaterThan(0);
    world.cluster.admit = undefined;
    await steps(world, 25);
    expect(world.condition('Ready')).toBe('True Converged');
  });
});

test('docs/operations.md lists the safe fields and the safe additions', () => {
  const page = readFileSync(new URL('../../../../../docs/operations.md', import.meta.url), 'utf8');
  for (const { field, when } of [...SAFE_FIELDS, ...SAFE_ADDITIONS])
    expect(page).toContain(`| \`${field}\` | ${when} |`);
});

type Pods = Record<string, unknown> & { containers: Record<string, unknown>[] };
const podsOf = (spec: Workload) => spec.template.spec as unknown as Pods;
const inPods =
  (fields: object): Change =>
  (spec) =>
    Object.assign(podsOf(spec), structuredClone(fields));
const inApp =
  (fields: object): Change =>
  (spec) =>
    Object.assign(app(spec), structuredClone(fields));
const inSpec =
  (fields: object): Change =>
  (spec) =>
    Object.assign(spec, structuredClone(fields));
/** To a list, unless it is there: the policy sees its own result again. */
const listed =
  (list: string, entry: { name: string }, where: (spec: Workload) => Record<string, unknown>): Change =>
  (spec) => {
    const at = where(spec);
    const entries = (at[list] ?? []) as { name: string }[];
    if (!entries.some(({ name }) => name === entry.name)) at[list] = [...entries, structuredClone(entry)];
  };

const PRIVILEGED = { name: 'evil', image: 'evil:1', securityContext: { privileged: true } };
const FROM_SECRET = { name: 'EVIL', valueFrom: { secretKeyRef: { name: 'evil', key: 'evil' } } };
const SERVICE = 'Service/web';
const ports = (spec: Workload) => spec as unknown as Record<string, unknown>;

describe.each<[string, string, Change, string]>([
  ['hostNetwork', API, inPods({ hostNetwork: true }), 'hostNetwork is added'],
  ['hostPID', API, inPods({ hostPID: true }), 'hostPID is added'],
  [
    'another account for the database',
    'StatefulSet',
    inPods({ serviceAccountName: 'evil' }),
    'serviceAccountName',
  ],
  ['a privileged container', API, listed('containers', PRIVILEGED, podsOf), 'containers[name=evil] is added'],
  [
    'a privileged init container',
    API,
    listed('initContainers', PRIVILEGED, podsOf),
    'initContainers[name=evil]',
  ],
  ['an envFrom of a Secret', API, inApp({ envFrom: [{ secretRef: { name: 'evil' } }] }), 'envFrom is added'],
  ['a variable of a Secret', API, listed('env', FROM_SECRET, app), 'env[name=EVIL] is added'],
  [
    'a variable for the loader',
    API,
    listed('env', { name: 'LD_PRELOAD' }, app),
    'env[name=LD_PRELOAD] is added',
  ],
  [
    'a volume of the node',
    API,
    listed('volumes', { name: 'evil', hostPath: {} } as never, podsOf),
    'volumes[name=evil]',
  ],
  [
    'a capability',
    API,
    (spec) =>
      Object.assign((app(spec)['securityContext'] as { capabilities: object }).capabilities, {
        add: ['NET_RAW'],
      }),
    'securityContext.capabilities.add is added',
  ],
  [
    'the user root',
    API,
    (spec) => Object.assign(app(spec)['securityContext'] as object, { runAsUser: 0 }),
    'securityContext.runAsUser is added',
  ],
  ['an external address', SERVICE, inSpec({ externalIPs: ['203.0.113.1'] }), 'spec.externalIPs is added'],
  [
    'another port',
    SERVICE,
    listed('ports', { name: 'evil', port: 81 } as never, ports),
    'spec.ports[port=81,protocol=TCP] is added',
  ],
  ['a rule of a NetworkPolicy', 'NetworkPolicy', inSpec({ egress: [{}] }), 'spec.egress is added'],
])('%s that a policy adds', (_, id, change, named) => {
  test('blocks Ready, is reported, is not written repeatedly, and is removed after the policy', async () => {
    const world = changedWorld(changing(id, change));
    const writes = (await steps(world, 10)).filter(
      (write) => write.includes(id) && !write.startsWith('status'),
    );
    expect(world.condition('Ready')).toBe(`False ${CHANGED}`);
    expect(message(world, 'Ready')).toContain(named);
    if (id === API) expect(world.status.activeRevision).toBeUndefined();
    expect(writes.length).toBeLessThanOrEqual(6);
    expect(await steps(world, 30)).toEqual([]);
    expect(world.cluster.dryRuns.length).toBeGreaterThan(0);
    world.cluster.admit = undefined;
    await steps(world, 25);
    expect(world.condition('Ready')).toBe('True Converged');
    expect(world.status.activeRevision?.number).toBe(1);
    expect(
      JSON.stringify([API, 'StatefulSet', SERVICE].map((at) => world.cluster.list(at.split('/')[0] ?? ''))),
    ).not.toMatch(/evil|hostNetwork|hostPID|envFrom|LD_PRELOAD|NET_RAW|"runAsUser":0|externalIPs|"port":81/i);
  });

  test('is removed by an operator that starts after the policy is gone', async () => {
    const world = changedWorld(changing(id, change));
    await steps(world, 6);
    world.cluster.admit = undefined;
    world.restart();
    await steps(world, 15);
    expect(world.condition('Ready')).toBe('True Converged');
  });
});

const SIDECAR = { name: 'mesh', image: 'mesh:1' };
const PROXY = { name: 'HTTP_PROXY', value: 'http://proxy:3128' };

describe.each<[string, string, Change, string]>([
  [
    'tolerations',
    API,
    inPods({ tolerations: [{ operator: 'Exists' }] }),
    'spec.template.spec.tolerations is added',
  ],
  ['a node selector', API, inPods({ nodeSelector: { pool: 'apps' } }), 'nodeSelector.pool is added'],
  ['a runtime class', API, inPods({ runtimeClassName: 'gvisor' }), 'runtimeClassName is added'],
  ['a sidecar', API, listed('containers', SIDECAR, podsOf), 'containers[name=mesh] is added'],
  ['a variable', API, listed('env', PROXY, app), 'env[name=HTTP_PROXY] is added'],
  [
    'a label of the pods',
    API,
    ({ template: { metadata } }) => Object.assign(metadata.labels, { team: 'x' }),
    'template.metadata.labels.team is added',
  ],
  [
    'a label of the database',
    'StatefulSet',
    (_, { metadata }) => Object.assign(metadata.labels ?? {}, { team: 'x' }),
    'metadata.labels.team is added',
  ],
  [
    'a traffic distribution',
    SERVICE,
    inSpec({ trafficDistribution: 'PreferClose' }),
    'spec.trafficDistribution is added',
  ],
])('the safe addition of %s by a policy', (_, id, change, named) => {
  test('lets the rollout complete, is reported, and is accepted by the next operator too', async () => {
    const world = changedWorld(changing(id, change));
    await world.converge();
    expect(world.condition('Ready')).toBe(`True ${CHANGED}`);
    expect(message(world, 'Ready')).toContain(named);
    expect(world.status.activeRevision?.number).toBe(1);
    world.now += 600_000;
    expect(await steps(world, 5)).toEqual([]);
    world.restart();
    expect(await steps(world, 5)).toEqual([]);
    world.change(revised('web:2', 2));
    await world.converge();
    expect(world.status.activeRevision?.number).toBe(2);
    if (id === API) expect(message(world, 'Ready')).toContain(named);
  });
});

test('removes safe additions with the next change after the policy', async () => {
  const world = changedWorld(changing(API, inPods({ tolerations: [{ operator: 'Exists' }] })));
  await world.converge();
  world.cluster.admit = undefined;
  world.change(revised('web:2', 2));
  await world.converge();
  expect(world.condition('Ready')).toBe('True Converged');
  expect(pods(world)).not.toContain('tolerations');
});

test('removes a field that is no longer desired with the apply of the next revision, without an extra write', async () => {
  const podTemplate = {
    volumes: [{ name: 'keys', secret: { secretName: 'keys' } }],
    volumeMounts: [{ name: 'keys', mountPath: '/keys' }],
  };
  const world = await settled(revised('web:1', 1, { podTemplate }));
  expect(pods(world)).toContain('keys');
  world.change(revised('web:2', 2));
  const writes = await world.converge();
  expect(pods(world)).not.toContain('keys');
  expect(writes.filter((write) => write.endsWith(API))).toEqual([`apply ${API}`]);
});

describe('a field that a user adds', () => {
  const edit = (world: World, change: Change) =>
    world.cluster.edit(`Deployment/${NAMESPACE}/web-api`, (object) =>
      change(object['spec'] as Workload, object),
    );

  test('is kept and not reported if it is safe, also over the next revision', async () => {
    const world = await settled(SPEC);
    edit(world, inPods({ tolerations: [{ operator: 'Exists' }] }));
    world.cluster.settle();
    await world.converge();
    world.change(revised('web:2', 2));
    await world.converge();
    expect(pods(world)).toContain('tolerations');
    expect(world.condition('Ready')).toBe('True Converged');
  });

  const owned = (fields: object, manager = 'kubectl-edit', labels?: object): Change => {
    const fieldsV1 = {
      ...(labels === undefined ? {} : { 'f:metadata': { 'f:labels': labels } }),
      'f:spec': { 'f:template': { 'f:spec': fields } },
    };
    return (_, { metadata }) =>
      Object.assign(metadata, { managedFields: [{ manager, operation: 'Update', fieldsV1 }] });
  };

  test.each<[string, object, object]>([
    ['hostNetwork', { hostNetwork: true }, { 'f:hostNetwork': {} }],
    [
      'a privileged container',
      { initContainers: [{ name: 'debug', image: 'busybox:1', securityContext: { privileged: true } }] },
      { 'f:initContainers': { '.': {}, 'k:{"name":"debug"}': { '.': {}, 'f:name': {}, 'f:image': {} } } },
    ],
  ])('is kept and not reported if the field manager is another: %s', async (_, added, fields) => {
    const world = await settled(SPEC);
    edit(world, (spec, object) => {
      inPods(added)(spec, object);
      owned(fields)(spec, object);
    });
    world.cluster.settle();
    expect(await world.converge()).toEqual([]);
    const more = JSON.stringify(added).slice(1, -1);
    expect(pods(world)).toContain(more);
    world.change(revised('web:2', 2));
    await world.converge();
    expect(pods(world)).toContain(more);
    expect(world.condition('Ready')).toBe('True Converged');
  });

  test.each(['before-first-apply', 'ancient-changes', 'kubectl-rollout'])(
    'is removed if its manager is %s, which stands for no user',
    async (manager) => {
      const world = await settled(SPEC);
      edit(world, (spec, object) => {
        inPods({ hostNetwork: true })(spec, object);
        owned({ 'f:hostNetwork': {} }, manager)(spec, object);
      });
      await world.converge();
      expect(pods(world)).not.toContain('hostNetwork');
    },
  );

  test('is removed if its manager has copied the whole object', async () => {
    const world = await settled(SPEC);
    edit(world, (spec, object) => {
      inPods({ hostNetwork: true })(spec, object);
      owned({ 'f:hostNetwork': {} }, 'velero', { 'f:app.kubernetes.io/managed-by': {} })(spec, object);
    });
    await world.converge();
    expect(pods(world)).not.toContain('hostNetwork');
  });

  test('is reverted if it holds back the database: a partition of its StatefulSet', async () => {
    const world = await settled(SPEC);
    world.cluster.edit(`StatefulSet/${NAMESPACE}/web-db`, (object) => {
      Object.assign((object['spec'] as { updateStrategy: object }).updateStrategy, {
        rollingUpdate: { partition: 1 },
      });
      const fieldsV1 = { 'f:spec': { 'f:updateStrategy': { 'f:rollingUpdate': { 'f:partition': {} } } } };
      Object.assign(object.metadata, { managedFields: [{ manager: 'kubectl-patch', fieldsV1 }] });
    });
    await world.converge();
    expect(JSON.stringify(world.cluster.list('StatefulSet').map(({ spec }) => spec))).not.toContain(
      'partition',
    );
  });

  test('is removed if a policy added it to the write of a user, without an owner', async () => {
    const world = await settled(SPEC);
    edit(world, (spec, object) => {
      inPods({ hostNetwork: true, tolerations: [{ operator: 'Exists' }] })(spec, object);
      owned({ 'f:tolerations': {} })(spec, object);
    });
    await world.converge();
    expect(pods(world)).not.toContain('hostNetwork');
    expect(pods(world)).toContain('tolerations');
    expect(world.condition('Ready')).toBe('True Converged');
  });
});

describe.each(['Deployment', 'StatefulSet'])('a key that a policy adds to the selector of a %s', (kind) => {
  const more = { evil: 'x' };
  const selector: Change = (spec) => {
    Object.assign((spec as unknown as { selector: { matchLabels: object } }).selector.matchLabels, more);
    Object.assign(spec.template.metadata.labels, more);
  };
  const uids = (world: World) => world.cluster.list(kind).map(({ metadata }) => metadata.uid);

  test('is reported, and the object is replaced once the policy is gone', async () => {
    const world = changedWorld(changing(kind, selector));
    await steps(world, 10);
    expect(world.condition('Ready')).toBe(`False ${CHANGED}`);
    expect(message(world, 'Ready')).toContain('spec.selector.matchLabels.evil is not in the desired state');
    const before = uids(world);
    expect(await steps(world, 30)).toEqual([]);
    expect(uids(world)).toEqual(before);
    world.cluster.admit = undefined;
    await steps(world, 30);
    expect(world.condition('Ready')).toBe('True Converged');
    expect(JSON.stringify(world.cluster.list(kind))).not.toContain('evil');
  });

  test('is removed only once the policy is gone, if the policy applies to creations only', async () => {
    const world = new World(SPEC);
    world.cluster.admit = (object) => {
      const isThere = world.cluster.list(kind).some(({ metadata }) => metadata.name === object.metadata.name);
      if (!isThere) changing(kind, selector)(object);
    };
    await steps(world, 10);
    expect(world.condition('Ready')).toBe(`False ${CHANGED}`);
    const before = uids(world);
    await steps(world, 30);
    expect(uids(world)).toEqual(before);
    world.cluster.admit = undefined;
    await steps(world, 30);
    expect(world.condition('Ready')).toBe('True Converged');
  });

  test('is also removed from a serving object by an operator that has just started', async () => {
    const world = await settled(SPEC);
    const [object] = world.cluster
      .list(kind)
      .filter(({ metadata }) => metadata.name.endsWith(kind === 'Deployment' ? '-api' : '-db'));
    if (object === undefined) throw new Error('nothing there');
    const key = `${kind}/${NAMESPACE}/${object.metadata.name}`;
    world.cluster.remove(key);
    const changed = structuredClone(object);
    selector(changed['spec'] as Workload, changed);
    world.cluster.put(changed);
    world.restart();
    await steps(world, 30);
    expect(world.condition('Ready')).toBe('True Converged');
    expect(JSON.stringify(world.cluster.get(key))).not.toContain('evil');
    expect(world.cluster.orphaned).toContain(`${kind}/${object.metadata.name}`);
  });
});
