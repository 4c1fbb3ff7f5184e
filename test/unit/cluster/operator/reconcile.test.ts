import { describe, expect, test } from 'vitest';
import { KEY, NAMESPACE, RESOURCE_ID, type Spec, scaled, settled, World } from './fixtures.ts';

const MINIMAL: Spec = { revision: { image: 'web:1' } };

interface Row {
  name: string;
  spec?: Spec;
  /** The change of a converged cluster. */
  given: (world: World) => void | Promise<void>;
  /** Writes of the next reconcile in any order. The status of the custom resource is `status ManagedDeployment/web`. */
  writes: string[];
  /** Conditions after that reconcile. */
  conditions?: Record<string, string>;
}

const STATUS = 'status ManagedDeployment/web';
const childOf = (kind: string, name: string) => `${kind}/${NAMESPACE}/${name}`;

const ROWS: Row[] = [
  {
    name: 'writes nothing when the observed state is the desired one',
    given: () => {},
    writes: [],
    conditions: { Ready: 'True Converged' },
  },
  {
    name: 'writes nothing after a restart of the operator',
    given: (world) => world.restart(),
    writes: [],
  },
  {
    name: 'writes nothing after an upgrade that renders pods differently',
    given: (world) =>
      world.restart({ ...world.config, otlpEndpoint: 'http://collector:4318', healthPath: '/healthz' }),
    writes: [],
  },
  {
    name: 'writes nothing after an upgrade with other images for database and cache',
    given: (world) =>
      world.restart({ ...world.config, databaseImage: 'postgres:19', cacheImage: 'valkey:9' }),
    writes: [],
  },
  {
    name: 'creates a deleted Service again',
    given: ({ cluster }) => cluster.remove(childOf('Service', 'web')),
    writes: ['create Service/web'],
  },
  {
    name: 'creates a deleted Deployment again, and Ready reports it meanwhile',
    given: ({ cluster }) => cluster.remove(childOf('Deployment', 'web-api')),
    writes: ['create Deployment/web-api', STATUS],
    conditions: { Ready: 'False Reconciling', Progressing: 'False Reconciling' },
  },
  {
    name: 'reverts an edited field',
    given: ({ cluster }) =>
      cluster.edit(childOf('Deployment', 'web-api'), (object) => {
        const { template } = object['spec'] as { template: { spec: { containers: { image: string }[] } } };
        for (const container of template.spec.containers) container.image = 'evil:1';
      }),
    writes: ['apply Deployment/web-api', STATUS],
  },
  {
    name: 'keeps a foreign label and annotation',
    given: ({ cluster }) =>
      cluster.edit(childOf('Deployment', 'web-api'), ({ metadata }) => {
        metadata.labels = { ...metadata.labels, team: 'checkout' };
        metadata.annotations = { ...metadata.annotations, note: 'mine' };
      }),
    writes: [],
  },
  {
    name: 'restores a lost owner reference',
    given: ({ cluster }) =>
      cluster.edit(childOf('Service', 'web'), ({ metadata }) => {
        delete metadata.ownerReferences;
      }),
    writes: ['apply Service/web'],
  },
  {
    name: 'removes an undesired object with our labels',
    given: ({ cluster }) => {
      const service = cluster.get(childOf('Service', 'web'));
      if (service)
        cluster.put({ ...service, metadata: { ...service.metadata, name: 'web-old', uid: 'other' } });
    },
    writes: ['delete Service/web-old'],
  },
  {
    name: 'leaves an object of another deployment unchanged',
    given: ({ cluster }) =>
      cluster.put({
        apiVersion: 'v1',
        kind: 'Service',
        metadata: {
          name: 'web-of-others',
          namespace: NAMESPACE,
          labels: { 'app.kubernetes.io/managed-by': 'berth', 'app.kubernetes.io/instance': 'other' },
        },
      }),
    writes: [],
  },
  {
    name: 'reverts kubectl scale of a fixed component with the replicas manager',
    given: ({ cluster }) => cluster.scale(childOf('Deployment', 'web-api'), 4),
    writes: ['apply Deployment/web-api', STATUS],
  },
  {
    name: 'changes nothing while paused, and reports the pause',
    given: ({ cluster }) => {
      cluster.edit(RESOURCE_ID, ({ metadata }) => {
        metadata.annotations = { 'berth.dev/paused': 'true' };
      });
      cluster.remove(childOf('Service', 'web'));
    },
    writes: [STATUS],
    conditions: { Paused: 'True Paused', Ready: 'False Paused' },
  },
  {
    name: 'changes nothing while being deleted',
    given: ({ cluster }) => {
      cluster.edit(RESOURCE_ID, ({ metadata }) => {
        metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
      });
      cluster.remove(childOf('Service', 'web'));
    },
    writes: [STATUS],
    conditions: { Ready: 'False BeingDeleted', DatabaseReady: 'Unknown BeingDeleted' },
  },
  {
    name: 'does not report the end of a pause while being deleted',
    given: async (world) => {
      world.cluster.edit(RESOURCE_ID, ({ metadata }) => {
        metadata.annotations = { 'berth.dev/paused': 'true' };
      });
      await world.reconcileOnce();
      world.cluster.edit(RESOURCE_ID, ({ metadata }) => {
        metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
      });
    },
    writes: [STATUS],
    conditions: { Ready: 'False BeingDeleted', Paused: 'Unknown BeingDeleted' },
  },
  {
    name: 'only reports a requested deletion while paused',
    given: (world) => {
      world.cluster.edit(RESOURCE_ID, ({ metadata }) => {
        metadata.annotations = { 'berth.dev/paused': 'true' };
      });
      const [requestTime, restorableUntilTime] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'];
      world.change({ ...MINIMAL, suspend: true, deletion: { requestTime, restorableUntilTime } });
    },
    writes: [STATUS],
    conditions: { Paused: 'True Paused', Ready: 'False DeletionRequested' },
  },
  {
    name: 'changes a fixed scale by one write',
    given: (world) => world.change({ ...MINIMAL, components: { api: scaled(3, 3) } }),
    writes: ['apply Deployment/web-api', 'create PodDisruptionBudget/web-api', STATUS],
  },
  {
    name: 'hands the live number over before it creates an autoscaler',
    given: (world) => world.change({ ...MINIMAL, components: { api: scaled(1, 5) } }),
    writes: ['apply Deployment/web-api', 'create HorizontalPodAutoscaler/web-api', STATUS],
  },
  {
    name: 'keeps the number that the autoscaler chose, and reports it a second later',
    spec: { ...MINIMAL, components: { api: scaled(1, 5) } },
    given: async (world) => {
      world.cluster.scale(childOf('Deployment', 'web-api'), 4);
      world.cluster.settle();
      expect(await world.reconcileOnce()).toEqual([]);
      world.now += 1_000;
    },
    writes: [STATUS],
    conditions: { Ready: 'True Converged' },
  },
  {
    name: 'removes the autoscaler before it writes a fixed number',
    spec: { ...MINIMAL, components: { api: scaled(1, 5) } },
    given: (world) => {
      world.cluster.scale(childOf('Deployment', 'web-api'), 4);
      world.change({ ...MINIMAL, components: { api: scaled(2, 2) } });
    },
    writes: [
      'delete HorizontalPodAutoscaler/web-api',
      'apply Deployment/web-api',
      'create PodDisruptionBudget/web-api',
      STATUS,
    ],
  },
  {
    name: 'removes the autoscaler first when suspended, and stops database and cache after the components',
    spec: { ...MINIMAL, components: { api: scaled(1, 5) } },
    given: (world) => world.change({ ...MINIMAL, suspend: true, components: { api: scaled(1, 5) } }),
    writes: ['delete HorizontalPodAutoscaler/web-api', 'apply Deployment/web-api', STATUS],
    conditions: { DatabaseReady: 'True DatabaseAvailable', Ready: 'False SwitchedOff' },
  },
  {
    name: 'removes a component that is no longer desired when the rollout of the others is complete',
    spec: { ...MINIMAL, components: { api: scaled(1, 1), queue: scaled(2, 2) } },
    given: (world) => world.change(MINIMAL),
    // The templates of api are the same: there is no rollout, so the queue is removed at once.
    writes: [
      'create ControllerRevision/web-1-2',
      'delete PodDisruptionBudget/web-queue',
      'delete Deployment/web-queue',
      STATUS,
    ],
  },
  {
    name: 'expands the volume by one change of the claim',
    given: (world) => world.change({ ...MINIMAL, database: { storage: '20Gi' } }),
    writes: ['patch PersistentVolumeClaim/web-db', STATUS],
  },
  {
    name: 'never shrinks the volume',
    given: (world) => world.change({ ...MINIMAL, database: { storage: '5Gi' } }),
    writes: [STATUS],
  },
  {
    name: 'sets the owner of claim, Secrets and stored templates for volumePolicy Delete',
    given: (world) => world.change({ ...MINIMAL, database: { volumePolicy: 'Delete' } }),
    writes: [
      'patch Secret/web-db',
      'patch Secret/web-db-copy',
      'patch ControllerRevision/web-1',
      'patch PersistentVolumeClaim/web-db',
      STATUS,
    ],
  },
];

describe('one reconcile of a converged cluster', () => {
  test.each(ROWS)('$name', async ({ spec, given, writes, conditions }) => {
    const world = await settled(spec ?? MINIMAL);
    await given(world);
    expect((await world.reconcileOnce()).sort()).toEqual([...writes].sort());
    for (const [type, expected] of Object.entries(conditions ?? {})) {
      expect(`${type}: ${world.condition(type)}`).toBe(`${type}: ${expected}`);
    }
  });

  test('writes nothing after any of these changes has converged', async () => {
    for (const { spec, given, name } of ROWS) {
      const world = await settled(spec ?? MINIMAL);
      await given(world);
      await world.converge();
      expect(await world.reconcileOnce(), name).toEqual([]);
    }
  });
});

describe('a new resource', () => {
  test('creates data services first, the credentials before the volume, then the templates, then the components', async () => {
    const world = new World({ ...MINIMAL, components: { api: scaled(1, 1), queue: scaled(1, 3) } });
    const first = await world.reconcileOnce();
    expect(first.indexOf('create Secret/web-db')).toBeLessThan(
      first.indexOf('create PersistentVolumeClaim/web-db'),
    );
    expect(first).not.toContain('create Deployment/web-api');
    expect(first).not.toContain('create ControllerRevision/web-1');
    expect(world.condition('Progressing')).toBe('True AwaitingDataServices');
    expect(world.status).toMatchObject({ deploymentStatus: 'AWAITING_DATABASE', suspended: false });
    expect(world.status.rollout).toBeUndefined();
    world.cluster.settle();
    const second = await world.reconcileOnce();
    expect(second.indexOf('create ControllerRevision/web-1')).toBe(0);
    expect(second.indexOf('create HorizontalPodAutoscaler/web-queue')).toBeGreaterThan(
      second.indexOf('create Deployment/web-queue'),
    );
    expect(world.condition('Progressing')).toBe('True RolloutInProgress');
    expect(world.status.rollout).toMatchObject({ number: 1, templates: 'web-1' });
    expect(world.status.activeRevision).toBeUndefined();
    world.cluster.settle();
    await world.reconcileOnce();
    expect(world.status).toMatchObject({
      deploymentStatus: 'READY',
      activeRevision: { number: 1, templates: 'web-1', image: 'web:1' },
      components: [
        { name: 'api', wanted: 1, updated: 1, ready: 1, available: 1 },
        { name: 'queue', wanted: 1, updated: 1, ready: 1, available: 1 },
      ],
    });
    expect(world.status.rollout).toBeUndefined();
    expect([world.condition('Ready'), world.condition('Serving')]).toEqual([
      'True Converged',
      'True Available',
    ]);
  });

  test('causes exactly one write for each object, and one for each visible step of the status', async () => {
    const world = new World(MINIMAL);
    const writes = await world.converge();
    const status = writes.filter((write) => write === STATUS);
    const others = writes.filter((write) => write !== STATUS);
    expect(others.sort()).toEqual(world.cluster.ids().map((id) => `create ${id}`));
    expect(status.length).toBe(3);
  });

  test('starts an autoscaled component with its minimum', async () => {
    const world = await settled({ ...MINIMAL, components: { api: scaled(3, 9) } });
    expect(world.replicas('api')).toBe(3);
  });

  test('starts the components at once when database and cache are external', async () => {
    const world = new World({ ...MINIMAL, database: { external: true }, cache: { external: true } });
    expect(await world.reconcileOnce()).toContain('create Deployment/web-api');
    expect(world.condition('DatabaseReady')).toBe('True ExternalDatabase');
    expect(world.cluster.ids().filter((id) => id.includes('web-db'))).toEqual([]);
  });

  test('creates the data and runs nothing when it is suspended from the start', async () => {
    const world = await settled({ ...MINIMAL, suspend: true });
    expect(world.status).toMatchObject({ deploymentStatus: 'UNUSED', suspended: true });
    expect(world.cluster.list('Pod')).toEqual([]);
    expect(world.cluster.ids()).toContain('PersistentVolumeClaim/web-db');
    expect(world.cluster.ids()).not.toContain('Deployment/web-api');
    expect(world.condition('Progressing')).toBe('False SwitchedOff');
  });

  test('reports once that it is suspended from the start, whenever the controllers of Kubernetes observe its objects', async () => {
    const world = new World({ ...MINIMAL, suspend: true });
    expect((await world.reconcileOnce()).filter((write) => write === STATUS)).toEqual([STATUS]);
    expect(world.status).toMatchObject({ deploymentStatus: 'UNUSED', suspended: true });
    expect(world.replicas('cache')).toBe(0);
    expect(await world.reconcileOnce(), 'its Deployment has no status yet').not.toContain(STATUS);
    world.cluster.settle();
    expect(await world.reconcileOnce()).not.toContain(STATUS);
    expect(world.status).toMatchObject({ deploymentStatus: 'UNUSED', suspended: true });
  });

  test.each([
    {
      name: 'was scaled to one pod and to none before its controller has observed it',
      change: ({ cluster }: World) => {
        for (const replicas of [1, 0]) cluster.scale(childOf('Deployment', 'web-cache'), replicas);
      },
    },
    {
      name: 'has a pod of the deployment',
      change: ({ cluster }: World) => {
        const labels = cluster.get(childOf('Deployment', 'web-cache'))?.metadata.labels ?? {};
        cluster.put({
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { namespace: NAMESPACE, name: 'web-cache-x', labels },
        });
      },
    },
  ])('is not reported as off when a workload without status $name', async ({ change }) => {
    const world = new World({ ...MINIMAL, suspend: true });
    await world.reconcileOnce();
    change(world);
    await world.reconcileOnce();
    expect(world.status.suspended).toBe(false);
  });

  test('is UNUSED until there is an image', async () => {
    const world = await settled({ revision: {}, source: 'internal_image' });
    expect(world.status.deploymentStatus).toBe('UNUSED');
    expect(world.condition('Progressing')).toBe('False NoRevision');
    world.change({ revision: { image: 'web:1' }, source: 'internal_image' });
    await world.converge();
    expect(world.status.deploymentStatus).toBe('READY');
  });
});

describe('a suspension', () => {
  test('stops everything, and a resume restores it', async () => {
    const spec: Spec = { ...MINIMAL, components: { api: scaled(2, 5) } };
    const world = await settled(spec);
    const volume = world.cluster.get(childOf('PersistentVolumeClaim', 'web-db'))?.metadata.uid;
    world.change({ ...spec, suspend: true });
    world.cluster.slowEnd = true;
    await world.reconcileOnce();
    world.cluster.settle();
    await world.reconcileOnce();
    expect(world.replicas('api')).toBe(0);
    expect(world.replicas('cache')).toBe(1);
    expect(world.status).toMatchObject({ deploymentStatus: 'READY', suspended: false });
    world.cluster.slowEnd = false;
    world.cluster.settle();
    await world.reconcileOnce();
    expect(world.replicas('cache')).toBe(0);
    expect(world.status.suspended).toBe(false);
    await world.converge();
    expect(world.status).toMatchObject({
      deploymentStatus: 'UNUSED',
      suspended: true,
      activeRevision: { number: 1 },
    });
    expect(world.cluster.list('Pod')).toEqual([]);
    expect(world.cluster.list('HorizontalPodAutoscaler')).toEqual([]);

    world.change(spec);
    const first = await world.reconcileOnce();
    // The components start only when the database is ready again.
    expect(first).not.toContain('apply Deployment/web-api');
    expect(world.status).toMatchObject({ deploymentStatus: 'AWAITING_DATABASE', suspended: false });
    world.cluster.settle();
    const second = await world.reconcileOnce();
    expect(second.indexOf('apply Deployment/web-api')).toBeLessThan(
      second.indexOf('create HorizontalPodAutoscaler/web-api'),
    );
    expect(world.replicas('api')).toBe(2);
    await world.converge();
    expect(world.status).toMatchObject({ deploymentStatus: 'READY', suspended: false });
    expect(world.cluster.get(childOf('PersistentVolumeClaim', 'web-db'))?.metadata.uid).toBe(volume);
  });

  test('keeps the Deployment of a component without pods while the other components serve', async () => {
    const world = await settled({ ...MINIMAL, components: { api: scaled(1, 1), queue: scaled(1, 3) } });
    world.change({ ...MINIMAL, components: { api: scaled(1, 1), queue: scaled(0, 0) } });
    await world.converge();
    expect([world.replicas('queue'), world.status.deploymentStatus]).toEqual([0, 'READY']);
    expect(world.condition('Ready')).toBe('True Converged');
  });
});

test('reports a complete rollout only for rollouts, not after corrections, scaling or resuming', async () => {
  const world = await settled(MINIMAL);
  const reportedReasons = () => {
    const reasons = world.events.splice(0).map(({ reason }) => reason);
    return reasons.filter((reason) => reason === 'RolloutComplete' || reason === 'Reconciling');
  };
  expect(reportedReasons()).toEqual(['RolloutComplete']);
  world.cluster.remove(childOf('Deployment', 'web-api'));
  await world.reconcileOnce();
  expect(world.condition('Progressing')).toBe('False Reconciling');
  await world.converge();
  expect(world.condition('Progressing')).toBe('False RolloutComplete');
  for (const more of [{ components: { api: scaled(3, 3) } }, { suspend: true }, {}]) {
    world.change({ ...MINIMAL, ...more });
    await world.converge();
  }
  expect(world.condition('Progressing')).toBe('False RolloutComplete');
  expect(reportedReasons()).toEqual([]);
  world.change({ ...MINIMAL, podTemplate: { labels: { team: 'a' } } });
  await world.converge();
  world.change({ revision: { image: 'web:2', number: 2 } });
  await world.converge();
  expect(reportedReasons()).toEqual(['RolloutComplete', 'RolloutComplete']);
});

test('does nothing for a resource that is gone', async () => {
  const world = await settled(MINIMAL);
  world.cluster.remove(RESOURCE_ID);
  expect(await world.reconcileOnce()).toEqual([]);
  expect(KEY).toBe('shop/web');
});
