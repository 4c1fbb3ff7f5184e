/** A new pod that waits for the volume of the old one. */
import { describe, expect, test } from 'vitest';
import { componentsThatYield } from '../../../../../src/cluster/operator/access/exclusive-volumes.ts';
import { childId, type Observed, type ObservedPod } from '../../../../../src/cluster/operator/observed.ts';
import type { Target } from '../../../../../src/cluster/operator/rollout/target.ts';
import { managedDeploymentSpecSchema } from '../../../../../src/contract/resource/managed-deployment.ts';
import { LABELS } from '../../../../../src/contract/resource/names.ts';
import { componentDeployment } from '../../../../../src/workloads/components.ts';
import { CONFIG, resource } from '../fixtures.ts';

const ONE_POD =
  '0/2 nodes are available: 2 node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode. preemption: 0/2 nodes are available';
const OTHER_NODE = 'Multi-Attach error for volume "pvc-1" Volume is already used by pod(s) web-api-old';

const templateOf = (hash: string, claims: readonly string[]) => ({
  metadata: { labels: { [LABELS.component]: 'api', hash } },
  spec: {
    containers: [{ name: 'app', image: 'web:2' }],
    volumes: [
      { name: 'cache', emptyDir: {} },
      ...claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
    ],
  },
});
const template = templateOf('new', ['data']);
const pod = (name: string, labels: object, status: object = {}): ObservedPod =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, uid: name, namespace: 'shop', labels: { [LABELS.component]: 'api', ...labels } },
    status: { phase: 'Running', ...status },
  }) as ObservedPod;
const old = pod('web-api-old', { hash: 'old' });
const unschedulable = (text: string) =>
  pod(
    'web-api-new',
    { hash: 'new' },
    {
      phase: 'Pending',
      conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: text }],
    },
  );
const starting = pod(
  'web-api-new',
  { hash: 'new' },
  {
    phase: 'Pending',
    containerStatuses: [{ name: 'app', state: { waiting: { reason: 'ContainerCreating' } } }],
  },
);

interface Scene {
  readonly replicas?: number;
  readonly event?: string;
  readonly yielding?: boolean;
  /** Claims that the old pods mount. */
  readonly formerClaims?: readonly string[];
  readonly isStored?: boolean;
}

function seen(
  pods: ObservedPod[],
  { replicas = 1, event = '', yielding = false, formerClaims = ['data'], isStored = true }: Scene,
): [Observed, Target] {
  const unreadable = () => {
    throw new Error('not templates');
  };
  const former = { templates: () => ({ api: templateOf('old', formerClaims) }) };
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web-api', namespace: 'shop', generation: 1 },
    spec: {
      replicas,
      template,
      strategy: { rollingUpdate: yielding ? { maxUnavailable: 1 } : { maxUnavailable: 0 } },
    },
    status: { observedGeneration: 1 },
  };
  const observed = {
    resource: resource({ revision: { image: 'web:2' } }),
    children: new Map([[childId('Deployment', 'web-api'), deployment]]),
    pods,
    storedTemplates: [
      { templates: unreadable },
      { templates: () => ({ api: template }) },
      ...(isStored ? [former] : []),
    ],
    sentinels: [],
    warnings: new Map(
      event === '' ? [] : [['web-api-new', { reason: 'FailedAttachVolume', message: event }]],
    ),
  } as unknown as Observed;
  return [observed, { templates: { api: template } } as unknown as Target];
}

describe('an old pod', () => {
  test.each<[string, ObservedPod[], Scene, boolean]>([
    ['ends first for a volume that allows one pod', [old, unschedulable(ONE_POD)], {}, true],
    [
      'ends first while it is already ending',
      [{ ...old, metadata: { ...old.metadata, deletionTimestamp: 'x' } }, unschedulable(ONE_POD)],
      {},
      true,
    ],
    ['ends first for a volume on another node', [old, starting], { event: OTHER_NODE }, true],
    [
      'ends first for a volume that is attached elsewhere',
      [old, starting],
      {
        event:
          'Multi-Attach error for volume "pvc-1" Volume is already exclusively attached to one node and can\'t be attached to another',
      },
      true,
    ],
    [
      'ends first for one of several claims that both pods mount',
      [old, unschedulable(ONE_POD)],
      { formerClaims: ['other', 'data'] },
      true,
    ],
    [
      'does not end first when it mounts no claim',
      [old, unschedulable(ONE_POD)],
      { formerClaims: [] },
      false,
    ],
    [
      'does not end first when it mounts another claim',
      [old, unschedulable(ONE_POD)],
      { formerClaims: ['other'] },
      false,
    ],
    [
      'does not end first when it mounts another claim and the volume is on another node',
      [old, starting],
      { event: 'Multi-Attach error for volume "pvc-1"', formerClaims: ['other'] },
      false,
    ],
    [
      'does not end first when its template is unknown',
      [old, unschedulable(ONE_POD)],
      { isStored: false },
      false,
    ],
    [
      'does not end first when another pod uses the volume',
      [old, starting],
      { event: `${OTHER_NODE}, foreign-1` },
      false,
    ],
    [
      'does not end first when pods of another namespace use the volume',
      [old, starting],
      {
        event:
          'Multi-Attach error for volume "pvc-1" Volume is already used by 1 pod(s) in different namespaces',
      },
      false,
    ],
    ['does not end first when it does not exist', [unschedulable(ONE_POD)], {}, false],
    ['ends first until the new pod is scheduled', [unschedulable(ONE_POD)], { yielding: true }, true],
    ['does not end first once the new pod is scheduled', [starting], { yielding: true }, false],
    [
      'does not end first once it has ended',
      [{ ...old, status: { phase: 'Failed' } }, unschedulable(ONE_POD)],
      {},
      false,
    ],
    [
      'does not end first when it is one of several and the others keep the volume',
      [old, unschedulable(ONE_POD)],
      { replicas: 2 },
      false,
    ],
    [
      'does not end first when another component uses the same volume',
      [old, pod('web-queue', { [LABELS.component]: 'queue' }), unschedulable(ONE_POD)],
      {},
      false,
    ],
    [
      'ends first even if there are pods of the database',
      [old, pod('web-db-0', { [LABELS.component]: 'database' }), unschedulable(ONE_POD)],
      {},
      true,
    ],
    [
      'does not end first when nodes lack resources',
      [old, unschedulable('0/1 nodes are available: 1 Insufficient cpu.')],
      {},
      false,
    ],
    ['does not end first while the new pod is starting', [old, starting], {}, false],
  ])('%s', (_, pods, more, yields) => {
    expect([...componentsThatYield(...seen(pods, more))]).toEqual(yields ? ['api'] : []);
  });
});

test('a Deployment surges no pod while the old pod ends first, and otherwise removes no pod early', () => {
  const managed = resource({ revision: { image: 'web:2' } }) as never;
  const strategy = (yields: boolean) =>
    (componentDeployment(managed, 'api', template, CONFIG, yields)['spec'] as { strategy: unknown }).strategy;
  expect([strategy(false), strategy(true)]).toEqual([
    { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: 0 } },
    { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
  ]);
  expect(managedDeploymentSpecSchema.safeParse({ revision: {} }).success).toBe(true);
});
