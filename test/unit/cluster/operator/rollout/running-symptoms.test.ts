import { describe, expect, test } from 'vitest';
import type { UntypedObject } from '../../../../../src/cluster/kube/client/object.ts';
import { LABELS } from '../../../../../src/contract/resource/names.ts';
import { message, NAMESPACE, revised, scaled, settled, steps, type World } from '../fixtures.ts';

type Labels = Record<string, string>;
interface Scene {
  readonly world: World;
  readonly component: string;
}

const DEPLOYMENT = (component: string) => `Deployment/${NAMESPACE}/web-${component}`;
const conditionTimes = { lastTransitionTime: '2026-01-01T00:00:00Z' };

/** A problem of a pod, as a kubelet, the scheduler or an Event reports it. */
interface Fault {
  readonly cause: string;
  readonly reason: string;
  readonly status: (world: World) => object;
  readonly warning?: { reason: string; message: string };
  /** What the message of Ready names besides the pod. */
  readonly names: string;
  readonly exitCode?: number;
}

const waiting = (reason: string, text = '', more: object = {}) => ({
  phase: 'Pending',
  conditions: [{ type: 'Ready', status: 'False', reason: 'ContainersNotReady', ...conditionTimes }],
  containerStatuses: [{ name: 'app', ready: false, state: { waiting: { reason, message: text } }, ...more }],
});
const ended = (exitCode: number, reason = 'Error') => ({ terminated: { exitCode, reason } });
const at = (world: World, secondsAgo: number) => new Date(world.now - secondsAgo * 1000).toISOString();

const FAULTS: Fault[] = [
  {
    cause: 'an image that cannot be pulled',
    reason: 'ImagePullFailed',
    status: () => waiting('ImagePullBackOff', 'Back-off pulling image "web:1"'),
    names: 'container app: ImagePullBackOff: Back-off pulling image',
  },
  {
    cause: 'a digest that does not exist',
    reason: 'ImagePullFailed',
    status: () => waiting('ErrImagePull', 'registry.test/web@sha256:00: not found'),
    names: 'container app: ErrImagePull: registry.test/web@sha256:00: not found',
  },
  {
    cause: 'a crash loop',
    reason: 'CrashLoop',
    status: () => waiting('CrashLoopBackOff', '', { restartCount: 5, lastState: ended(3) }),
    names: 'container app: CrashLoopBackOff: exit code 3',
    exitCode: 3,
  },
  {
    cause: 'too little memory',
    reason: 'CrashLoop',
    status: () => waiting('CrashLoopBackOff', '', { restartCount: 1, lastState: ended(137, 'OOMKilled') }),
    names: 'container app: CrashLoopBackOff: exit code 137 (OOMKilled)',
    exitCode: 137,
  },
  {
    cause: 'too little memory, between two restarts',
    reason: 'CrashLoop',
    status: (world) => ({
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'False', reason: 'ContainersNotReady', ...conditionTimes }],
      containerStatuses: [
        {
          name: 'app',
          ready: false,
          restartCount: 2,
          state: { running: { startedAt: at(world, 1) } },
          lastState: ended(137, 'OOMKilled'),
        },
      ],
    }),
    names: 'container app: OOMKilled: exit code 137',
    exitCode: 137,
  },
  {
    cause: 'an init container that fails',
    reason: 'CrashLoop',
    status: () => ({
      phase: 'Pending',
      conditions: [{ type: 'Ready', status: 'False', reason: 'ContainersNotInitialized', ...conditionTimes }],
      initContainerStatuses: [
        {
          name: 'migrate',
          ready: false,
          restartCount: 4,
          state: { waiting: { reason: 'CrashLoopBackOff' } },
          lastState: ended(7),
        },
      ],
      containerStatuses: [{ name: 'app', ready: false, state: { waiting: { reason: 'PodInitializing' } } }],
    }),
    names: 'container migrate (init): CrashLoopBackOff: exit code 7',
    exitCode: 7,
  },
  {
    cause: 'a missing Secret',
    reason: 'ContainerConfigInvalid',
    status: () => waiting('CreateContainerConfigError', 'secret "token" not found'),
    names: 'container app: CreateContainerConfigError: secret "token" not found',
  },
  {
    cause: 'a lack of room on nodes',
    reason: 'Unschedulable',
    status: () => ({
      phase: 'Pending',
      conditions: [
        {
          type: 'PodScheduled',
          status: 'False',
          reason: 'Unschedulable',
          message: '0/4 nodes are available',
        },
      ],
    }),
    names: 'Unschedulable: 0/4 nodes are available',
  },
  {
    cause: 'a volume that cannot be mounted',
    reason: 'MountFailed',
    status: () => waiting('ContainerCreating'),
    warning: { reason: 'FailedMount', message: 'MountVolume.SetUp failed: configmap "x" not found' },
    names: 'FailedMount: MountVolume.SetUp failed: configmap "x" not found',
  },
  {
    cause: 'a block volume that cannot be mapped',
    reason: 'MountFailed',
    status: () => waiting('ContainerCreating'),
    warning: { reason: 'FailedMapVolume', message: 'MapVolume.SetUpDevice failed' },
    names: 'FailedMapVolume: MapVolume.SetUpDevice failed',
  },
  {
    cause: 'an image without a valid signature',
    reason: 'ImagePullFailed',
    status: () => waiting('SignatureValidationFailed', 'image signature validation failed'),
    names: 'SignatureValidationFailed: image signature validation failed',
  },
  {
    cause: 'a sandbox that cannot be created',
    reason: 'ContainerConfigInvalid',
    status: () => waiting('ContainerCreating'),
    warning: { reason: 'FailedCreatePodSandBox', message: 'Failed to create pod sandbox: plugin failed' },
    names: 'FailedCreatePodSandBox: Failed to create pod sandbox: plugin failed',
  },
  {
    cause: 'a missing claim',
    reason: 'MountFailed',
    status: () => ({
      phase: 'Pending',
      conditions: [
        {
          type: 'PodScheduled',
          status: 'False',
          reason: 'Unschedulable',
          message: '0/4 nodes are available: persistentvolumeclaim "data" not found',
        },
      ],
    }),
    names: 'persistentvolumeclaim "data" not found',
  },
  {
    cause: 'a node that does not respond',
    reason: 'NodeLost',
    status: () => ({ phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] }),
    names: 'NodeNotReady: node node-1 is not ready',
  },
];

/** Why the controller of a Deployment cannot create pods. */
const REFUSALS = [
  {
    cause: 'a quota',
    reason: 'QuotaExceeded',
    text: 'pods "web-x" is forbidden: exceeded quota: small, requested: pods=1',
  },
  {
    cause: 'an admission rule',
    reason: 'AdmissionRefused',
    text: 'pods "web-x" is forbidden: violates PodSecurity "restricted:latest"',
  },
  {
    cause: 'a failing admission webhook',
    reason: 'AdmissionRefused',
    text: 'Internal error occurred: failed calling webhook "w": connection refused',
  },
];

const labelsOf = ({ world, component }: Scene): Labels => {
  const spec = world.cluster.get(DEPLOYMENT(component))?.['spec'];
  return (spec as { template: { metadata: { labels: Labels } } }).template.metadata.labels;
};

/** Adds a pod of the component, as its controller and a kubelet would. */
function putPod(
  scene: Scene,
  name: string,
  status: object,
  lostNode?: string,
  creationTimestamp?: string,
): UntypedObject {
  const { world, component } = scene;
  const owner = world.cluster.get(DEPLOYMENT(component));
  return world.cluster.put({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: NAMESPACE,
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      labels: labelsOf(scene),
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          name: `web-${component}`,
          uid: owner?.metadata.uid ?? '',
        },
      ],
    },
    ...(lostNode === undefined ? {} : { lostNode }),
    status,
  } as UntypedObject);
}

function count({ world, component }: Scene, wanted: number, available: number, refusal?: string): void {
  world.cluster.scale(DEPLOYMENT(component), wanted);
  world.cluster.edit(DEPLOYMENT(component), (object) => {
    const conditions =
      refusal === undefined ? [] : [{ type: 'ReplicaFailure', status: 'True', message: refusal }];
    object['status'] = {
      observedGeneration: object.metadata.generation,
      replicas: refusal === undefined ? wanted : available,
      updatedReplicas: refusal === undefined ? wanted : available,
      readyReplicas: available,
      availableReplicas: available,
      conditions,
    };
  });
}

/** Reconciles a few times without the controllers of Kubernetes. */
async function reconcileTimes(world: World, times = 4): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    await world.reconcileOnce();
    world.now += 2_000;
  }
}

type Situation = 'a scale-up' | 'a replaced pod' | 'an evicted pod';
const SITUATIONS: readonly Situation[] = ['a scale-up', 'a replaced pod', 'an evicted pod'];
const COMPONENTS = ['api', 'queue'] as const;
const SPEC = { components: { api: scaled(1, 5), queue: scaled(1, 5) } };

async function sceneOf(component: string): Promise<Scene> {
  const world = await settled(revised('web:1', 1, SPEC));
  world.events.splice(0);
  return { world, component };
}

/** Creates the situation with a new pod of this `status`. @returns the pod */
function arise(scene: Scene, situation: Situation, status: object, isLost: boolean): UntypedObject {
  const { world, component } = scene;
  const old = `Pod/${NAMESPACE}/web-${component}-0`;
  const broken = putPod(scene, `web-${component}-new`, status, isLost ? 'node-1' : undefined);
  if (situation === 'a scale-up') {
    count(scene, 2, 1);
    return broken;
  }
  if (situation === 'a replaced pod') world.cluster.remove(old);
  else
    world.cluster.edit(old, (pod) => {
      pod['status'] = { phase: 'Failed', reason: 'Evicted', message: 'low on memory' };
    });
  count(scene, 1, 0);
  return broken;
}

const symptomEvents = (world: World, reason: string) =>
  world.events.filter((event) => event.reason === reason);

describe.each(COMPONENTS)('the status of %s outside a rollout', (component) => {
  describe.each(SITUATIONS)('after %s', (situation) => {
    test.each(FAULTS)(
      'names $cause once, and recovers',
      async ({ cause, reason, status, warning, names, exitCode }) => {
        const scene = await sceneOf(component);
        const { world } = scene;
        const { activeRevision } = world.status;
        const pod = arise(scene, situation, status(world), reason === 'NodeLost');
        if (warning !== undefined) world.cluster.warnings.set(pod.metadata.uid ?? '', warning);
        await reconcileTimes(world);
        expect(world.condition('Ready')).toBe(`False ${reason}`);
        expect(message(world, 'Ready')).toContain(`${component}: pod web-${component}-new`);
        expect(message(world, 'Ready')).toEqual(expect.stringContaining(names));
        const isDown = component === 'api' && situation !== 'a scale-up';
        expect(world.condition('Serving')).toBe(isDown ? 'False Unavailable' : 'True Available');
        expect(world.condition('Progressing')).toBe('False Reconciling');
        expect(world.status.symptoms).toMatchObject([
          {
            component,
            reason,
            failureSource: {
              component,
              object: `web-${component}-new`,
              ...(exitCode === undefined ? {} : { exitCode }),
            },
          },
        ]);
        expect(symptomEvents(world, reason)).toMatchObject([{ type: 'Warning' }]);
        expect([world.status.activeRevision, world.status.failedRevision, world.status.rollout]).toEqual([
          activeRevision,
          undefined,
          undefined,
        ]);

        // Long after every limit, nothing fails and nothing is written again.
        world.now += 3_600_000;
        // Only a container that runs meanwhile no longer counts as failing.
        if (cause.includes('between')) await world.reconcileOnce();
        else expect(await world.reconcileOnce()).toEqual([]);
        expect(world.status.failedRevision).toBeUndefined();

        world.cluster.remove(`Pod/${NAMESPACE}/web-${component}-new`);
        await steps(world, 4);
        expect(world.condition('Ready')).toBe('True Converged');
        expect(world.status.symptoms).toBeUndefined();
        expect(symptomEvents(world, reason)).toHaveLength(1);
        expect(symptomEvents(world, 'Recovered')).toEqual([
          { type: 'Normal', reason: 'Recovered', message: `${component}: ${reason} is over` },
        ]);
        expect(world.status.activeRevision?.templates).toBe(activeRevision?.templates);
      },
    );
  });

  test.each(REFUSALS)('names $cause that rejects a part of a scale-up', async ({ reason, text }) => {
    const scene = await sceneOf(component);
    const { world } = scene;
    count(scene, 3, 1, text);
    await reconcileTimes(world);
    expect(world.condition('Ready')).toBe(`False ${reason}`);
    expect(message(world, 'Ready')).toBe(`${component}: ${text}`);
    expect(world.condition('Serving')).toBe('True Available');
    expect(symptomEvents(world, reason)).toMatchObject([{ type: 'Warning' }]);
    world.now += 3_600_000;
    expect(await world.reconcileOnce()).toEqual([]);
    expect(world.status.failedRevision).toBeUndefined();
    await steps(world, 3);
    expect(world.condition('Ready')).toBe('True Converged');
    expect(symptomEvents(world, 'Recovered')).toHaveLength(1);
  });

  describe.each(SITUATIONS)('after %s of a ReplicaSet with a hash', (situation) => {
    test.each(REFUSALS)('names $cause', async ({ reason, text }) => {
      const scene = await sceneOf(component);
      const { world } = scene;
      const old = `Pod/${NAMESPACE}/web-${component}-0`;
      world.cluster.edit(old, ({ metadata }) => {
        metadata.labels = { ...metadata.labels, 'pod-template-hash': '7d9f8' };
      });
      if (situation === 'a replaced pod') world.cluster.remove(old);
      if (situation === 'an evicted pod')
        world.cluster.edit(old, (pod) => {
          pod['status'] = { phase: 'Failed', reason: 'Evicted', message: 'low on memory' };
        });
      const refusal = text.replace('web-x', `web-${component}-7d9f8-abcde`);
      if (situation === 'a scale-up') count(scene, 2, 1, refusal);
      else count(scene, 1, 0, refusal);
      await reconcileTimes(world);
      expect(world.condition('Ready')).toBe(`False ${reason}`);
      expect(message(world, 'Ready')).toContain(refusal);
      expect(world.status.symptoms).toMatchObject([{ component, reason }]);
      expect(symptomEvents(world, reason)).toHaveLength(1);
    });
  });

  test.each(REFUSALS)(
    'names $cause that rejects the replacement of the only pod',
    async ({ reason, text }) => {
      const scene = await sceneOf(component);
      const { world } = scene;
      world.cluster.remove(`Pod/${NAMESPACE}/web-${component}-0`);
      count(scene, 1, 0, text);
      await reconcileTimes(world);
      expect(world.condition('Ready')).toBe(`False ${reason}`);
      world.now += 3_600_000;
      await world.reconcileOnce();
      expect(world.status.failedRevision).toBeUndefined();
    },
  );
});

describe('pods that nodes end repeatedly', () => {
  const endedPods = (scene: Scene, ends: readonly { reason?: string; minutesAgo?: number }[]) => {
    scene.world.cluster.remove(`Pod/${NAMESPACE}/web-api-0`);
    for (const [index, { reason, minutesAgo = 1 }] of ends.entries()) {
      const lastTransitionTime = at(scene.world, minutesAgo * 60);
      const conditions = [{ type: 'Ready', status: 'False', reason: 'PodFailed', lastTransitionTime }];
      const status = { phase: 'Failed', reason, message: 'as the kubelet says', conditions };
      putPod(scene, `web-api-ended-${index}`, status);
    }
    putPod(scene, 'web-api-new', waiting('ContainerCreating'));
    count(scene, 1, 0);
  };

  test.each([
    'Evicted',
    'OutOfcpu',
    'OutOfmemory',
    'OutOfpods',
    'UnexpectedAdmissionError',
    'NodeAffinity',
    'TopologyAffinityError',
  ])('are one symptom with the message of the kubelet for the reason %s', async (reason) => {
    const scene = await sceneOf('api');
    const { world } = scene;
    endedPods(scene, [{ reason }, { reason }, { reason }]);
    await reconcileTimes(world);
    expect(world.condition('Ready')).toBe('False Unschedulable');
    expect(message(world, 'Ready')).toContain(`${reason}: as the kubelet says`);
    expect(world.status.symptoms).toMatchObject([{ component: 'api', reason: 'Unschedulable' }]);
    expect(symptomEvents(world, 'Unschedulable')).toHaveLength(1);
    expect(world.status.failedRevision).toBeUndefined();
    await steps(world, 4);
    expect(world.condition('Ready')).toBe('True Converged');
    expect(world.status.symptoms).toBeUndefined();
  });

  test.each([
    ['there is only one', [{ reason: 'Evicted' }]],
    ['one is recent and one is old', [{ reason: 'Evicted' }, { reason: 'Evicted', minutesAgo: 11 }]],
    ['the node shuts down', [{ reason: 'Terminated' }, { reason: 'Terminated' }]],
    ['they have no reason', [{}, {}]],
  ])('are no symptom when %s', async (_, ends) => {
    const scene = await sceneOf('api');
    endedPods(scene, ends);
    await reconcileTimes(scene.world);
    expect(scene.world.condition('Ready')).toBe('False Reconciling');
    expect(scene.world.status.symptoms).toBeUndefined();
  });

  const READY = {
    phase: 'Running',
    conditions: [{ type: 'Ready', status: 'True' }],
    containerStatuses: [{ name: 'app', ready: true, state: { running: {} } }],
  };
  const MIGRATE = { name: 'migrate', image: 'web:1', restartPolicy: 'Never' };
  const ENDS: [string, string, (time: string) => object][] = [
    ['evicted by its node', 'Unschedulable', () => ({ reason: 'Evicted', message: 'low on memory' })],
    [
      'ended by an init container that is not started again',
      'CrashLoop',
      () => ({
        initContainerStatuses: [{ name: 'migrate', ready: false, restartCount: 0, state: ended(3) }],
      }),
    ],
  ];
  /** Pods become ready and end, one after the other. @returns the number of the last one, which is ready */
  const rounds = async (scene: Scene, times: number, how: (time: string) => object): Promise<number> => {
    const { world } = scene;
    world.cluster.remove(`Pod/${NAMESPACE}/web-api-0`);
    for (let round = 0; round <= times; round += 1) {
      const name = `web-api-r${round}`;
      putPod(scene, name, waiting('ContainerCreating'), undefined, at(world, 0));
      count(scene, 1, 0);
      await reconcileTimes(world, 2);
      putPod(scene, name, READY);
      count(scene, 1, 1);
      await reconcileTimes(world, 2);
      if (round === times) return round;
      world.now += 30_000;
      const lastTransitionTime = at(world, 0);
      const conditions = [{ type: 'Ready', status: 'False', reason: 'PodFailed', lastTransitionTime }];
      putPod(scene, name, { phase: 'Failed', conditions, ...how(lastTransitionTime) });
      count(scene, 1, 0);
      await reconcileTimes(world, 1);
    }
    return times;
  };
  const endless = async () => {
    const podTemplate = { initContainers: [MIGRATE] };
    const world = await settled(revised('web:1', 1, { ...SPEC, podTemplate }));
    world.events.splice(0);
    return { world, component: 'api' };
  };

  test.each(ENDS)('cause one warning when each is ready in between (%s)', async (_, reason, how) => {
    const scene = await endless();
    const { world } = scene;
    await rounds(scene, 8, how);
    expect(symptomEvents(world, reason)).toHaveLength(1);
    expect(symptomEvents(world, 'Recovered')).toEqual([]);
    expect(world.condition('Ready')).toBe('True Converged');
    expect(world.status.symptoms).toMatchObject([{ reason, lastObservedTime: expect.any(String) }]);
    const outcome = await world.reconcile();
    expect(outcome).toMatchObject({ kind: 'requeue' });
    expect(await world.reconcileOnce()).toEqual([]);
    world.now += 600_000;
    await reconcileTimes(world, 1);
    expect(world.status.symptoms).toBeUndefined();
    expect(symptomEvents(world, 'Recovered')).toHaveLength(1);
    expect(await world.reconcile()).toEqual({ kind: 'settled' });
  });

  test.each(ENDS)('are no symptom of a pod that starts for a later scale-up (%s)', async (_, reason, how) => {
    const scene = await endless();
    const { world } = scene;
    await rounds(scene, 3, how);
    world.now += 60_000;
    putPod(scene, 'web-api-more', waiting('ContainerCreating'), undefined, at(world, 0));
    count(scene, 2, 1);
    await reconcileTimes(world);
    expect(world.condition('Ready')).toBe('False Reconciling');
    expect(symptomEvents(world, reason)).toHaveLength(1);
  });

  test('are a symptom while their replacement starts and other pods stay ready', async () => {
    const scene = await sceneOf('api');
    const { world } = scene;
    world.cluster.remove(`Pod/${NAMESPACE}/web-api-0`);
    putPod(scene, 'web-api-0', READY, undefined, at(world, 3600));
    for (const name of ['web-api-a', 'web-api-b']) {
      const conditions = [{ type: 'Ready', status: 'False', lastTransitionTime: at(world, 60) }];
      const status = { phase: 'Failed', reason: 'Evicted', message: 'low on memory', conditions };
      putPod(scene, name, status, undefined, at(world, 120));
    }
    putPod(scene, 'web-api-c', waiting('ContainerCreating'));
    count(scene, 2, 1);
    await reconcileTimes(world);
    expect(world.condition('Ready')).toBe('False Unschedulable');
  });

  test('are no symptom once the component has all its pods', async () => {
    const scene = await sceneOf('api');
    endedPods(scene, [{ reason: 'Evicted' }, { reason: 'Evicted' }]);
    scene.world.cluster.remove(`Pod/${NAMESPACE}/web-api-new`);
    await steps(scene.world, 4);
    expect(scene.world.condition('Ready')).toBe('True Converged');
    expect(scene.world.status.symptoms).toBeUndefined();
  });
});

describe('a container that fails repeatedly', () => {
  const phase = (world: World, name: 'down' | 'up' | 'back-off', restarts: number) => {
    const lastState = { terminated: { exitCode: 1, reason: 'Error' } };
    const states = {
      down: { state: lastState, ready: false },
      up: { state: { running: { startedAt: at(world, 0) } }, ready: true },
      'back-off': { state: { waiting: { reason: 'CrashLoopBackOff' } }, ready: false },
    };
    const { state, ready } = states[name];
    return {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
      containerStatuses: [
        { name: 'app', ready: true, state: { running: {} } },
        { name: 'log', ready, restartCount: restarts, state, ...(name === 'down' ? {} : { lastState }) },
      ],
    };
  };
  const show = async (scene: Scene, name: 'down' | 'up' | 'back-off', restarts: number) => {
    putPod(scene, 'web-api-0', phase(scene.world, name, restarts));
    count(scene, 1, name === 'up' ? 1 : 0);
    await reconcileTimes(scene.world, 2);
  };

  test('causes one warning when it is ready in between, and recovers after it has run long enough', async () => {
    const scene = await sceneOf('api');
    const { world } = scene;
    for (let restarts = 2; restarts < 8; restarts += 1) {
      await show(scene, 'down', restarts);
      await show(scene, 'back-off', restarts);
      expect(world.condition('Ready')).toBe('False CrashLoop');
      await show(scene, 'up', restarts + 1);
      // Ready reports the current state.
      expect(world.condition('Ready')).toBe('True Converged');
      expect(world.status.symptoms).toMatchObject([
        { reason: 'CrashLoop', lastObservedTime: expect.any(String) },
      ]);
      world.now += 20_000;
    }
    expect(symptomEvents(world, 'CrashLoop')).toHaveLength(1);
    expect(symptomEvents(world, 'Recovered')).toEqual([]);
    const outcome = await world.reconcile();
    expect(outcome).toMatchObject({ kind: 'requeue' });
    expect(await world.reconcileOnce()).toEqual([]);
    world.now += 600_000;
    await reconcileTimes(world, 1);
    expect(world.status.symptoms).toBeUndefined();
    expect(symptomEvents(world, 'Recovered')).toHaveLength(1);
    expect(await world.reconcile()).toEqual({ kind: 'settled' });
  });

  test('is recorded even if its pod was always observed ready', async () => {
    const scene = await sceneOf('api');
    await show(scene, 'up', 1);
    expect(scene.world.status.symptoms).toBeUndefined();
    await show(scene, 'up', 3);
    expect(scene.world.status.symptoms).toMatchObject([
      { reason: 'CrashLoop', failureSource: { container: 'log', containerKind: 'sidecar', exitCode: 1 } },
    ]);
    expect(scene.world.condition('Ready')).toBe('True Converged');
  });
});

test('records two symptoms for two causes, and Ready names both', async () => {
  const scene = await sceneOf('api');
  const { world } = scene;
  putPod(scene, 'web-api-a', waiting('ImagePullBackOff', 'not found'));
  putPod(scene, 'web-api-b', waiting('CrashLoopBackOff', '', { restartCount: 4, lastState: ended(1) }));
  count(scene, 3, 1);
  await reconcileTimes(world);
  expect(world.status.symptoms?.map(({ reason }) => reason).sort()).toEqual(['CrashLoop', 'ImagePullFailed']);
  expect(message(world, 'Ready')).toMatch(/web-api-a.*; also .*web-api-b|web-api-b.*; also .*web-api-a/);
  world.cluster.remove(`Pod/${NAMESPACE}/web-api-a`);
  await reconcileTimes(world);
  expect(world.condition('Ready')).toBe('False CrashLoop');
});

test('names the pods of the active revision after a rollback, then the failed revision again', async () => {
  const world = await settled(revised('web:1', 1, SPEC));
  world.change(revised('web:2', 2, SPEC));
  world.cluster.stuck.set('api', 'InvalidImageName');
  await steps(world, 2);
  world.cluster.stuck.clear();
  await world.converge();
  expect(world.condition('Ready')).toBe('False InvalidImageName');
  world.events.splice(0);
  const scene = { world, component: 'api' };
  putPod(scene, 'web-api-new', waiting('CrashLoopBackOff', '', { restartCount: 4, lastState: ended(1) }));
  count(scene, 2, 1);
  await reconcileTimes(world);
  expect(world.condition('Ready')).toBe('False CrashLoop');
  expect(world.status).toMatchObject({ activeRevision: { number: 1 }, failedRevision: { number: 2 } });
  world.cluster.remove(`Pod/${NAMESPACE}/web-api-new`);
  await steps(world, 3);
  expect(world.condition('Ready')).toBe('False InvalidImageName');
  expect(world.events.map(({ reason }) => reason)).toEqual(['CrashLoop', 'Recovered']);
});

test('a rollout drops the symptoms of the pods that it replaces without reporting a recovery', async () => {
  const scene = await sceneOf('api');
  const { world } = scene;
  putPod(scene, 'web-api-new', waiting('CrashLoopBackOff', '', { restartCount: 4, lastState: ended(1) }));
  count(scene, 2, 1);
  await reconcileTimes(world);
  world.change(revised('web:2', 2, SPEC));
  await world.converge();
  expect(world.condition('Ready')).toBe('True Converged');
  expect(world.status.symptoms).toBeUndefined();
  expect(symptomEvents(world, 'Recovered')).toEqual([]);
});

describe('a database that was ready', () => {
  const databasePod = (world: World, more: object) =>
    world.cluster.edit(`Pod/${NAMESPACE}/web-db-0`, (pod) => Object.assign(pod, more));
  const unready = (world: World) =>
    world.cluster.edit(`StatefulSet/${NAMESPACE}/web-db`, (object) => {
      Object.assign(object['status'] as object, { readyReplicas: 0, availableReplicas: 0 });
    });

  test('is named and recorded once when it fails, and recovers', async () => {
    const world = await settled(revised('web:1', 1));
    world.events.splice(0);
    const status = waiting('CrashLoopBackOff', '', {
      name: 'database',
      restartCount: 4,
      lastState: ended(137, 'OOMKilled'),
    });
    databasePod(world, { status });
    unready(world);
    await reconcileTimes(world);
    expect([world.condition('Ready'), world.condition('DatabaseReady'), world.condition('Serving')]).toEqual([
      'False CrashLoop',
      'False DatabaseUnavailable',
      'True Available',
    ]);
    expect(world.status.symptoms).toMatchObject([
      { component: 'database', reason: 'CrashLoop', failureSource: { object: 'web-db-0', exitCode: 137 } },
    ]);
    expect(symptomEvents(world, 'CrashLoop')).toHaveLength(1);
    await steps(world, 3);
    expect(world.status.symptoms).toBeUndefined();
    expect(symptomEvents(world, 'Recovered')).toHaveLength(1);
  });

  test('is named when its pod cannot end because its node is lost', async () => {
    const world = await settled(revised('web:1', 1));
    const labels = world.cluster.get(`Pod/${NAMESPACE}/web-db-0`)?.metadata.labels ?? {};
    expect(labels[LABELS.component]).toBe('database');
    databasePod(world, {
      lostNode: 'node-1',
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] },
    });
    world.cluster.edit(`Pod/${NAMESPACE}/web-db-0`, ({ metadata }) => {
      metadata.deletionTimestamp = at(world, 1);
    });
    unready(world);
    await reconcileTimes(world);
    expect(world.condition('Ready')).toBe('False NodeLost');
    expect(message(world, 'Ready')).toContain(
      'node node-1 is not ready; the pod is being deleted; it ends when the node is ready again or is removed',
    );
  });
});

test('records no symptoms and no recovery while the deployment is suspended', async () => {
  const scene = await sceneOf('api');
  const { world } = scene;
  putPod(scene, 'web-api-new', waiting('ImagePullBackOff', 'not found'));
  count(scene, 2, 1);
  await reconcileTimes(world);
  expect(world.status.symptoms).toHaveLength(1);
  world.change(revised('web:1', 1, { ...SPEC, suspend: true }));
  await world.converge();
  expect(world.status.symptoms).toBeUndefined();
  expect(symptomEvents(world, 'Recovered')).toEqual([]);
});
