/** Pods that use references to Secrets: no reported text contains a value. */
import { describe, expect, test } from 'vitest';
import type { UntypedObject } from '../../../../../src/cluster/kube/client/object.ts';
import { transformPod } from '../../../../../src/cluster/operator/observe/cached-fields.ts';
import type { Observed, WarningEvent } from '../../../../../src/cluster/operator/observed.ts';
import { troublesOf } from '../../../../../src/cluster/operator/pods/pod-trouble.ts';
import { warningOf } from '../../../../../src/cluster/operator/pods/pod-warning.ts';
import { ANNOTATIONS } from '../../../../../src/contract/resource/names.ts';

const VALUE = 'hunter2-value';

interface PodOptions {
  readonly state?: object;
  readonly probe?: object;
  readonly annotations?: Record<string, string>;
}

const podWith = ({
  state = { waiting: { reason: 'ContainerCreating' } },
  probe = {},
  annotations = { [ANNOTATIONS.secretReferences]: '0'.repeat(32) },
}: PodOptions = {}) =>
  transformPod({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web-1', uid: 'pod-1', annotations },
    spec: { containers: [{ name: 'app', image: 'web:1', livenessProbe: probe }] },
    status: { phase: 'Pending', containerStatuses: [{ name: 'app', state }] },
  } as UntypedObject);

const observedWith = (warning: WarningEvent) =>
  ({ warnings: new Map([['pod-1', warning]]) }) as unknown as Observed;
const NONE = { warnings: new Map() } as unknown as Observed;

describe('the message of a waiting container', () => {
  const QUOTED = `failed to create containerd task: exec: "${VALUE}": executable file not found in $PATH`;
  test.each([
    ['RunContainerError', QUOTED],
    ['CreateContainerError', QUOTED],
    ['StartError', QUOTED],
    ['PostStartHookError', `rpc error: exec: "${VALUE}"`],
    ['CrashLoopBackOff', QUOTED],
    ['CreateContainerConfigError', `error SubPath \`/${VALUE}\` must not be an absolute path`],
    ['AnotherReason', QUOTED],
  ])('is not shown when it may quote a value: %s', (reason, message) => {
    const state = { waiting: { reason, message } };
    const trouble = JSON.stringify(troublesOf(NONE, podWith({ state })));
    expect(trouble).not.toContain(VALUE);
    expect(trouble).toContain('error not shown, because the pod uses secret_references');
    expect(trouble).toContain(reason);
    expect(JSON.stringify(troublesOf(NONE, podWith({ state, annotations: {} })))).toContain(VALUE);
  });

  test.each([
    ['CreateContainerConfigError', "couldn't find key api-key in Secret shop/payments"],
    ['CreateContainerConfigError', 'secret "payments" not found'],
    ['ErrImagePull', 'rpc error: failed to resolve reference "registry.test/web:1": not found'],
    ['CrashLoopBackOff', 'back-off 5m0s restarting failed container=app pod=web-1_shop(0a1b2c3d)'],
  ])('is shown when it contains no value: %s: %s', (reason, message) => {
    const [trouble] = troublesOf(NONE, podWith({ state: { waiting: { reason, message } } }));
    expect(trouble?.message).toContain(message);
  });
});

test('the message of a container whose start failed is not shown', () => {
  const terminated = { exitCode: 128, reason: 'StartError', message: `exec: "${VALUE}": not found` };
  const waiting = {
    reason: 'CrashLoopBackOff',
    message: 'back-off 10s restarting failed container=app pod=x',
  };
  for (const state of [{ terminated }, { waiting, terminated }])
    expect(JSON.stringify(troublesOf(NONE, podWith({ state })))).not.toContain(VALUE);
});

describe('the message of a warning Event', () => {
  const shown = (warning: WarningEvent) => warningOf(observedWith(warning), podWith())?.message ?? '';

  test.each([
    ['Failed', `Error: failed to start container "app": exec: "${VALUE}": executable file not found`],
    ['Failed', `(combined from similar events): Error: exec: "${VALUE}": permission denied`],
    ['Failed', `Error: secret "x" not found: ${VALUE}`],
    ['Failed', `Error: error SubPath \`/${VALUE}\` must not be an absolute path`],
    ['FailedMount', `failed to create subPath directory ${VALUE}`],
    ['FailedSync', `failed to "StartContainer" for "app": exec: "${VALUE}"`],
    ['FailedPostStartHook', `printed ${VALUE}`],
    ['ProbeWarning', `Liveness probe warning: Probe terminated redirects, Response body: ${VALUE}`],
  ])('is not shown when it may quote a value: %s: %s', (reason, message) => {
    expect(shown({ reason, message })).toMatch(/^(error|output) not shown/);
    const [trouble] = troublesOf(observedWith({ reason, message }), podWith());
    expect(trouble).toMatchObject({ reason });
    expect(JSON.stringify(trouble)).not.toContain(VALUE);
  });

  test.each([
    ['Failed', 'Failed to pull image "registry.test/web:1": rpc error: not found'],
    ['Failed', 'Error: ImagePullBackOff'],
    ['Failed', "Error: couldn't find key api-key in Secret shop/payments"],
    ['FailedMount', 'MountVolume.SetUp failed for volume "v": secret "x" not found'],
    ['FailedScheduling', '0/1 nodes are available: 1 Insufficient cpu.'],
    ['BackOff', 'Back-off restarting failed container app in pod web-1'],
  ])('is shown when it contains no value: %s: %s', (reason, message) => {
    expect(shown({ reason, message })).toBe(message);
  });
});

describe('the answer of a health check', () => {
  const answerOf = (answer: string, probe: object) => {
    const message = `Liveness probe failed: ${answer}`;
    const warning = { reason: 'Unhealthy', message, checks: [{ message, at: 0 }] };
    const found = warningOf(observedWith(warning), podWith({ probe }));
    expect(found?.checks?.[0]?.message).toBe(found?.message);
    return found?.message ?? '';
  };
  const OF_KUBELET = [
    'HTTP probe failed with statuscode: 500',
    'dial tcp 10.0.0.1:8000: connect: connection refused',
    'dial tcp [fd00::1]:8000: i/o timeout',
  ];

  test.each(OF_KUBELET)('is shown when the kubelet wrote it: %s', (answer) => {
    expect(answerOf(answer, { httpGet: { port: 8000 } })).toBe(`Liveness probe failed: ${answer}`);
  });

  test('is shown without the path, to which the app can redirect', () => {
    const cause = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';
    const answer = `Get "http://10.0.0.1:8000/login/${VALUE}?t=${VALUE}": ${cause}`;
    expect(answerOf(answer, { httpGet: { port: 8000 } })).toBe(
      `Liveness probe failed: Get "http://10.0.0.1:8000/…": ${cause}`,
    );
  });

  test.each([
    ...OF_KUBELET,
    `Get "http://10.0.0.1/${VALUE}": EOF`,
    `dial tcp: lookup ${VALUE}`,
    `HTTP probe failed with ${VALUE}`,
  ])('is not shown when a command may have printed it: %s', (answer) => {
    expect(answerOf(answer, { exec: { command: ['check'] } })).toBe(
      'Liveness probe failed; output not shown, because the pod uses secret_references: see its logs',
    );
  });

  test.each([
    `Get "http://10.0.0.1:8000/": malformed HTTP response "${VALUE}"`,
    `dial tcp: lookup ${VALUE}: no such host`,
    `service unhealthy (${VALUE})`,
  ])('is not shown when the kubelet quotes the app: %s', (answer) => {
    expect(answerOf(answer, { httpGet: { port: 8000 } })).not.toContain(VALUE);
  });
});
