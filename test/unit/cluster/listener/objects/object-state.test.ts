import { expect, test } from 'vitest';
import type { KubeObject } from '../../../../../src/cluster/kube/client/object.ts';
import {
  clusterObject,
  manifestOf,
  objectEvents,
} from '../../../../../src/cluster/listener/objects/cluster-object.ts';
import { judge } from '../../../../../src/cluster/listener/objects/object-state.ts';
import { amountsOf } from '../../../../../src/cluster/listener/objects/pod-view.ts';
import { secretsOf } from '../../../../../src/cluster/listener/objects/secret-names.ts';
import { LABELS } from '../../../../../src/contract/resource/names.ts';
import {
  clusterObjectSchema,
  MAX_OBJECT_MESSAGE,
  objectEventSchema,
  type ReadKind,
} from '../../../../../src/domain/core/object-map.ts';

const REVISION = '01890000-0000-7000-8000-00000000beef';

const object = (kind: string, fields: object, metadata: object = {}) =>
  ({
    apiVersion: 'v1',
    kind,
    metadata: { name: 'o', generation: 2, ...metadata },
    ...fields,
  }) as KubeObject & {
    kind: ReadKind;
  };

const workload = (kind: string, replicas: number, status: object) =>
  object(kind, { spec: { replicas }, status: { observedGeneration: 2, ...status } });
const failed = (type: string, status: string) => ({
  conditions: [{ type, status, message: 'exceeded quota' }],
});
const pod = (status: object) =>
  object('Pod', { spec: { containers: [{ name: 'app', image: 'i' }] }, status });
const container = (state: object, more: object = {}) => ({
  containerStatuses: [{ name: 'app', restartCount: 2, state, ...more }],
});
const ready = (status: string, message?: string) => ({ type: 'Ready', status, message });

test.each([
  [workload('Deployment', 2, { readyReplicas: 2, updatedReplicas: 2, replicas: 2 }), 'ready', '2 of 2'],
  [workload('Deployment', 2, { readyReplicas: 2, updatedReplicas: 1, replicas: 3 }), 'progressing', '2 of 2'],
  [
    workload('Deployment', 1, { observedGeneration: 1, readyReplicas: 1, updatedReplicas: 1 }),
    'progressing',
    '1',
  ],
  [workload('Deployment', 0, {}), 'inactive', 'Scaled to 0'],
  [workload('Deployment', 1, failed('Progressing', 'False')), 'failed', 'exceeded quota'],
  [workload('ReplicaSet', 1, failed('ReplicaFailure', 'True')), 'failed', 'exceeded quota'],
  [
    workload('StatefulSet', 1, { readyReplicas: 1, currentRevision: 'a', updateRevision: 'b' }),
    'progressing',
    '1 of 1',
  ],
  [pod({ conditions: [ready('True')] }), 'ready', null],
  [pod(container({ waiting: { reason: 'ContainerCreating' } })), 'progressing', null],
  [
    pod(container({ waiting: { reason: 'ErrImagePull', message: 'no such image' } })),
    'failed',
    'no such image',
  ],
  [
    pod(
      container(
        { waiting: { reason: 'CrashLoopBackOff' } },
        { lastState: { terminated: { message: 'boom' } } },
      ),
    ),
    'failed',
    'CrashLoopBackOff: boom',
  ],
  [pod(container({ terminated: { exitCode: 0 } })), 'failed', 'exit code 0'],
  [pod({ conditions: [{ type: 'PodScheduled', status: 'False', message: 'no node' }] }), 'failed', 'no node'],
  [pod({ phase: 'Failed', reason: 'Evicted', message: 'low on memory' }), 'failed', 'Evicted: low on memory'],
  [pod({ phase: 'Succeeded' }), 'inactive', null],
  [
    object('PersistentVolumeClaim', { status: { phase: 'Bound', capacity: { storage: '1Gi' } } }),
    'ready',
    '1Gi',
  ],
  [object('PersistentVolumeClaim', { status: { phase: 'Pending' } }), 'progressing', 'no volume'],
  [object('PersistentVolumeClaim', { status: { phase: 'Lost' } }), 'failed', 'no longer exists'],
  [object('Service', { spec: { type: 'ClusterIP', ports: [{ port: 8000 }] } }), 'ready', '8000'],
  [object('Ingress', { spec: { rules: [{ host: 'a.b' }] } }), 'unknown', 'a.b'],
  [object('Ingress', { status: { loadBalancer: { ingress: [{ ip: '::1' }] } } }), 'ready', null],
  [
    object('HTTPRoute', { status: { parents: [{ conditions: [{ type: 'Accepted', status: 'True' }] }] } }),
    'ready',
    null,
  ],
  [
    object('HTTPRoute', { status: { parents: [{ conditions: [ready('False', 'no host')] }] } }),
    'failed',
    'no host',
  ],
  [
    object('HorizontalPodAutoscaler', { status: failed('ScalingActive', 'False') }),
    'failed',
    'exceeded quota',
  ],
  [object('HorizontalPodAutoscaler', { spec: { minReplicas: 2, maxReplicas: 4 } }), 'ready', '2 to 4'],
  [
    object('PodDisruptionBudget', { status: { currentHealthy: 0, desiredHealthy: 1 } }),
    'progressing',
    '1 needed',
  ],
  [object('ServiceAccount', {}), 'ready', null],
  [object('ManagedDeployment', {}), 'unknown', null],
  [object('ManagedDeployment', { status: { conditions: [ready('True', 'serves')] } }), 'ready', 'serves'],
  [
    object('ManagedDeployment', { status: { suspended: true, conditions: [ready('False')] } }),
    'inactive',
    null,
  ],
  [
    object('ManagedDeployment', {
      status: { conditions: [ready('False', 'failed'), { type: 'Stalled', status: 'True' }] },
    }),
    'failed',
    'failed',
  ],
  [object('Service', {}, { deletionTimestamp: '2026-11-30T00:00:00Z' }), 'terminating', ''],
])('judges $kind as %s', (of, state, message) => {
  const judgement = judge(of.kind, of);
  expect(judgement.state).toBe(state);
  if (message === null) expect(judgement.message).toBeNull();
  else expect(judgement.message).toContain(message);
});

test('shows the containers of a pod with amounts and usage', () => {
  const resources = { requests: { cpu: '250m', memory: '64Mi' }, limits: { memory: '1Gi' } };
  const of = object(
    'Pod',
    {
      spec: {
        nodeName: 'n',
        initContainers: [{ name: 'prepare' }],
        containers: [{ name: 'app', image: 'i', resources }],
      },
      status: { phase: 'Running', ...container({ running: { startedAt: '2026-11-30T00:00:00Z' } }) },
    },
    {
      labels: { [LABELS.component]: 'api', [LABELS.revisionId]: REVISION },
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'rs', uid: 'u', controller: true },
      ],
    },
  );
  const usage = new Map([['o', new Map([['app', amountsOf({ cpu: '12345678n', memory: '2048Ki' })]])]]);
  const shown = clusterObject('Pod', of, usage);
  expect(clusterObjectSchema.parse(shown)).toEqual(shown);
  expect(shown).toMatchObject({
    owner: { kind: 'ReplicaSet', name: 'rs' },
    component: 'api',
    revision_id: REVISION,
  });
  expect(shown.pod).toMatchObject({
    node: 'n',
    containers: [
      { name: 'prepare', init: true, state: 'unknown' },
      {
        name: 'app',
        state: 'running',
        restarts: 2,
        requests: { cpu: 0.25, memory_mb: 64 },
        limits: { memory_mb: 1024 },
        usage: { cpu: 0.012, memory_mb: 2 },
      },
    ],
  });
  expect(clusterObject('Pod', of).pod?.containers[1]).not.toHaveProperty('usage');
});

test('names the Secrets of pod templates, each once, and reads nothing of them', () => {
  const spec = {
    initContainers: [{ envFrom: [{ secretRef: { name: 'env' } }] }],
    containers: [{ env: [{ valueFrom: { secretKeyRef: { name: 'key' } } }, { value: 'x' }] }],
    volumes: [
      { secret: { secretName: 'files' } },
      { projected: { sources: [{ secret: { name: 'part' } }, {}] } },
    ],
    imagePullSecrets: [{ name: 'pull' }, { name: 'env' }],
  };
  const user = object('Deployment', { spec: { template: { spec } } });
  expect(secretsOf([user, object('StatefulSet', {})])).toEqual(
    ['env', 'files', 'key', 'part', 'pull'].map((name) => ({ name, user })),
  );
});

test('limits texts and numbers, and marks where a text was cut', () => {
  const long = pod(container({ waiting: { reason: 'X', message: '\ud83d'.repeat(5_000) } }));
  const shown = clusterObject('Pod', long);
  expect(clusterObjectSchema.parse(shown)).toEqual(shown);
  expect(shown.message).toHaveLength(MAX_OBJECT_MESSAGE);
  expect(shown.message?.at(-1)).toBe('…');
});

test('leaves managedFields and copies of the object out of a manifest, and omits one that is too large', () => {
  const copy = { 'kubectl.kubernetes.io/last-applied-configuration': '{}' };
  const of = object('Service', { spec: { type: 'ClusterIP' } }, { managedFields: [{}], annotations: copy });
  expect(JSON.parse(manifestOf(of as never) ?? '')).toEqual({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'o', generation: 2 },
    spec: { type: 'ClusterIP' },
  });
  expect(manifestOf(object('Service', { spec: 'x'.repeat(300_000) }) as never)).toBeNull();
});

test('sorts events by their last time, in both forms of the API', () => {
  const at = (second: number) => `2026-11-30T00:00:0${second}Z`;
  const event = (fields: object) => object('Event', fields) as never;
  const events = objectEvents([
    event({
      type: 'Normal',
      reason: 'Pulled',
      message: 'm',
      count: 3,
      firstTimestamp: at(1),
      lastTimestamp: at(2),
    }),
    event({
      type: 'Warning',
      eventTime: at(1),
      series: { count: 9, lastObservedTime: at(5) },
      reportingComponent: 'k',
    }),
    event({}),
  ]);
  expect(events.map((each) => objectEventSchema.parse(each))).toEqual(events);
  expect(events).toMatchObject([
    { type: 'Warning', count: 9, first_at: at(1), last_at: at(5), source: 'k' },
    { reason: 'Pulled', count: 3, first_at: at(1), last_at: at(2) },
    { count: 1, first_at: null, source: 'unknown' },
  ]);
});
