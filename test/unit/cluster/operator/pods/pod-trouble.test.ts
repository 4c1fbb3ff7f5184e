import { describe, expect, test } from 'vitest';
import type { UntypedObject } from '../../../../../src/cluster/kube/client/object.ts';
import { transformPod } from '../../../../../src/cluster/operator/observe/cached-fields.ts';
import type { Observed, ObservedPod } from '../../../../../src/cluster/operator/observed.ts';
import { podTrouble, troublesOf } from '../../../../../src/cluster/operator/pods/pod-trouble.ts';
import { ANNOTATIONS } from '../../../../../src/contract/resource/names.ts';

function pod(status: object): ObservedPod {
  return transformPod({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web-1' },
    spec: { nodeName: 'node-1', containers: [] },
    status,
  } as UntypedObject);
}

const waiting = (name: string, reason: string, message?: string) => ({
  name,
  ready: false,
  state: { waiting: { reason, message } },
});
const unready = {
  type: 'Ready',
  status: 'False',
  reason: 'ContainersNotReady',
  message: 'containers with unready status: [app]',
};

describe('the message for a pod that is not ready', () => {
  const TABLE: [string, object, string][] = [
    [
      'a node that is not ready',
      {
        phase: 'Running',
        conditions: [{ type: 'Ready', status: 'False' }],
        containerStatuses: [{ name: 'app', ready: true, state: { running: {} } }],
      },
      'pod web-1: NodeNotReady: node node-1 is not ready',
    ],
    [
      'the scheduler’s reason',
      {
        conditions: [
          { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/4 nodes' },
        ],
      },
      'pod web-1: Unschedulable: 0/4 nodes',
    ],
    [
      'an image that cannot be pulled',
      { containerStatuses: [waiting('app', 'ImagePullBackOff', 'not found')] },
      'pod web-1, container app: ImagePullBackOff: not found',
    ],
    [
      'a failed init container first',
      {
        initContainerStatuses: [
          { name: 'migrate', state: { terminated: { exitCode: 3, reason: 'Error', message: 'password=x' } } },
        ],
        containerStatuses: [waiting('app', 'PodInitializing')],
      },
      'pod web-1, container migrate (init): Error: exit code 3',
    ],
    [
      'the exit code of a crash loop',
      {
        containerStatuses: [
          {
            ...waiting('app', 'CrashLoopBackOff', 'back-off 10s'),
            restartCount: 4,
            lastState: { terminated: { exitCode: 1 } },
          },
        ],
      },
      'pod web-1, container app: CrashLoopBackOff: exit code 1',
    ],
    [
      'a repeated lack of memory',
      {
        containerStatuses: [
          {
            ...waiting('app', 'CrashLoopBackOff'),
            lastState: { terminated: { exitCode: 137, reason: 'OOMKilled' } },
          },
        ],
      },
      'pod web-1, container app: CrashLoopBackOff: exit code 137 (OOMKilled)',
    ],
    [
      'the reason of an eviction',
      { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' },
      'pod web-1: Evicted: The node was low on resource: memory.',
    ],
    [
      'a container that is not ready',
      { conditions: [unready], containerStatuses: [{ name: 'app', ready: false, state: { running: {} } }] },
      'pod web-1: ContainersNotReady: containers with unready status: [app]',
    ],
    ['only the phase when nothing else is known', { phase: 'Pending' }, 'pod web-1: Pending'],
    [
      'only the phase when an init container has succeeded',
      {
        phase: 'Running',
        initContainerStatuses: [{ name: 'migrate', state: { terminated: { exitCode: 0 } } }],
      },
      'pod web-1: Running',
    ],
  ];
  test.each(TABLE)('names %s', (_, status, message) => {
    expect(podTrouble(pod(status)).message).toBe(message);
  });
});

describe('the termination message of a container', () => {
  const said = (message: string) =>
    podTrouble(
      pod({
        containerStatuses: [
          { ...waiting('app', 'CrashLoopBackOff'), lastState: { terminated: { exitCode: 1, message } } },
        ],
      }),
    ).detail;
  test.each([
    ['no such table: users', 'no such table: users'],
    ['connect postgres://app:s3cret@db:5432 failed', 'connect postgres://***@db:5432 failed'],
    ['bad DB_PASSWORD=s3cret given', 'bad DB_PASSWORD=*** given'],
    ['{"api_key": "s3cret"}', '{"api_key": "***"}'],
    ['Authorization: Bearer s3cret', 'Authorization: Bearer ***'],
  ])('is shown without credentials: %s', (message, detail) => {
    expect(said(message)).toBe(detail);
  });
});

describe('the answer of a health check of a pod with references to Secrets', () => {
  const troubles = (message: string, annotations: Record<string, string>) => {
    const observed = transformPod({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web-1', uid: 'u', annotations },
      status: {
        phase: 'Running',
        conditions: [unready],
        containerStatuses: [{ name: 'app', ready: false, state: { running: {} } }],
      },
    } as UntypedObject);
    const warnings = new Map([['u', { reason: 'Unhealthy', message, checks: [{ message, at: 0 }] }]]);
    return JSON.stringify(troublesOf({ warnings } as unknown as Observed, observed));
  };
  const uses = { [ANNOTATIONS.secretReferences]: '0'.repeat(32) };

  test.each([
    'Readiness probe failed: HTTP probe failed with statuscode: 500',
    'Readiness probe failed: dial tcp 10.0.0.1:80: connect: connection refused',
  ])('is shown when the kubelet wrote it: %s', (message) =>
    expect(troubles(message, uses)).toContain(message),
  );

  test.each([
    'Readiness probe failed: cannot log in with printed-value',
    '(combined from similar events): Readiness probe failed: cannot log in with printed-value',
  ])('is not shown when a command in the container printed it: %s', (message) => {
    expect(troubles(message, {})).toContain('printed-value');
    expect(troubles(message, uses)).not.toContain('printed-value');
    expect(troubles(message, uses)).toContain('Readiness probe failed');
  });
});
