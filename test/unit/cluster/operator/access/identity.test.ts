import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { controllerOf } from '../../../../../src/cluster/kube/client/object.ts';
import { appName } from '../../../../../src/contract/resource/names.ts';
import { labelValue } from '../../../../../src/workloads/labels.ts';
import { NAMESPACE, type Spec } from '../fixtures.ts';
import { Namespace } from '../several-resources.ts';

const ID = '0197a000-0000-7000-8000-00000000abcd';
const HUB = appName('shop', ID);
const COPY = 'aaa-0000abcd';

const spec = (deploymentId?: string, more: object = {}): Spec => ({
  ...(deploymentId === undefined ? {} : { deploymentId }),
  revision: { image: 'web:1' },
  ...more,
});
const external = { database: { external: true }, cache: { external: true } };

const owners = (world: Namespace) =>
  world.objects().map((object) => `${object.kind} ${object.metadata.name}: ${controllerOf(object)?.uid}`);

describe('an identity that is in use', () => {
  const victim = async () => {
    const world = new Namespace();
    world.create('web', spec());
    await world.work();
    expect(world.status('web').deploymentStatus).toBe('READY');
    return world;
  };

  test('is the uid of a resource applied by hand, and is not given to a resource that names it', async () => {
    const world = await victim();
    const before = owners(world);
    world.create('evil', spec(world.uid('web'), { database: { volumePolicy: 'Delete' } }));
    await world.work(12, (names) => names.toReversed());
    expect(world.ready('evil')).toMatch(/^Conflict: /);
    expect(world.ready('evil')).toContain('is the uid of the ManagedDeployment web');
    expect(world.status('web').deploymentStatus).toBe('READY');
    expect(owners(world)).toEqual(before);
    expect(world.crossings()).toEqual([]);
  });

  test.each([
    ['the same text', 'team-shop', 'team-shop'],
    ['a text that gives the same label', 'a b', labelValue('a b')],
    ['the text whose label it is', labelValue('ä/ö'), 'ä/ö'],
    ['the empty text', '', ''],
  ])('is not given to another resource through %s', async (_, first, second) => {
    const world = new Namespace();
    world.create('one', spec(first));
    await world.work();
    world.create('another', spec(second));
    await world.work(6, (names) => names.toReversed());
    expect(world.status('one').deploymentStatus).toBe('READY');
    expect(world.ready('another')).toMatch(/^Conflict: the ManagedDeployment one has/);
    expect(world.crossings()).toEqual([]);
    expect(world.objects().filter(({ metadata }) => metadata.name.startsWith('another'))).toEqual([]);
  });

  test('is taken from a second resource that ran with it before an upgrade', async () => {
    const world = await victim();
    world.create('evil', spec('of-its-own'));
    await world.work();
    expect(world.status('evil').deploymentStatus).toBe('READY');
    // An earlier version let it have the uid.
    world.cluster.edit(`ManagedDeployment/${NAMESPACE}/evil`, (object) => {
      Object.assign(object['spec'] as object, { deploymentId: world.uid('web') });
    });
    world.restart();
    await world.work();
    expect(world.ready('evil')).toContain('is the uid of the ManagedDeployment web');
    expect(world.cluster.list('Deployment').map(({ metadata }) => metadata.name)).not.toContain('evil-api');
    expect(world.cluster.get(`PersistentVolumeClaim/${NAMESPACE}/evil-db`)).toBeDefined();
    expect(world.status('web').deploymentStatus).toBe('READY');
  });

  test('is not given to another resource when a deleted resource left its volume', async () => {
    const world = await victim();
    const uid = world.uid('web');
    world.delete('web');
    for (const name of ['evil', 'web'])
      world.create(name, spec(uid, { database: { volumePolicy: 'Delete' } }));
    const before = owners(world);
    await world.work();
    expect(world.ready('evil')).toMatch(/^Conflict: the ManagedDeployment web has the same/);
    expect(world.ready('web')).toMatch(/^Conflict: spec.deploymentId is the uid of an earlier resource/);
    expect(owners(world)).toEqual(before);
  });
});

describe('the resource of the listener', () => {
  const deployed = async (more: object = {}) => {
    const world = new Namespace();
    world.create(HUB, spec(ID, more));
    await world.work();
    expect(world.status(HUB).deploymentStatus).toBe('READY');
    return world;
  };

  test('gets its identity back after a deletion, although a copy waited for it', async () => {
    const world = await deployed();
    world.create(COPY, spec(ID));
    await world.work();
    world.delete(HUB);
    world.restart();
    await world.work();
    expect(world.ready(COPY)).toMatch(new RegExp(`^Conflict: the id belongs to the deployment ${HUB}`));
    world.create(HUB, spec(ID));
    await world.work(12, (names) => names.toReversed());
    expect(world.status(HUB).deploymentStatus).toBe('READY');
    expect(world.ready(COPY)).toMatch(new RegExp(`^Conflict: the ManagedDeployment ${HUB} has the same`));
    expect(world.crossings()).toEqual([]);
  });

  test('takes its identity back from a running copy once the listener has claimed it', async () => {
    const world = new Namespace();
    world.create(COPY, spec(ID));
    await world.work();
    expect(world.status(COPY).deploymentStatus).toBe('READY');
    world.create(HUB, spec(ID));
    await world.work(4);
    expect(world.ready(HUB)).toMatch(new RegExp(`^Conflict: the ManagedDeployment ${COPY} has the same`));
    world.record(HUB, ID, 'claimed');
    const seen = new Set<string>();
    for (let round = 0; round < 20; round += 1) {
      await world.work(1);
      seen.add(world.ready(HUB).split(':')[0] ?? '');
      if (world.cluster.list('Deployment').some(({ metadata }) => metadata.name === `${HUB}-api`))
        expect(world.crossings()).toEqual([]);
    }
    expect([...seen]).toContain('TakingOver');
    expect(world.status(HUB).deploymentStatus).toBe('READY');
    expect(world.ready(COPY)).toMatch(/^Conflict: /);
    expect(world.cluster.list('Deployment').map(({ metadata }) => metadata.name)).not.toContain(
      `${COPY}-api`,
    );
    world.restart();
    await world.work(3, (names) => names.toReversed());
    expect(world.status(HUB).deploymentStatus).toBe('READY');
  });

  test('keeps its data, even if an edit has set volumePolicy to Delete', async () => {
    const world = await deployed();
    world.cluster.edit(`ManagedDeployment/${NAMESPACE}/${HUB}`, (object) => {
      object['spec'] = { ...(object['spec'] as { database: object }), database: { volumePolicy: 'Delete' } };
    });
    await world.work(4);
    const claim = world.cluster.get(`PersistentVolumeClaim/${NAMESPACE}/${HUB}-db`);
    expect(claim?.metadata.ownerReferences ?? []).toEqual([]);
  });
});

describe('the objects that a deployment left', () => {
  const left = async (record: boolean) => {
    const world = new Namespace();
    world.create(HUB, spec(ID));
    await world.work();
    if (record) world.record(HUB, ID, 'left');
    world.leave(HUB);
    return world;
  };
  const CLAIMANTS: [string, Spec][] = [
    ['its name', spec(undefined, { database: { volumePolicy: 'Delete' } })],
    ['its name and id', spec(ID, { revision: { image: 'evil:1', envSecretName: `${HUB}-env-1` } })],
    ['its name and another id', spec('another', { database: { volumePolicy: 'Delete' } })],
    ['its name and its id in upper case', spec(ID.toUpperCase())],
  ];

  test.each(CLAIMANTS.flatMap(([what, wanted]) => [true, false].map((record) => ({ what, wanted, record }))))(
    'are not taken over, changed or used by a resource with $what (recorded: $record)',
    async ({ wanted, record }) => {
      const world = await left(record);
      const before = structuredClone(world.objects());
      world.now += 60_000;
      world.create(HUB, wanted);
      world.restart();
      await world.work();
      expect(world.ready(HUB)).toMatch(/^Conflict: /);
      expect(world.objects()).toEqual(before);
    },
  );

  test('are not taken over if only Secrets are left', async () => {
    const world = await left(true);
    for (const { kind, metadata } of world.objects())
      if (kind !== 'Secret') world.cluster.remove(`${kind}/${NAMESPACE}/${metadata.name}`);
    const before = structuredClone(world.objects());
    world.create(HUB, spec(ID));
    await world.work();
    expect(world.ready(HUB)).toMatch(/^Conflict: the deployment .* is no longer managed by Berth/);
    expect(world.objects()).toEqual(before);
  });

  test('are not taken over through a spec that cannot be parsed', async () => {
    const world = await left(false);
    const before = structuredClone(world.objects());
    world.create(HUB, spec(ID));
    const edit = (wanted: unknown) =>
      world.cluster.edit(`ManagedDeployment/${NAMESPACE}/${HUB}`, (object) => {
        object['spec'] = wanted;
      });
    edit({ revision: 7 });
    await world.work(3);
    expect(world.ready(HUB)).toMatch(/^Refused: /);
    edit(spec(ID));
    await world.work(3);
    expect(world.ready(HUB)).toMatch(/^Conflict: /);
    expect(world.objects()).toEqual(before);
  });

  test('return to the deployment of the hub once its listener has claimed it', async () => {
    const world = await left(true);
    const volume = world.cluster.get(`PersistentVolumeClaim/${NAMESPACE}/${HUB}-db`)?.metadata.uid;
    world.create(HUB, spec(ID));
    await world.work(3);
    world.record(HUB, ID, 'claimed');
    await world.work();
    expect(world.status(HUB).deploymentStatus).toBe('READY');
    expect(world.cluster.get(`PersistentVolumeClaim/${NAMESPACE}/${HUB}-db`)?.metadata.uid).toBe(volume);
  });

  test('return by name to a resource that was applied by hand again, and do not get it as owner', async () => {
    const world = new Namespace();
    world.create('web', spec());
    await world.work();
    const volume = world.cluster.get(`PersistentVolumeClaim/${NAMESPACE}/web-db`)?.metadata.uid;
    world.delete('web');
    world.create('web', spec(undefined, { database: { volumePolicy: 'Delete' } }));
    await world.work();
    expect(world.status('web').deploymentStatus).toBe('READY');
    const claim = world.cluster.get(`PersistentVolumeClaim/${NAMESPACE}/web-db`);
    expect(claim?.metadata.uid).toBe(volume);
    expect(claim?.metadata.ownerReferences ?? []).toEqual([]);
    for (const name of ['web-db', 'web-db-copy'])
      expect(world.cluster.get(`Secret/${NAMESPACE}/${name}`)?.metadata.ownerReferences ?? []).toEqual([]);
  });

  test('are not taken over if a resource applied by hand left its workloads too', async () => {
    const world = new Namespace();
    world.create('web', spec());
    await world.work();
    world.leave('web');
    const before = structuredClone(world.objects());
    world.create('web', spec(undefined, { database: { volumePolicy: 'Delete' } }));
    await world.work();
    expect(world.ready('web')).toMatch(/^Conflict: /);
    expect(world.objects()).toEqual(before);
  });

  test('stay with the resource to which an earlier version gave them by name', async () => {
    const world = new Namespace();
    world.create('web', spec());
    await world.work();
    // As if the volume, the credentials and the templates had been of an earlier resource.
    for (const { kind, metadata } of world.objects())
      if (['PersistentVolumeClaim', 'Secret', 'ControllerRevision'].includes(kind))
        world.cluster.edit(`${kind}/${NAMESPACE}/${metadata.name}`, (object) => {
          Object.assign(object.metadata.labels ?? {}, { 'berth.dev/deployment-id': ID });
        });
    world.restart();
    await world.work();
    expect(world.status('web').deploymentStatus).toBe('READY');
    expect(world.ready('web')).toMatch(/^Converged/);
  });
});

describe('a name that is reserved for an object of a hub deployment', () => {
  const RESERVED = ['db', 'cache', 'api', 'tls', 'pull', 'db-copy', 'identity', 'env-1', '1', '1-2'];

  test.each(RESERVED)('is given to no other resource when it ends with -%s', async (part) => {
    const world = new Namespace();
    const taken = `${HUB}-${part}`;
    world.create(taken, { ...spec(), revision: { image: 'web:1', number: 2 } });
    await world.work(3);
    expect(world.ready(taken)).toContain(`reserved for an object of the deployment ${HUB}`);
    expect(world.objects()).toEqual([]);
  });

  test.each([
    'web-cache',
    'web-1',
    'shop-deadbeef-12345678',
    'svc-1a2b3c4d-env-12345678',
    'svc-1a2b3c4d-env-1a2b3c4d',
    'svc-1a2b3c4d-1-12345678',
    HUB,
  ])('is not %s', async (name) => {
    const world = new Namespace();
    world.create(name, spec());
    await world.work();
    expect(world.status(name).deploymentStatus).toBe('READY');
  });

  test('is given to the resource for which the listener has claimed it', async () => {
    const world = new Namespace();
    const name = `${HUB}-env-1`;
    world.create(name, spec(ID));
    await world.work(3);
    expect(world.ready(name)).toMatch(/^Conflict: the name/);
    world.record(name, 'of-another', 'claimed');
    await world.work(3);
    expect(world.ready(name)).toMatch(/^Conflict: the name/);
    world.record(name, ID, 'claimed');
    await world.work();
    expect(world.status(name).deploymentStatus).toBe('READY');
  });

  test('stays with a resource that an earlier version has accepted', async () => {
    const world = new Namespace();
    world.create('web', spec());
    await world.work();
    const status = world.status('web');
    world.create(`${HUB}-cache`, spec());
    world.cluster.edit(`ManagedDeployment/${NAMESPACE}/${HUB}-cache`, (object) => {
      object['status'] = structuredClone(status);
    });
    await world.work();
    expect(world.status(`${HUB}-cache`).deploymentStatus).toBe('READY');
  });
});

/** Names whose resource would take a name that an object of the hub's deployment needs. */
const IN_THE_WAY = [`${HUB}-db`, `${HUB}-cache`, `${HUB}-1`];
const NAMES = ['web', 'web-db', 'web-cache', 'web-api', COPY, HUB, ...IN_THE_WAY];
/** `UID`: the uid of another resource that is there. */
const IDS = [
  undefined,
  ID,
  ID.toUpperCase(),
  `${ID} `,
  labelValue(`${ID} `),
  'a b',
  labelValue('a b'),
  '',
  'UID',
];

const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('create' as const),
      name: fc.constantFrom(...NAMES),
      id: fc.constantFrom(...IDS),
      bare: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('delete' as const, 'leave' as const, 'restart' as const),
      name: fc.constantFrom(...NAMES),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** A namespace in which anything happens, and what must hold all the while. */
class Hostile {
  readonly world = new Namespace();
  /** Names of objects that were left: they select pods that were left with them. */
  readonly left = new Set<string>();
  readonly #owners = new Map<string, string>();

  async take(each: Step): Promise<void> {
    const { world } = this;
    const exists = world.names.includes(each.name);
    if (each.kind === 'create' && !exists) this.#create(each);
    if (each.kind === 'delete' && exists) world.delete(each.name);
    if (each.kind === 'leave' && exists && each.name !== HUB) this.#leave(each.name);
    if (each.kind === 'restart') world.restart();
    await world.work(2);
    this.check();
  }

  #create({ name, id, bare }: Extract<Step, { kind: 'create' }>): void {
    const [other] = this.world.names;
    const uid = other === undefined ? undefined : this.world.uid(other);
    const more = bare ? external : { database: { volumePolicy: 'Delete' } };
    // Revision 2 of `shop-…-1` has the stored templates `shop-…-1-2`.
    const revision = { image: 'web:1', number: 2 };
    this.world.create(name, spec(id === 'UID' ? uid : id, { ...more, revision }));
  }

  #leave(name: string): void {
    const owned = this.world.objects().filter((object) => controllerOf(object)?.uid === this.world.uid(name));
    for (const { metadata } of owned) this.left.add(metadata.name);
    this.world.leave(name);
  }

  check(): void {
    const crossings = this.world.crossings();
    expect(crossings.filter((line) => !this.left.has(line.split(' ')[1] ?? ''))).toEqual([]);
    const instances = this.world
      .objects()
      .map(({ metadata }) => metadata.labels?.['app.kubernetes.io/instance']);
    expect(instances.filter((name = '') => IN_THE_WAY.includes(name))).toEqual([]);
    for (const object of this.world.objects()) {
      const { uid = '' } = object.metadata;
      const owner = controllerOf(object)?.uid;
      if (owner === undefined) continue;
      expect(owner).toBe(this.#owners.get(uid) ?? owner);
      this.#owners.set(uid, owner);
    }
  }

  /** Objects of the names that the hub's resource needs, of other deployments. */
  get inTheWay(): boolean {
    return this.world.objects().some(({ metadata: { name, labels } }) => {
      const isOfHub =
        labels?.['berth.dev/deployment-id'] === ID && labels['app.kubernetes.io/instance'] === HUB;
      return name.startsWith(HUB) && !isOfHub;
    });
  }
}

test('any sequence of changes lets no selector match pods of another resource and moves no ownership', async () => {
  let won = 0;
  const property = fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 8 }), async (steps) => {
    const hostile = new Hostile();
    const { world } = hostile;
    for (const each of steps) await hostile.take(each);
    // The listener brings its own, in place of what has its name.
    world.delete(HUB);
    await world.work(1);
    const isFree = !hostile.inTheWay && hostile.left.size === 0;
    world.create(HUB, spec(ID));
    world.record(HUB, ID, 'claimed');
    for (let round = 0; round < 14; round += 1) {
      await world.work(1, (all) => (round % 2 === 0 ? all : all.toReversed()));
      hostile.check();
    }
    if (!isFree) return;
    won += 1;
    expect(world.status(HUB).deploymentStatus).toBe('READY');
  });
  await fc.assert(property, { numRuns: 60, seed: 61 });
  expect(won).toBeGreaterThan(10);
}, 240_000);
