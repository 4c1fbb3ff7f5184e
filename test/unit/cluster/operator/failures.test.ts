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

describe('an object that the cluster refuses', () => {
  test('is told with object and field, does not hold up the others, and is retried slowly', async () => {
    const world = new World(MINIMAL);
    world.cluster.faults = Array.from({ length: 3 }, () => ({
      when: on('create', 'Service/web'),
      error: 'invalid' as const,
      message: 'Service "web" is invalid: spec.ports[0].port: Invalid value: 0',
    }));
    const first = await world.look();
    expect(first).toContain('create StatefulSet/web-db');
    expect(world.condition('Ready')).toBe('False Refused');
    expect(world.events).toContainEqual(
      expect.objectContaining({
        type: 'Warning',
        reason: 'Refused',
        message: expect.stringContaining('spec.ports[0]'),
      }),
    );
    // Events keep coming; the refused write is not repeated with each.
    for (let look = 0; look < 5; look += 1) await world.look();
    expect(world.cluster.faults.length).toBe(2);
    const outcome = await world.reconcile();
    expect(outcome).toMatchObject({ kind: 'requeue' });
    world.now += 60_000;
    await world.look();
    expect(world.cluster.faults.length).toBe(1);
    world.now += 300_000;
    await world.look();
    world.now += 300_000;
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
  });

  test('is tried at once when something else is wanted', async () => {
    const world = await settled(MINIMAL);
    world.cluster.faults = [{ when: on('apply', 'Deployment/web-api'), error: 'invalid' }];
    world.change({ revision: { image: 'bad-image', number: 2 } });
    await world.look();
    expect(world.condition('Ready')).toBe('False Refused');
    expect(world.status.activeRevision?.number).toBe(1);
    world.change({ revision: { image: 'web:2', number: 3 } });
    world.now += 3_000;
    expect(await world.look()).toContain('apply Deployment/web-api');
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
  });

  test('a list that somebody made impossible to merge is put back whole', async () => {
    const world = await settled(MINIMAL);
    world.cluster.edit(`Service/${NAMESPACE}/web`, (object) => {
      Object.assign(object['spec'] as object, { ports: [{ name: 'http', port: 81 }] });
    });
    world.cluster.faults = [{ when: on('apply', 'Service/web'), error: 'invalid' }];
    // The first patch takes out the port that is not ours.
    expect(await world.look()).toEqual(['patch Service/web', 'patch Service/web', 'apply Service/web']);
    const spec = world.cluster.get(`Service/${NAMESPACE}/web`)?.['spec'];
    expect(spec).toMatchObject({ ports: [{ port: 80 }] });
    expect(await world.look()).toEqual([]);
  });

  test('credentials that are refused hold up the volume, and nothing that the server says about them is told', async () => {
    const world = new World(MINIMAL);
    world.cluster.faults = [{ when: on('create', 'Secret/web-db'), error: 'forbidden', message: 'hunter2' }];
    const first = await world.look();
    expect(first).not.toContain('create PersistentVolumeClaim/web-db');
    expect(JSON.stringify([world.status, world.events])).not.toContain('hunter2');
    expect(world.condition('Ready')).toBe('False Refused');
    expect(message(world, 'Ready')).toContain('the cluster refuses to create Secret web-db (forbidden)');
  });

  test('a volume whose Secrets are not let follow it: nothing that the server says about them is told', async () => {
    const world = await settled(MINIMAL);
    world.cluster.faults = [{ when: on('patch', 'Secret/web-db'), error: 'forbidden', message: 'hunter2' }];
    world.change({ ...MINIMAL, database: { volumePolicy: 'Delete' } });
    await world.look();
    expect(JSON.stringify([world.status, world.events])).not.toContain('hunter2');
    expect(message(world, 'Ready')).toContain('the cluster refuses to patch Secret web-db (forbidden)');
  });

  test('a witness is told as what it is, also where there is no database', async () => {
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
    const isWitness = ({ id }: { id: string }) => id.startsWith('ControllerRevision/web-secrets');
    world.cluster.faults = Array.from({ length: 20 }, () => ({
      when: isWitness,
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

  test('a volume that cannot grow', async () => {
    const world = await settled(MINIMAL);
    world.cluster.faults = [
      { when: on('patch', 'PersistentVolumeClaim/web-db'), error: 'forbidden', message: RIGID },
    ];
    world.change({ ...MINIMAL, database: { storage: '20Gi' } });
    await world.look();
    expect(world.condition('DatabaseReady')).toBe('False VolumeNotExpandable');
    expect(world.condition('Serving')).toBe('True Available');
    expect(await world.look()).toEqual([]);
    expect(world.condition('DatabaseReady')).toBe('False VolumeNotExpandable');
  });
});

test('trouble that may pass is told as a warning, although the rollout goes on', async () => {
  const world = await settled(revised('web:1', 1));
  world.change(revised('web:2', 2));
  world.cluster.stuck.set('api', 'ErrImagePull');
  await steps(world, 3);
  expect([world.condition('Progressing'), world.condition('Ready')]).toEqual([
    'True RolloutInProgress',
    'False ImagePullFailed',
  ]);
  expect(world.events.filter(({ reason }) => reason === 'ImagePullFailed')).toEqual([
    { type: 'Warning', reason: 'ImagePullFailed', message: expect.stringMatching(/^api: .* it may pass/) },
  ]);
});

/** As the API server says it, after `persistentvolumeclaims "web-db" is forbidden: `. */
const RIGID =
  'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize';

test('a volume that may not grow still belongs to whom it shall belong', async () => {
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
    await world.look();
    expect([owners(), world.condition('DatabaseReady')]).toEqual([count, 'False VolumeNotExpandable']);
    // As it was.
    world.change({ ...MINIMAL, database: { volumePolicy } });
    await world.converge();
  }
});

describe('a volume that is not let grow', () => {
  const grown = (world: World, text: string, more: Partial<Spec> = {}) => {
    world.cluster.faults = Array.from({ length: 20 }, () => ({
      when: on('patch', 'PersistentVolumeClaim/web-db'),
      error: 'forbidden' as const,
      message: `persistentvolumeclaims "web-db" is forbidden: ${text}`,
    }));
    world.change({ ...revised('web:1', 1), database: { storage: '20Gi' }, generation: 2, ...more });
  };

  test.each([
    ['its storage class', RIGID, 'VolumeNotExpandable', 'False VolumeNotExpandable'],
    [
      'a quota',
      'exceeded quota: q, requested: requests.storage=10Gi, used: requests.storage=10Gi, limited: requests.storage=10Gi',
      'QuotaExceeded',
      'True DatabaseAvailable',
    ],
    [
      'missing rights',
      'User "o" cannot patch resource "persistentvolumeclaims"',
      'Refused',
      'True DatabaseAvailable',
    ],
  ])(
    'by %s: told by its name, with a warning; taken back, all is well',
    async (_name, text, reason, database) => {
      const world = await settled(revised('web:1', 1));
      grown(world, text);
      await steps(world, 2);
      expect([world.condition('Ready'), world.condition('DatabaseReady')]).toEqual([
        `False ${reason}`,
        database,
      ]);
      expect(message(world, 'DatabaseReady')).toContain(text);
      expect(world.events).toContainEqual(expect.objectContaining({ type: 'Warning', reason }));
      expect(world.status).toMatchObject({
        status: 'READY',
        volume: { requested: '10Gi' },
        observedSpecGeneration: 0,
      });
      world.change({ ...revised('web:1', 1), generation: 3 });
      await world.converge();
      expect(world.condition('Ready')).toBe('True Converged');
      expect(world.status.observedSpecGeneration).toBe(3);
      expect(world.status.volume?.requested).toBe(world.status.volume?.capacity);
    },
  );

  test('keeps neither a revision from being active nor the reason of one that fails from being told', async () => {
    const world = await settled(revised('web:1', 1));
    grown(world, RIGID, revised('web:2', 2));
    await steps(world, 6);
    expect(world.status.activeRevision?.number).toBe(2);
    expect(world.condition('Ready')).toBe('False VolumeNotExpandable');
    world.cluster.stuck.set('api', 'InvalidImageName');
    grown(world, RIGID, { ...revised('bad', 3), generation: 3 });
    await steps(world, 2);
    world.cluster.stuck.clear();
    await steps(world, 4);
    expect(world.status).toMatchObject({ activeRevision: { number: 2 }, failedRevision: { number: 3 } });
    expect(world.condition('Ready')).toBe('False InvalidImageName');
    expect(world.condition('DatabaseReady')).toBe('False VolumeNotExpandable');
    // Generation 1 is the last of which everything was there.
    expect(world.status.observedSpecGeneration).toBe(0);
  });

  test('keeps nothing from being tidied up', async () => {
    const world = await settled(revised('web:1', 1));
    for (let number = 2; number <= 14; number += 1) {
      grown(world, RIGID, { ...revised(`web:${number}`, number), generation: number });
      await steps(world, 5);
      expect(world.status.activeRevision?.number).toBe(number);
    }
    const stored = world.cluster
      .list('ControllerRevision')
      .filter(({ metadata }) => /^web-\d/.test(metadata.name));
    expect(stored).toHaveLength(10);
  });

  test('is told beside that it is switched off', async () => {
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
    await world.look();
    world.cluster.settle();
    await world.look();
    world.cluster.settle();
    await world.look();
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

  test('a foreign Secret in the place of the credentials', async () => {
    const world = new World(MINIMAL);
    world.cluster.put({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'web-db', namespace: NAMESPACE },
    });
    expect(await world.look()).not.toContain('create PersistentVolumeClaim/web-db');
    expect(world.condition('Ready')).toBe('False Conflict');
  });

  test('one of ours whose labels somebody removed is taken back', async () => {
    const world = await settled(MINIMAL);
    const { view } = world.cluster;
    const children = view.children.bind(view);
    // The watch selects by label: without its labels the object is out of sight.
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

describe('what is made once, and is not known by its label any more', () => {
  const STORED = 'ControllerRevision/shop/web-1';
  const instance = (world: World, id: string) =>
    world.cluster.edit(id, ({ metadata }) => {
      metadata.labels = { ...metadata.labels, 'app.kubernetes.io/instance': 'another' };
      delete metadata.ownerReferences;
    });
  const labelled = (team: string, more: object = {}) =>
    revised('web:1', 1, { podTemplate: { labels: { team } }, ...more });

  test.each(['PersistentVolumeClaim/shop/web-db', STORED])(
    '%s: has it again, and nothing else',
    async (id) => {
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
    },
  );

  test('what takes it off again is told of, and not fought without end', async () => {
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

  test('while the server refuses to give it back that is told, with the object', async () => {
    const world = await settled(MINIMAL);
    instance(world, STORED);
    // Each refuses one call, and how long the next one waits is drawn by lot: as many as there may be.
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

  test('stored templates are not taken for those of a later wish', async () => {
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

  test('stored templates without the label that says what they are of are told, and made anew once they are gone', async () => {
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

describe('failures that pass', () => {
  test.each(['server', 'timeout', 'network', 'too_many_requests'] as const)(
    '%s: retried, nothing else suffers',
    async (error) => {
      const world = new World(MINIMAL);
      world.cluster.faults = [{ when: on('create', 'Service/web'), error }];
      const writes = await world.look();
      expect(writes).toContain('create StatefulSet/web-db');
      expect(await world.reconcile()).not.toMatchObject({ kind: 'terminal' });
      await world.converge();
      expect(world.condition('Ready')).toBe('True Converged');
    },
  );

  test('a lost answer: what was written is seen, and written once', async () => {
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

  test('an error that lasts is told', async () => {
    const world = await settled(MINIMAL);
    world.cluster.faults = Array.from({ length: 5 }, () => ({
      when: on('create', 'Service/web'),
      error: 'server' as const,
    }));
    world.cluster.remove(`Service/${NAMESPACE}/web`);
    for (let look = 0; look < 4; look += 1) await world.look();
    expect(world.condition('Ready')).toBe('False ReconcileFailed');
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
  });

  test('a status that changed under our hands is derived again', async () => {
    const world = await settled(MINIMAL);
    world.cluster.faults = [{ when: on('status', 'ManagedDeployment/web'), error: 'conflict' }];
    world.change({ ...MINIMAL, components: { api: scaled(2, 2) } });
    await world.converge();
    expect(world.status.components).toMatchObject([{ wanted: 2, available: 2 }]);
  });
});

describe('fences', () => {
  test('nothing is made for a custom resource that is gone, replaced, changed or being deleted', async () => {
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
      expect(await world.look()).toEqual([]);
    }
  });

  test('an apply for an object that was replaced meanwhile is refused', async () => {
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

  test('a process that no longer leads writes nothing', async () => {
    const world = await settled(MINIMAL);
    world.cluster.remove(`Service/${NAMESPACE}/web`);
    world.mayAct = false;
    expect(await world.look().catch(() => world.cluster.writes)).toEqual([]);
  });
});

test('paused with work left: not looked at again and again', async () => {
  const world = await settled(MINIMAL);
  world.cluster.stuck.set('database', 'CreateContainerConfigError');
  world.cluster.settle();
  world.cluster.remove(`Service/${NAMESPACE}/web`);
  world.cluster.edit('ManagedDeployment/shop/web', ({ metadata }) => {
    metadata.annotations = { 'berth.dev/paused': 'true' };
  });
  await world.look();
  world.now += 3_600_000;
  expect(await world.reconcile()).toEqual({ kind: 'settled' });
});

describe('lost credentials', () => {
  const password = (world: World, name = 'web-db') =>
    (world.cluster.get(`Secret/${NAMESPACE}/${name}`)?.['data'] as { password?: string } | undefined)
      ?.password;

  /** The database does not come up, which nobody tells the reason of: it is looked for, and found. */
  async function expectMendedAfterAWhile(world: World, before: string | undefined): Promise<void> {
    world.now += 31_000;
    expect(await world.look()).toContain('create Secret/web-db');
    world.cluster.stuck.clear();
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
    expect(password(world)).toBe(before);
  }

  test.each(['web-db', 'web-db-copy'])('%s comes back at once, with the same password', async (name) => {
    const world = await settled(MINIMAL);
    const before = password(world);
    expect(before).toBeDefined();
    expect(password(world, 'web-db-copy')).toBe(before);
    world.cluster.remove(`Secret/${NAMESPACE}/${name}`);
    expect(await world.look()).toContain(`create Secret/${name}`);
    expect([password(world), password(world, 'web-db-copy')]).toEqual([before, before]);
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
  });

  test('are looked for where no witness told of it: the database has been unready for a while', async () => {
    const world = await settled(MINIMAL);
    const before = password(world);
    const witnesses = world.cluster.list('ControllerRevision');
    world.cluster.remove(`Secret/${NAMESPACE}/web-db`);
    for (const witness of witnesses) world.cluster.put(witness);
    world.cluster.stuck.set('database', 'ContainerCreating');
    world.cluster.settle();
    expect(await world.look()).not.toContain('create Secret/web-db');
    await expectMendedAfterAWhile(world, before);
  });

  test('are looked for where they went before any witness was made, though this process has just made them', async () => {
    const world = new World(MINIMAL);
    world.cluster.stuck.set('database', 'ContainerCreating');
    await world.look();
    const before = password(world);
    world.cluster.settle();
    await world.look();
    world.cluster.remove(`Secret/${NAMESPACE}/web-db`);
    world.cluster.settle();
    await expectMendedAfterAWhile(world, before);
  });

  test('both of them: no other password is made up while the volume is there; it is said, and what mends it', async () => {
    const world = await settled(MINIMAL);
    const before = password(world) ?? '';
    world.cluster.remove(`Secret/${NAMESPACE}/web-db`);
    world.cluster.remove(`Secret/${NAMESPACE}/web-db-copy`);
    for (let look = 0; look < 20; look += 1) {
      expect((await world.look()).filter((write) => write.includes('Secret'))).toEqual([]);
      expect(world.condition('Ready')).toBe('False CredentialsLost');
      // It answers all the same.
      expect(world.condition('DatabaseReady')).toBe('True DatabaseAvailable');
      world.now += 3_000;
    }
    world.restart();
    expect((await world.look()).filter((write) => write.includes('Secret'))).toEqual([]);
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

  test('are not read again to be witnessed once they were made, but once more if one goes until then', async () => {
    const world = new World(MINIMAL);
    const reads: string[] = [];
    const find = world.cluster.client.find;
    world.cluster.client.find = (resource, at, options) => {
      if (resource.kind === 'Secret') reads.push(at.name);
      return find(resource, at, options);
    };
    const isWitness = (write: string) => write.startsWith('create ControllerRevision/web-secrets');
    let writes = await world.look();
    expect(writes).toContain('create Secret/web-db');
    const before = password(world);
    const seen = reads.length;
    world.cluster.remove(`Secret/${NAMESPACE}/web-db`);
    for (let look = 0; look < 20 && !writes.some(isWitness); look += 1) {
      world.cluster.settle();
      writes = await world.look();
    }
    expect(writes.some(isWitness)).toBe(true);
    expect(reads.length).toBe(seen);
    // What the garbage collector does to a witness of a Secret that is not there.
    for (const { metadata } of world.cluster.list('ControllerRevision'))
      world.cluster.edit(`ControllerRevision/${NAMESPACE}/${metadata.name}`, ({ metadata: own }) => {
        own.ownerReferences = own.ownerReferences?.filter(({ name }) => name !== 'web-db') ?? [];
      });
    await world.converge();
    expect(reads.slice(seen)).toContain('web-db');
    expect(password(world)).toBe(before);
    expect(world.condition('Ready')).toBe('True Converged');
  });

  test('that were there when the volume was made again are read when one goes later', async () => {
    const world = await settled(MINIMAL);
    const before = password(world);
    world.cluster.remove(`PersistentVolumeClaim/${NAMESPACE}/web-db`);
    await world.converge();
    expect(world.cluster.get(`PersistentVolumeClaim/${NAMESPACE}/web-db`)).toBeDefined();
    world.cluster.remove(`Secret/${NAMESPACE}/web-db`);
    expect(await world.look()).toContain('create Secret/web-db');
    expect(password(world)).toBe(before);
  });

  test('are not read while all is well', async () => {
    const world = await settled(MINIMAL);
    world.cluster.client.find = () => Promise.reject(new Error('must not be asked'));
    world.now += 3_600_000;
    expect(await world.look()).toEqual([]);
  });
});

test('a spec that this version cannot read is told, and nothing is touched', async () => {
  const world = await settled(MINIMAL);
  world.cluster.edit('ManagedDeployment/shop/web', (object) => {
    object['spec'] = { revision: { image: 'web:1', number: 'three' } };
  });
  expect(await world.look()).toEqual(['status ManagedDeployment/web']);
  expect(world.condition('Ready')).toBe('False Refused');
  expect(world.condition('Serving')).toBe('True Available');
});
