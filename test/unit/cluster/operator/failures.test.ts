import { describe, expect, test } from 'vitest';
import type { KubeObject, UntypedObject } from '../../../../src/cluster/kube/client/object.ts';
import {
  message,
  NAMESPACE,
  revised,
  type Spec,
  scaled,
  settled,
  steps,
  template,
  World,
} from './fixtures.ts';

const MINIMAL: Spec = { revision: { image: 'web:1' } };
const on = (verb: string, id: string) => (write: { verb: string; id: string }) =>
  `${write.verb} ${write.id}` === `${verb} ${id}`;

describe('an object that the cluster rejects', () => {
  test('is reported with object and field, does not block others, and is retried slowly', async () => {
    const world = new World(MINIMAL);
    world.cluster.faults = Array.from({ length: 3 }, () => ({
      when: on('create', 'Service/web'),
      error: 'invalid' as const,
      message: 'Service "web" is invalid: spec.ports[0].port: Invalid value: 0',
    }));
    const first = await world.reconcileOnce();
    expect(first).toContain('create StatefulSet/web-db');
    expect(world.condition('Ready')).toBe('False Refused');
    expect(world.events).toContainEqual(
      expect.objectContaining({
        type: 'Warning',
        reason: 'Refused',
        message: expect.stringContaining('spec.ports[0]'),
      }),
    );
    // More events arrive; the rejected write is not repeated for each.
    for (let round = 0; round < 5; round += 1) await world.reconcileOnce();
    expect(world.cluster.faults.length).toBe(2);
    const outcome = await world.reconcile();
    expect(outcome).toMatchObject({ kind: 'requeue' });
    world.now += 60_000;
    await world.reconcileOnce();
    expect(world.cluster.faults.length).toBe(1);
    world.now += 300_000;
    await world.reconcileOnce();
    world.now += 300_000;
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
  });

  test('is retried at once when the desired state changes', async () => {
    const world = await settled(MINIMAL);
    world.cluster.faults = [{ when: on('apply', 'Deployment/web-api'), error: 'invalid' }];
    world.change({ revision: { image: 'bad-image', number: 2 } });
    await world.reconcileOnce();
    expect(world.condition('Ready')).toBe('False Refused');
    expect(world.status.activeRevision?.number).toBe(1);
    world.change({ revision: { image: 'web:2', number: 3 } });
    world.now += 3_000;
    expect(await world.reconcileOnce()).toContain('apply Deployment/web-api');
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
  });

  test('is restored when a list was edited so that an apply cannot merge it', async () => {
    const world = await settled(MINIMAL);
    world.cluster.edit(`Service/${NAMESPACE}/web`, (object) => {
      Object.assign(object['spec'] as object, { ports: [{ name: 'http', port: 81 }] });
    });
    world.cluster.faults = [{ when: on('apply', 'Service/web'), error: 'invalid' }];
    // The first patch removes the port that is not ours.
    expect(await world.reconcileOnce()).toEqual([
      'patch Service/web',
      'patch Service/web',
      'apply Service/web',
    ]);
    const spec = world.cluster.get(`Service/${NAMESPACE}/web`)?.['spec'];
    expect(spec).toMatchObject({ ports: [{ port: 80 }] });
    expect(await world.reconcileOnce()).toEqual([]);
  });

  test('blocks the volume when it has the credentials, and the message of the server is not reported', async () => {
    const world = new World(MINIMAL);
    world.cluster.faults = [{ when: on('create', 'Secret/web-db'), error: 'forbidden', message: 'hunter2' }];
    const first = await world.reconcileOnce();
    expect(first).not.toContain('create PersistentVolumeClaim/web-db');
    expect(JSON.stringify([world.status, world.events])).not.toContain('hunter2');
    expect(world.condition('Ready')).toBe('False Refused');
    expect(message(world, 'Ready')).toContain(
      'the cluster rejects the call to create Secret web-db (forbidden)',
    );
  });

  test('is reported without the message of the server when it is a Secret whose owner cannot be set', async () => {
    const world = await settled(MINIMAL);
    world.cluster.faults = [{ when: on('patch', 'Secret/web-db'), error: 'forbidden', message: 'hunter2' }];
    world.change({ ...MINIMAL, database: { volumePolicy: 'Delete' } });
    await world.reconcileOnce();
    expect(JSON.stringify([world.status, world.events])).not.toContain('hunter2');
    expect(message(world, 'Ready')).toContain(
      'the cluster rejects the call to patch Secret web-db (forbidden)',
    );
  });

  test('is named in Ready when it is a sentinel, also without a database', async () => {
    const QUOTA = 'exceeded quota: q, requested: count/controllerrevisions.apps=1, used: 1, limited: 1';
    const environment = 'web-env-1';
    const { revision } = MINIMAL;
    const world = new World({
      revision: { ...revision, envSecretName: environment },
      database: { external: true },
      cache: { external: true },
    });
    world.cluster.put({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: environment, namespace: NAMESPACE },
    });
    const isSentinel = ({ id }: { id: string }) => id.startsWith('ControllerRevision/web-secrets');
    world.cluster.faults = Array.from({ length: 20 }, () => ({
      when: isSentinel,
      error: 'forbidden' as const,
      message: QUOTA,
    }));
    await steps(world, 4);
    expect(world.condition('Ready')).toBe('False QuotaExceeded');
    expect(message(world, 'Ready')).toMatch(/create ControllerRevision web-secrets-.*exceeded quota: q/);
    expect(message(world, 'Ready')).not.toContain('database');
    world.cluster.faults = [];
    world.now += 300_000;
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
  });

  test('is reported in DatabaseReady when it is a volume that cannot be expanded', async () => {
    const world = await settled(MINIMAL);
    world.cluster.faults = [
      { when: on('patch', 'PersistentVolumeClaim/web-db'), error: 'forbidden', message: RIGID },
    ];
    world.change({ ...MINIMAL, database: { storage: '20Gi' } });
    await world.reconcileOnce();
    expect(world.condition('DatabaseReady')).toBe('False VolumeNotExpandable');
    expect(world.condition('Serving')).toBe('True Available');
    expect(await world.reconcileOnce()).toEqual([]);
    expect(world.condition('DatabaseReady')).toBe('False VolumeNotExpandable');
  });
});

test('reports a temporary problem as a warning while the rollout continues', async () => {
  const world = await settled(revised('web:1', 1));
  world.change(revised('web:2', 2));
  world.cluster.stuck.set('api', 'ErrImagePull');
  await steps(world, 3);
  expect([world.condition('Progressing'), world.condition('Ready')]).toEqual([
    'True RolloutInProgress',
    'False ImagePullFailed',
  ]);
  expect(world.events.filter(({ reason }) => reason === 'ImagePullFailed')).toEqual([
    {
      type: 'Warning',
      reason: 'ImagePullFailed',
      message: expect.stringMatching(/^api: .* the problem may be temporary/),
    },
  ]);
});

/** The message of the API server after `persistentvolumeclaims "web-db" is forbidden: `. */
const RIGID =
  'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize';

test('sets the owner of a volume that cannot be expanded', async () => {
  const world = await settled(MINIMAL);
  const owners = () =>
    world.cluster.get('PersistentVolumeClaim/shop/web-db')?.metadata.ownerReferences?.length ?? 0;
  const isPatch = on('patch', 'PersistentVolumeClaim/web-db');
  for (const [volumePolicy, count] of [
    ['Delete', 1],
    ['Retain', 0],
  ] as const) {
    let patches = 0;
    const isGrowth = (write: { verb: string; id: string }) => {
      if (isPatch(write)) patches += 1;
      return isPatch(write) && patches > 1;
    };
    world.cluster.faults = [{ when: isGrowth, error: 'forbidden', message: RIGID }];
    world.change({ ...MINIMAL, database: { storage: '20Gi', volumePolicy } });
    await world.reconcileOnce();
    expect([owners(), world.condition('DatabaseReady')]).toEqual([count, 'False VolumeNotExpandable']);
    // Unchanged.
    world.change({ ...MINIMAL, database: { volumePolicy } });
    await world.converge();
  }
});

describe('a volume whose expansion is rejected', () => {
  const grown = (world: World, text: string, more: Partial<Spec> = {}) => {
    world.cluster.faults = Array.from({ length: 20 }, () => ({
      when: on('patch', 'PersistentVolumeClaim/web-db'),
      error: 'forbidden' as const,
      message: `persistentvolumeclaims "web-db" is forbidden: ${text}`,
    }));
    world.change({ ...revised('web:1', 1), database: { storage: '20Gi' }, recordGeneration: 2, ...more });
  };

  test.each([
    ['its storage class', RIGID, 'VolumeNotExpandable', 'False VolumeNotExpandable', 'Stalled'],
    [
      'a quota',
      'exceeded quota: q, requested: requests.storage=10Gi, used: requests.storage=10Gi, limited: requests.storage=10Gi',
      'QuotaExceeded',
      'True DatabaseAvailable',
      'Reconciling',
    ],
    [
      'missing rights',
      'User "o" cannot patch resource "persistentvolumeclaims"',
      'Refused',
      'True DatabaseAvailable',
      'Stalled',
    ],
  ])(
    'is reported with a warning when rejected because of %s, and recovers when the size is reverted',
    async (_name, text, reason, database, progress) => {
      const world = await settled(revised('web:1', 1));
      grown(world, text);
      await steps(world, 2);
      expect([world.condition('Ready'), world.condition('DatabaseReady')]).toEqual([
        `False ${reason}`,
        database,
      ]);
      expect(world.condition(progress)).toBe(`True ${reason}`);
      expect(message(world, 'DatabaseReady')).toContain(text);
      expect(world.events).toContainEqual(expect.objectContaining({ type: 'Warning', reason }));
      expect(world.status).toMatchObject({
        deploymentStatus: 'READY',
        volume: { requested: '10Gi' },
        observedRecordGeneration: 0,
      });
      world.change({ ...revised('web:1', 1), recordGeneration: 3 });
      await world.converge();
      expect(world.condition('Ready')).toBe('True Converged');
      expect(world.status.observedRecordGeneration).toBe(3);
      expect(world.status.volume?.requested).toBe(world.status.volume?.capacity);
    },
  );

  test('neither blocks a rollout nor hides the reason of a failed one', async () => {
    const world = await settled(revised('web:1', 1));
    grown(world, RIGID, revised('web:2', 2));
    await steps(world, 6);
    expect(world.status.activeRevision?.number).toBe(2);
    expect(world.condition('Ready')).toBe('False VolumeNotExpandable');
    world.cluster.stuck.set('api', 'InvalidImageName');
    grown(world, RIGID, { ...revised('bad', 3), recordGeneration: 3 });
    await steps(world, 2);
    world.cluster.stuck.clear();
    await steps(world, 4);
    expect(world.status).toMatchObject({ activeRevision: { number: 2 }, failedRevision: { number: 3 } });
    expect(world.condition('Ready')).toBe('False InvalidImageName');
    expect(world.condition('DatabaseReady')).toBe('False VolumeNotExpandable');
    // Generation 1 is the last one that was complete.
    expect(world.status.observedRecordGeneration).toBe(0);
  });

  test('does not block the removal of old templates', async () => {
    const world = await settled(revised('web:1', 1));
    for (let number = 2; number <= 14; number += 1) {
      grown(world, RIGID, { ...revised(`web:${number}`, number), recordGeneration: number });
      await steps(world, 5);
      expect(world.status.activeRevision?.number).toBe(number);
    }
    const stored = world.cluster
      .list('ControllerRevision')
      .filter(({ metadata }) => /^web-\d/.test(metadata.name));
    expect(stored).toHaveLength(10);
  });

  test('is reported while the deployment is suspended', async () => {
    const world = await settled(revised('web:1', 1));
    grown(world, RIGID, { suspend: true });
    await steps(world, 8);
    expect(world.condition('Ready')).toBe('False SwitchedOff');
    expect(message(world, 'Ready')).toContain('must support resize');
    expect(world.status.suspended).toBe(true);
  });
});

describe('foreign objects of the same name', () => {
  const foreign = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: NAMESPACE, labels: { app: 'legacy' } },
  };

  test('are left alone and reported', async () => {
    const world = new World(MINIMAL);
    world.cluster.put(foreign);
    await world.reconcileOnce();
    world.cluster.settle();
    await world.reconcileOnce();
    world.cluster.settle();
    await world.reconcileOnce();
    expect(world.condition('Ready')).toBe('False Conflict');
    const message = world.status.conditions?.find(({ type }) => type === 'Ready')?.message;
    expect(message).toContain('Service web exists');
    expect(world.cluster.get(`Service/${NAMESPACE}/web`)?.metadata.labels).toEqual({ app: 'legacy' });
    // The rest of the deployment works.
    expect(world.condition('Serving')).toBe('True Available');
    world.cluster.remove(`Service/${NAMESPACE}/web`);
    world.now += 300_000;
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
  });

  test('block the volume and are reported when one has the name of the credentials', async () => {
    const world = new World(MINIMAL);
    world.cluster.put({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'web-db', namespace: NAMESPACE },
    });
    expect(await world.reconcileOnce()).not.toContain('create PersistentVolumeClaim/web-db');
    expect(world.condition('Ready')).toBe('False Conflict');
  });

  test('do not include an own object whose labels were removed, which gets them back', async () => {
    const world = await settled(MINIMAL);
    const { view } = world.cluster;
    const children = view.children.bind(view);
    // The watch selects by label: without its labels the caches do not show the object.
    view.children = (kind, key) =>
      children(kind, key).filter(({ metadata }) => metadata.labels?.['app.kubernetes.io/managed-by']);
    world.cluster.edit(`Service/${NAMESPACE}/web`, ({ metadata }) => {
      metadata.labels = {};
    });
    view.refresh = async (kind, { namespace, name }) => {
      view.children = children;
      return world.cluster.get(`${kind}/${namespace}/${name}`);
    };
    await world.converge();
    expect(world.cluster.get(`Service/${NAMESPACE}/web`)?.metadata.labels).toMatchObject({
      'app.kubernetes.io/managed-by': 'berth',
    });
    expect(world.condition('Ready')).toBe('True Converged');
  });
});

describe('an object that is created once and has lost its label', () => {
  const STORED = 'ControllerRevision/shop/web-1';
  const instance = (world: World, id: string) =>
    world.cluster.edit(id, ({ metadata }) => {
      metadata.labels = { ...metadata.labels, 'app.kubernetes.io/instance': 'another' };
      delete metadata.ownerReferences;
    });
  const labelled = (team: string, more: object = {}) =>
    revised('web:1', 1, { podTemplate: { labels: { team } }, ...more });

  test.each(['PersistentVolumeClaim/shop/web-db', STORED])('gets only its label back (%s)', async (id) => {
    const world = await settled(MINIMAL);
    const labels = world.cluster.get(id)?.metadata.labels;
    instance(world, id);
    const { metadata, ...before } = world.cluster.get(id) as UntypedObject;
    const writes = await world.converge();
    const { metadata: now, ...after } = world.cluster.get(id) as UntypedObject;
    expect(after).toEqual(before);
    expect({ ...now, resourceVersion: '' }).toEqual({ ...metadata, labels, resourceVersion: '' });
    expect(writes.filter((write) => write.startsWith('patch '))).toHaveLength(1);
    expect(world.condition('Ready')).toBe('True Converged');
    expect(world.events.map(({ reason }) => reason)).not.toContain('ObjectRecreated');
  });

  test('is reported, and not restored endlessly, when the label is removed again', async () => {
    const world = await settled(MINIMAL);
    const { client } = world.cluster;
    const patch = client.patch.bind(client);
    client.patch = (async (...args: Parameters<typeof patch>) => {
      await patch(...args);
      instance(world, STORED);
      return world.cluster.get(STORED);
    }) as typeof patch;
    instance(world, STORED);
    await world.converge();
    expect(world.condition('Ready')).toBe('False Conflict');
    expect(message(world, 'Ready')).toContain('loses its label app.kubernetes.io/instance');
  });

  test('is reported by name while the API server rejects the label', async () => {
    const world = await settled(MINIMAL);
    instance(world, STORED);
    // Each rejects one call. The delay of the retry is random, so this is the maximum number of calls.
    const refused = { when: on('patch', 'ControllerRevision/web-1'), error: 'forbidden' } as const;
    world.cluster.faults = Array.from({ length: 100 }, () => ({ ...refused }));
    await world.converge();
    expect(world.condition('Ready')).toMatch(/^False /);
    expect(message(world, 'Ready')).toContain('ControllerRevision web-1');
    world.cluster.faults = [];
    world.now += 300_000;
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
  });

  test('is not used for a later spec when it has the stored templates of an earlier one', async () => {
    const world = await settled(labelled('a'));
    world.change(labelled('a', { suspend: true }));
    await world.converge();
    const { data, metadata } = world.cluster.get(STORED) as UntypedObject;
    instance(world, STORED);
    world.change(labelled('b'));
    await world.converge();
    expect(world.cluster.get(STORED)).toMatchObject({ data, metadata: { labels: metadata.labels } });
    expect(template(world, 'api')).toMatchObject({ metadata: { labels: { team: 'b' } } });
    expect([world.condition('Ready'), world.status.activeRevision?.templates]).toEqual([
      'True Converged',
      'web-1-2',
    ]);
  });

  test('is reported when it has templates without the label of their revision, and created again once deleted', async () => {
    const world = await settled(MINIMAL);
    world.cluster.edit(STORED, ({ metadata }) => {
      delete metadata.labels?.['berth.dev/inputs-hash'];
    });
    await world.converge();
    expect(world.condition('Ready')).toBe('False Conflict');
    expect(message(world, 'Ready')).toContain('kubectl delete controllerrevision -n shop web-1');
    world.cluster.remove(STORED);
    world.now += 300_000;
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
  });
});

describe('temporary failures', () => {
  test.each(['server', 'timeout', 'network', 'too_many_requests'] as const)(
    'are retried and block nothing else when they have the kind %s',
    async (error) => {
      const world = new World(MINIMAL);
      world.cluster.faults = [{ when: on('create', 'Service/web'), error }];
      const writes = await world.reconcileOnce();
      expect(writes).toContain('create StatefulSet/web-db');
      expect(await world.reconcile()).not.toMatchObject({ kind: 'terminal' });
      await world.converge();
      expect(world.condition('Ready')).toBe('True Converged');
    },
  );

  test('do not lead to a second write when only the response is lost', async () => {
    const ids = [
      'Secret/web-db-copy',
      'Secret/web-db',
      'PersistentVolumeClaim/web-db',
      'StatefulSet/web-db',
      'ControllerRevision/web-1',
      'Deployment/web-api',
    ];
    for (const id of ids) {
      const world = new World(MINIMAL);
      world.cluster.faults = [{ when: on('create', id), error: 'timeout', afterCommit: true }];
      const writes = await world.converge();
      const tries = writes.filter((write) => write === `create ${id}`).length;
      expect([id, tries]).toEqual([id, 1]);
      expect(world.condition('Ready')).toBe('True Converged');
    }
  });

  test('are reported when they last', async () => {
    const world = await settled(MINIMAL);
    world.cluster.faults = Array.from({ length: 5 }, () => ({
      when: on('create', 'Service/web'),
      error: 'server' as const,
    }));
    world.cluster.remove(`Service/${NAMESPACE}/web`);
    for (let round = 0; round < 4; round += 1) await world.reconcileOnce();
    expect(world.condition('Ready')).toBe('False ReconcileFailed');
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
  });

  test('lead to a new status when the custom resource has changed', async () => {
    const world = await settled(MINIMAL);
    world.cluster.faults = [{ when: on('status', 'ManagedDeployment/web'), error: 'conflict' }];
    world.change({ ...MINIMAL, components: { api: scaled(2, 2) } });
    await world.converge();
    expect(world.status.components).toMatchObject([{ wanted: 2, available: 2 }]);
  });
});

describe('fences', () => {
  test('prevent creations for a custom resource that is gone, replaced, changed, paused or being deleted', async () => {
    for (const live of [
      undefined,
      { uid: 'another' },
      { generation: 99 },
      { deletionTimestamp: '2026-01-01T00:00:00Z' },
      { annotations: { 'berth.dev/paused': 'true' } },
    ]) {
      const world = new World(MINIMAL);
      world.cluster.client.find = (async () => {
        const object = world.cluster.view.resource('shop/web');
        return live === undefined || object === undefined
          ? undefined
          : { ...object, metadata: { ...object.metadata, ...live } };
      }) as typeof world.cluster.client.find;
      expect(await world.reconcileOnce()).toEqual([]);
    }
  });

  test('reject an apply for an object that was replaced meanwhile', async () => {
    const world = await settled(MINIMAL);
    const service = world.cluster.get(`Service/${NAMESPACE}/web`);
    const children = world.cluster.view.children.bind(world.cluster.view);
    world.cluster.view.children = (kind, key) =>
      children(kind, key).map((object) =>
        object.kind === 'Service' && object.metadata.name === 'web'
          ? {
              ...object,
              metadata: {
                ...object.metadata,
                uid: 'former',
                labels: { ...object.metadata.labels, 'app.kubernetes.io/part-of': 'x' },
              },
            }
          : object,
      );
    expect(await world.reconcile()).toMatchObject({ kind: 'retry' });
    expect(world.cluster.get(`Service/${NAMESPACE}/web`)).toEqual(service);
  });

  test('block writes of a process that no longer leads', async () => {
    const world = await settled(MINIMAL);
    world.cluster.remove(`Service/${NAMESPACE}/web`);
    world.mayAct = false;
    expect(await world.reconcileOnce().catch(() => world.cluster.writes)).toEqual([]);
  });
});

test('does not requeue a paused resource with pending work', async () => {
  const world = await settled(MINIMAL);
  world.cluster.stuck.set('database', 'CreateContainerConfigError');
  world.cluster.settle();
  world.cluster.remove(`Service/${NAMESPACE}/web`);
  world.cluster.edit('ManagedDeployment/shop/web', ({ metadata }) => {
    metadata.annotations = { 'berth.dev/paused': 'true' };
  });
  await world.reconcileOnce();
  world.now += 3_600_000;
  expect(await world.reconcile()).toEqual({ kind: 'settled' });
});

describe('lost credentials', () => {
  const password = (world: World, name = 'web-db') =>
    (world.cluster.get(`Secret/${NAMESPACE}/${name}`)?.['data'] as { password?: string } | undefined)
      ?.password;

  /** The database does not start and no event gives the reason, so the operator reads the Secrets and finds it. */
  async function expectMendedAfterAWhile(world: World, before: string | undefined): Promise<void> {
    world.now += 31_000;
    expect(await world.reconcileOnce()).toContain('create Secret/web-db');
    world.cluster.stuck.clear();
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
    expect(password(world)).toBe(before);
  }

  test.each(['web-db', 'web-db-copy'])(
    'are created again at once with the same password (%s)',
    async (name) => {
      const world = await settled(MINIMAL);
      const before = password(world);
      expect(before).toBeDefined();
      expect(password(world, 'web-db-copy')).toBe(before);
      world.cluster.remove(`Secret/${NAMESPACE}/${name}`);
      expect(await world.reconcileOnce()).toContain(`create Secret/${name}`);
      expect([password(world), password(world, 'web-db-copy')]).toEqual([before, before]);
      await world.converge();
      expect(world.condition('Ready')).toBe('True Converged');
    },
  );

  test('are read without an event of a sentinel when the database has been unready for a while', async () => {
    const world = await settled(MINIMAL);
    const before = password(world);
    const sentinels = world.cluster.list('ControllerRevision');
    world.cluster.remove(`Secret/${NAMESPACE}/web-db`);
    for (const sentinel of sentinels) world.cluster.put(sentinel);
    world.cluster.stuck.set('database', 'ContainerCreating');
    world.cluster.settle();
    expect(await world.reconcileOnce()).not.toContain('create Secret/web-db');
    await expectMendedAfterAWhile(world, before);
  });

  test('are read when they are deleted before the first sentinel exists, even by the process that created them', async () => {
    const world = new World(MINIMAL);
    world.cluster.stuck.set('database', 'ContainerCreating');
    await world.reconcileOnce();
    const before = password(world);
    world.cluster.settle();
    await world.reconcileOnce();
    world.cluster.remove(`Secret/${NAMESPACE}/web-db`);
    world.cluster.settle();
    await expectMendedAfterAWhile(world, before);
  });

  test('are not replaced by a new password while the volume exists, and the status gives the next step', async () => {
    const world = await settled(MINIMAL);
    const before = password(world) ?? '';
    world.cluster.remove(`Secret/${NAMESPACE}/web-db`);
    world.cluster.remove(`Secret/${NAMESPACE}/web-db-copy`);
    for (let round = 0; round < 20; round += 1) {
      expect((await world.reconcileOnce()).filter((write) => write.includes('Secret'))).toEqual([]);
      expect(world.condition('Ready')).toBe('False CredentialsLost');
      // It is ready nevertheless.
      expect(world.condition('DatabaseReady')).toBe('True DatabaseAvailable');
      world.now += 3_000;
    }
    world.restart();
    expect((await world.reconcileOnce()).filter((write) => write.includes('Secret'))).toEqual([]);
    const message = world.status.conditions?.find(({ type }) => type === 'Ready')?.message ?? '';
    const labels = /kubectl label secret web-db-copy (\S+)=(\S+) (\S+)=(\S+)/.exec(message) ?? [];
    world.cluster.put({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: 'web-db-copy',
        namespace: NAMESPACE,
        labels: { [labels[1] ?? '']: labels[2] ?? '', [labels[3] ?? '']: labels[4] ?? '' },
      },
      data: { password: before },
    } as KubeObject);
    world.now += 60_000;
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
    expect(password(world)).toBe(before);
  });

  test('are not read for the first sentinel after their creation, but when it is removed', async () => {
    const world = new World(MINIMAL);
    const reads: string[] = [];
    const find = world.cluster.client.find;
    world.cluster.client.find = (resource, at, options) => {
      if (resource.kind === 'Secret') reads.push(at.name);
      return find(resource, at, options);
    };
    const isSentinel = (write: string) => write.startsWith('create ControllerRevision/web-secrets');
    let writes = await world.reconcileOnce();
    expect(writes).toContain('create Secret/web-db');
    const before = password(world);
    const seen = reads.length;
    world.cluster.remove(`Secret/${NAMESPACE}/web-db`);
    for (let round = 0; round < 20 && !writes.some(isSentinel); round += 1) {
      world.cluster.settle();
      writes = await world.reconcileOnce();
    }
    expect(writes.some(isSentinel)).toBe(true);
    expect(reads.length).toBe(seen);
    // The garbage collector removes a sentinel whose Secret does not exist.
    for (const { metadata } of world.cluster.list('ControllerRevision'))
      world.cluster.edit(`ControllerRevision/${NAMESPACE}/${metadata.name}`, ({ metadata: own }) => {
        own.ownerReferences = own.ownerReferences?.filter(({ name }) => name !== 'web-db') ?? [];
      });
    await world.converge();
    expect(reads.slice(seen)).toContain('web-db');
    expect(password(world)).toBe(before);
    expect(world.condition('Ready')).toBe('True Converged');
  });

  test('are read when one is lost after the volume was created again', async () => {
    const world = await settled(MINIMAL);
    const before = password(world);
    world.cluster.remove(`PersistentVolumeClaim/${NAMESPACE}/web-db`);
    await world.converge();
    expect(world.cluster.get(`PersistentVolumeClaim/${NAMESPACE}/web-db`)).toBeDefined();
    world.cluster.remove(`Secret/${NAMESPACE}/web-db`);
    expect(await world.reconcileOnce()).toContain('create Secret/web-db');
    expect(password(world)).toBe(before);
  });

  test('are not read while everything is ready', async () => {
    const world = await settled(MINIMAL);
    world.cluster.client.find = () => Promise.reject(new Error('must not be asked'));
    world.now += 3_600_000;
    expect(await world.reconcileOnce()).toEqual([]);
  });
});

test('reports a spec that this version cannot parse, and changes nothing', async () => {
  const world = await settled(MINIMAL);
  world.cluster.edit('ManagedDeployment/shop/web', (object) => {
    object['spec'] = { revision: { image: 'web:1', number: 'three' } };
  });
  expect(await world.reconcileOnce()).toEqual(['status ManagedDeployment/web']);
  expect(world.condition('Ready')).toBe('False Refused');
  expect(world.condition('Serving')).toBe('True Available');
});
