import { describe, expect, test } from 'vitest';
import {
  DEFAULT_PATIENCE,
  FAILURE_RULES,
} from '../../../../../src/cluster/operator/rollout/failure-rules.ts';
import { judgeRollout } from '../../../../../src/cluster/operator/rollout/judge-rollout.ts';
import type { Symptom } from '../../../../../src/cluster/operator/rollout/symptoms.ts';
import { REVISION_TRANSITIONS } from '../../../../../src/domain/revision/states.ts';

const START = Date.parse('2026-01-01T00:00:00Z');
const PATIENCE = { ...DEFAULT_PATIENCE, deadlineMs: 600_000 };
const DEADLINE = 600;

function symptom(reason: string, more: Partial<Symptom> = {}): Symptom {
  const message = `api: pod web-1, container app: ${reason}`;
  const failureSource = { component: 'api', kind: 'Pod', object: 'web-1', container: 'app' };
  return { component: 'api', reason, message, text: '', restarts: 0, failureSource, ...more };
}

function judgedAfter(seconds: number, ...symptoms: Symptom[]) {
  const awaited = 'api: 0 of 1 pods are available';
  const now = START + seconds * 1000;
  return judgeRollout({ symptoms, awaited, startedAt: START, now, patience: PATIENCE });
}

/** The pod was scheduled and its init containers were done ten seconds after the start of the rollout. */
const TIMES = { scheduledAt: START + 10_000, since: START + 10_000 };
const refused = (text: string, more: Partial<Symptom> = {}) => symptom('ReplicaFailure', { text, ...more });

/** The symptom, its reason, and the seconds after which it fails the rollout. */
const TABLE: [string, Symptom, string, number][] = [
  ['an invalid image name', symptom('InvalidImageName', TIMES), 'InvalidImageName', 0],
  ['an image that must not be pulled', symptom('ErrImageNeverPull', TIMES), 'ImagePullFailed', 0],
  ['the third crash', symptom('CrashLoopBackOff', { ...TIMES, restarts: 3 }), 'CrashLoop', 0],
  [
    'the second crash',
    symptom('CrashLoopBackOff', { ...TIMES, restarts: 2, failureSource: { component: 'api', exitCode: 1 } }),
    'CrashLoop',
    DEADLINE,
  ],
  [
    'a crash that is not in back-off yet',
    symptom('Error', { restarts: 5, failureSource: { component: 'api', exitCode: 1 } }),
    'CrashLoop',
    DEADLINE,
  ],
  [
    'a Secret that does not exist',
    symptom('CreateContainerConfigError', TIMES),
    'ContainerConfigInvalid',
    25,
  ],
  [
    'a missing Secret of a pod from before the rollout',
    symptom('CreateContainerConfigError', { since: START - 60_000 }),
    'ContainerConfigInvalid',
    15,
  ],
  ['a missing image', symptom('ErrImagePull', { ...TIMES, text: 'not found' }), 'ImagePullFailed', 70],
  [
    'the back-off for a missing image',
    symptom('ImagePullBackOff', { ...TIMES, text: 'not found' }),
    'ImagePullFailed',
    70,
  ],
  [
    'a registry that is overloaded',
    symptom('ImagePullBackOff', { ...TIMES, text: 'unexpected status code 503 Service Unavailable' }),
    'ImagePullFailed',
    DEADLINE,
  ],
  [
    'a registry with a rate limit',
    symptom('ErrImagePull', { ...TIMES, text: 'toomanyrequests: rate limit' }),
    'ImagePullFailed',
    DEADLINE,
  ],
  ...[
    'Get "https://registry.test/v2/": dial tcp: lookup registry.test on 10.96.0.10:53: no such host',
    'failed to do request: Head "https://registry.test/v2/app/manifests/1": EOF',
    'unexpected status from HEAD request to https://registry.test/v2/app/manifests/2: 500 Internal Server Error',
    'dial tcp 10.0.0.1:443: i/o timeout',
  ].map((text): [string, Symptom, string, number] => [
    `an error of the registry: ${text}`,
    symptom('ErrImagePull', { ...TIMES, text }),
    'ImagePullFailed',
    DEADLINE,
  ]),
  ...[
    'Back-off pulling image "registry.test/app:500": ErrImagePull: not found',
    'failed to resolve reference registry.test:503/app@sha256:0: not found',
    'Get https://10.0.0.1:5000/v2/app/manifests/429: not found',
    'Back-off pulling image "registry.test/eof:EOF": not found',
  ].map((text): [string, Symptom, string, number] => [
    `a missing image whose name looks like an error: ${text}`,
    symptom('ImagePullBackOff', { ...TIMES, text }),
    'ImagePullFailed',
    70,
  ]),
  [
    'a quota without a status',
    refused('pods "web-api-5d-x" is forbidden: status unknown for quota: small, resources: pods'),
    'QuotaExceeded',
    DEADLINE,
  ],
  [
    'a quota that requires limits',
    refused('pods "web-api-5d-x" is forbidden: failed quota: small: must specify limits.cpu'),
    'AdmissionRefused',
    2,
  ],
  [
    'an admission rule',
    refused('pods "web-api-5d-x" is forbidden: violates PodSecurity "restricted:latest"', {
      since: START + 1_000,
    }),
    'AdmissionRefused',
    3,
  ],
  ['a webhook that denies', refused('admission webhook "w" denied the request: no'), 'AdmissionRefused', 2],
  [
    'a webhook that is down',
    refused('Internal error occurred: failed calling webhook "w": connection refused'),
    'AdmissionRefused',
    DEADLINE,
  ],
  [
    'a quota',
    refused('pods "web-api-5d-x" is forbidden: exceeded quota: small, requested: pods=1'),
    'QuotaExceeded',
    DEADLINE,
  ],
  [
    'a quota that allows some of the pods',
    symptom('PartialReplicaFailure', { text: 'exceeded quota: small' }),
    'QuotaExceeded',
    DEADLINE,
  ],
  ['a lack of room on nodes', symptom('Unschedulable'), 'Unschedulable', DEADLINE],
  [
    'a claim that does not exist',
    symptom('Unschedulable', { text: '0/4 nodes are available: persistentvolumeclaim "data" not found.' }),
    'MountFailed',
    15,
  ],
  ['a mount that does not work', symptom('FailedMount'), 'MountFailed', DEADLINE],
  ['a device that cannot be mapped', symptom('FailedMapVolume'), 'MountFailed', DEADLINE],
  ['an image without a valid signature', symptom('SignatureValidationFailed', TIMES), 'ImagePullFailed', 70],
  ...['CreatePodSandboxError', 'ConfigPodSandboxError', 'FailedCreatePodSandBox', 'NetworkNotReady'].map(
    (reason): [string, Symptom, string, number] => [
      `a node that cannot start pods: ${reason}`,
      symptom(reason),
      'ContainerConfigInvalid',
      DEADLINE,
    ],
  ),
  ['a pod that never becomes ready', symptom('ContainersNotReady'), 'ReadinessFailed', DEADLINE],
  ['containers that are being created', symptom('ContainerCreating'), 'RolloutDeadlineExceeded', DEADLINE],
];

/** Pods that are only starting: no reason is reported for them. */
const VAGUE = new Set(['ContainersNotReady', 'ContainerCreating']);

describe('a rollout with one symptom', () => {
  test.each(TABLE)('fails after the time of the rule for %s', (_, seen, reason, seconds) => {
    if (seconds > 0) {
      const before = judgedAfter(seconds - 0.001, seen);
      const { message, failureSource } = seen;
      const trouble = VAGUE.has(seen.reason) ? null : { reason, message, failureSource };
      expect(before).toEqual({ failure: null, trouble, recheckAt: START + seconds * 1000 });
    }
    const { failure } = judgedAfter(seconds, seen);
    expect(failure).toMatchObject({ reason, failureSource: seen.failureSource });
    const late = seconds === DEADLINE ? '; not complete within 600 s' : '';
    expect(failure?.message).toBe(`${seen.message}${late}`);
  });
});

describe('a rollout', () => {
  test('fails at its deadline and names what it waits for when there is no symptom', () => {
    expect(judgedAfter(DEADLINE - 1)).toEqual({ failure: null, trouble: null, recheckAt: START + 600_000 });
    expect(judgedAfter(DEADLINE).failure).toEqual({
      reason: 'RolloutDeadlineExceeded',
      message: 'api: 0 of 1 pods are available; not complete within 600 s',
      failureSource: { component: 'api' },
    });
  });

  test('fails for the first symptom that cannot recover', () => {
    const hopeless = symptom('InvalidImageName', {
      component: 'queue',
      failureSource: { component: 'queue' },
    });
    const seen = [symptom('Unschedulable'), symptom('ImagePullBackOff', TIMES), hopeless];
    expect(judgedAfter(0, ...seen).failure).toMatchObject({ failureSource: { component: 'queue' } });
    expect(judgedAfter(0, ...seen.slice(0, 2)).recheckAt).toBe(START + 70_000);
  });

  test('names a cause at its deadline rather than a pod that is still starting', () => {
    const { failure } = judgedAfter(DEADLINE, symptom('ContainersNotReady'), symptom('Unschedulable'));
    expect(failure?.reason).toBe('Unschedulable');
  });

  test('reports a cause that may pass rather than a pod that is still starting', () => {
    const { failure, trouble } = judgedAfter(1, symptom('ContainersNotReady'), symptom('Unschedulable'));
    expect([failure, trouble?.reason]).toEqual([null, 'Unschedulable']);
  });

  test('does not exceed its deadline when a rule allows more time', () => {
    const late = symptom('ImagePullBackOff', { scheduledAt: START + 590_000 });
    expect(judgedAfter(DEADLINE, late).failure?.message).toMatch(/not complete within/);
  });
});

test('every reason of a rule is a reason that a failed revision may have', () => {
  const failed = REVISION_TRANSITIONS.filter(({ to }) => to === 'DEPLOY_FAILED');
  expect(failed.length).toBeGreaterThan(0);
  for (const { reasons } of failed)
    expect(reasons).toEqual(expect.arrayContaining(FAILURE_RULES.map(({ reason }) => reason)));
});
