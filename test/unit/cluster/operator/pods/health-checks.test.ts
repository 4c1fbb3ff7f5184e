/** A health check that fails is reported with its last answer, which only an Event contains. */
import { describe, expect, test } from 'vitest';
import {
  NO_WARNING_EVENTS,
  readWarningEvents,
  suspectsOf,
} from '../../../../../src/cluster/operator/observe/warning-events.ts';
import type { Observed, ObservedPod } from '../../../../../src/cluster/operator/observed.ts';
import { troublesOf } from '../../../../../src/cluster/operator/pods/pod-trouble.ts';
import { managedDeploymentSpecSchema } from '../../../../../src/contract/resource/managed-deployment.ts';
import { remedyFor } from '../../../../../src/domain/conditions/remedy-for.ts';
import { symptomRemedyOf } from '../../../../../src/domain/conditions/symptom-remedies.ts';
import { NAMESPACE, type Spec, settled, type World } from '../fixtures.ts';

const CHECK = { type: 'http', path: '/healthz' } as const;
const spec = (number: number): Spec => ({
  revision: { id: `0197a000-0000-7000-8000-00000000000${number}`, number, image: `web:${number}` },
  components: { api: { healthCheck: CHECK } },
});
const BACK_OFF = 'Back-off restarting failed container app in pod web-api-0';
const ANSWER = 'Startup probe failed: HTTP probe failed with statuscode: 500';

async function steps(world: World, count: number): Promise<void> {
  for (let step = 0; step < count; step += 1) {
    await world.reconcileOnce();
    world.cluster.settle();
    world.now += 2_000;
  }
}

describe('a web app that answers 500', () => {
  test('does not become active, and the failure contains the answer', async () => {
    const world = await settled(spec(1));
    world.change(spec(2));
    world.cluster.stuck.set('api', 'ContainersNotReady');
    await steps(world, 1);
    const uid = world.cluster.get(`Pod/${NAMESPACE}/web-api-0`)?.metadata.uid ?? '';
    world.cluster.warnings.set(uid, { reason: 'Unhealthy', message: ANSWER });
    await steps(world, 5);
    expect(world.condition('Progressing')).toBe('True RolloutInProgress');
    expect(world.status.activeRevision?.number).toBe(1);
    world.now += 600_000;
    await steps(world, 2);
    expect(world.status.failedRevision).toMatchObject({
      reason: 'ReadinessFailed',
      message: expect.stringContaining(ANSWER),
      failureSource: { component: 'api', container: 'app' },
    });
    expect(world.status.activeRevision?.number).toBe(1);
  });
});

const STARTED = '2026-01-01T00:10:00Z';
const AFTER = '2026-01-01T00:11:00Z';
const BEFORE = '2026-01-01T00:05:00Z';

/** A pod whose app container was ended and waits for its restart. */
function restarted(
  exitCode: number,
  restartCount = 3,
  reason = 'Error',
  { unready = STARTED, ...termination }: { unready?: string; finishedAt?: string } = {},
): ObservedPod {
  return {
    metadata: {
      name: 'web-api-0',
      namespace: NAMESPACE,
      uid: 'pod-1',
      labels: { 'app.kubernetes.io/component': 'api' },
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    status: {
      phase: 'Running',
      conditions: [
        { type: 'Ready', status: 'False', reason: 'ContainersNotReady', lastTransitionTime: unready },
      ],
      containerStatuses: [
        {
          name: 'app',
          ready: false,
          restartCount,
          state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s' } },
          lastState: { terminated: { exitCode, reason, startedAt: STARTED, ...termination } },
        },
      ],
    },
  } as unknown as ObservedPod;
}

const SECRET = `${ANSWER} password=hunter2`;

function observedWith(
  pod: ObservedPod,
  healthCheck: object | null = CHECK,
  checks = [{ message: SECRET, at: Date.parse(AFTER) }],
  more: object = {},
): Observed {
  const components = { api: healthCheck === null ? {} : { healthCheck } };
  const parsed = managedDeploymentSpecSchema.parse({ revision: { image: 'web:1' }, components });
  return {
    resource: { metadata: { name: 'web', namespace: NAMESPACE }, spec: parsed },
    pods: [pod],
    children: new Map(),
    warnings: new Map([['pod-1', { reason: 'BackOff', message: BACK_OFF, checks, ...more }]]),
  } as unknown as Observed;
}

describe('a container that is restarted', () => {
  test.each([0, 137, 143])('with exit code %i gets the last answer of its health check', (exitCode) => {
    const pod = restarted(exitCode);
    expect(suspectsOf(observedWith(pod)).map(({ uid }) => uid)).toEqual(['pod-1']);
    const [trouble] = troublesOf(observedWith(pod), pod);
    expect(trouble).toMatchObject({ reason: 'CrashLoopBackOff', exitCode });
    expect(trouble?.message).toContain(`last health check: ${ANSWER}`);
    expect(JSON.stringify(trouble)).not.toContain('hunter2');
  });

  test.each<[string, ObservedPod, object | null]>([
    ['has no memory left', restarted(137, 3, 'OOMKilled'), CHECK],
    ['has not restarted yet', restarted(137, 0), CHECK],
    ['has no check of the deployment', restarted(137), null],
    ['has no check at all', restarted(137), { type: 'none' }],
  ])('causes no read of Events when it %s', (_what, pod, check) => {
    expect(suspectsOf(observedWith(pod, check))).toEqual([]);
  });
});

describe('the answer of a health check', () => {
  const said = (pod: ObservedPod, message: string, at: string) => {
    const checks = [{ message, at: Date.parse(at) }];
    const [trouble] = troublesOf(observedWith(pod, CHECK, checks), pod);
    return trouble?.message.includes('last health check: ') === true;
  };

  test.each<[string, boolean, ObservedPod, string, string]>([
    ['is that of a liveness probe', true, restarted(0), 'Liveness probe failed: no', AFTER],
    [
      'is combined from similar Events',
      true,
      restarted(137),
      '(combined from similar events): Startup probe failed: no',
      AFTER,
    ],
    ['is that of a readiness probe', false, restarted(0), 'Readiness probe failed: no', AFTER],
    ['is older than the run', false, restarted(137), ANSWER, BEFORE],
    [
      'is of an earlier run of a pod that was not ready since, and a signal ended the program',
      true,
      restarted(137, 3, 'Error', { unready: BEFORE }),
      ANSWER,
      BEFORE,
    ],
    [
      'is of an earlier run of a pod that was not ready since, and the program ended by itself at once',
      false,
      restarted(0, 3, 'Error', { unready: BEFORE, finishedAt: '2026-01-01T00:10:01Z' }),
      ANSWER,
      BEFORE,
    ],
    [
      'is of an earlier run of a pod that was not ready since, and the program ended after several checks',
      true,
      restarted(0, 3, 'Error', { unready: BEFORE, finishedAt: '2026-01-01T00:10:06Z' }),
      ANSWER,
      BEFORE,
    ],
  ])('counts only when it may have ended the container (%s: %s)', (_what, expected, pod, message, at) => {
    expect(said(pod, message, at)).toBe(expected);
  });

  const LIVENESS = 'Liveness probe failed: HTTP probe failed with statuscode: 503';
  test.each<[string, boolean, string, string, string?]>([
    ['a liveness probe has failed in the run', true, LIVENESS, AFTER],
    ['a liveness probe has failed in an earlier run', false, LIVENESS, BEFORE],
    ['a startup probe has failed, and the program ended by itself', false, ANSWER, AFTER],
    ['a startup probe has failed, and ended an earlier run', false, ANSWER, AFTER, BEFORE],
    ['a startup probe has failed, and the kubelet ended the run', true, ANSWER, AFTER, AFTER],
  ])('counts for a program with another exit code when %s: %s', (_what, expected, message, at, killed) => {
    const more = killed === undefined ? {} : { killedAt: [Date.parse(killed)] };
    for (const exitCode of [1, 2]) {
      const pod = restarted(exitCode, 3, 'Error', { unready: BEFORE });
      const observed = observedWith(pod, CHECK, [{ message, at: Date.parse(at) }], more);
      expect(suspectsOf(observed).map(({ uid }) => uid)).toEqual(['pod-1']);
      const [trouble] = troublesOf(observed, pod);
      expect(trouble?.message).toContain(`exit code ${exitCode}`);
      expect(trouble?.message.includes(`last health check: ${message}`)).toBe(expected);
    }
  });

  const PLACE = { namespace: NAMESPACE, suspects: [{ uid: 'pod-1', since: 0 }] };
  const NOW = { ticks: 0, date: 0 };
  async function warningFrom(items: object[]) {
    const client = { list: async () => ({ items }) } as never;
    const { signal } = new AbortController();
    return (await readWarningEvents(client, PLACE, NO_WARNING_EVENTS, NOW, signal)).byUid.get('pod-1');
  }
  const unhealthy = (message: string, lastTimestamp: string) => ({
    type: 'Warning',
    reason: 'Unhealthy',
    message,
    lastTimestamp,
  });
  const killing = (message: string) => ({
    type: 'Normal',
    reason: 'Killing',
    message,
    lastTimestamp: AFTER,
  });

  test('is read with the time at which the kubelet ended the container', async () => {
    const items = [
      unhealthy(ANSWER, BEFORE),
      killing('Container app failed startup probe, will be restarted'),
      killing('Stopping container app'),
    ];
    expect(await warningFrom(items)).toEqual({
      reason: 'Unhealthy',
      message: ANSWER,
      checks: [{ message: ANSWER, at: Date.parse(BEFORE) }],
      killedAt: [Date.parse(AFTER)],
    });
  });

  test('is not that of another container of the pod', async () => {
    const of = (container: string, event: object) => ({
      ...event,
      involvedObject: { kind: 'Pod', fieldPath: `spec.containers{${container}}` },
    });
    const other = [
      of('proxy', unhealthy('Liveness probe failed: of the proxy', AFTER)),
      of('proxy', killing('Container proxy failed liveness probe, will be restarted')),
    ];
    const own = [
      of('app', unhealthy(ANSWER, BEFORE)),
      of('app', killing('Container app failed startup probe, will be restarted')),
    ];
    expect(await warningFrom(other)).toEqual({
      reason: 'Unhealthy',
      message: 'Liveness probe failed: of the proxy',
    });
    expect(await warningFrom([...other, ...own])).toMatchObject({
      checks: [{ message: ANSWER, at: Date.parse(BEFORE) }],
      killedAt: [Date.parse(AFTER)],
    });
  });

  test('is that of the program when a newer check found no listener during a start', () => {
    const pod = restarted(137);
    const checks = ['Startup probe failed: dial tcp 10.0.0.1:80: connect: connection refused', ANSWER].map(
      (message, index) => ({ message, at: Date.parse(AFTER) - index }),
    );
    const [trouble] = troublesOf(observedWith(pod, CHECK, checks), pod);
    expect(trouble?.message).toContain(`last health check: ${ANSWER}`);
  });
});

describe('an app that its health check ends again and again', () => {
  /** The warnings of the kubelet: the newest is always that of the back-off. */
  const EVENTS = [
    { reason: 'Unhealthy', message: ANSWER, lastTimestamp: AFTER },
    { reason: 'BackOff', message: BACK_OFF, lastTimestamp: '2026-01-01T00:12:00Z' },
  ];

  test('is reported with the answer, although the newest warning is about the back-off', async () => {
    const world = await settled(spec(1));
    world.change(spec(2));
    world.cluster.stuck.set('api', 'ContainersNotReady');
    await steps(world, 1);
    const id = `Pod/${NAMESPACE}/web-api-0`;
    world.cluster.warnings.set(world.cluster.get(id)?.metadata.uid ?? '', EVENTS);
    world.cluster.stuck.clear();
    const { status } = restarted(137, 5);
    for (let step = 0; step < 5; step += 1) {
      world.cluster.edit(id, (pod) => Object.assign(pod, { status }));
      await world.reconcileOnce();
      world.now += 2_000;
    }
    const failed = world.status.failedRevision;
    expect(failed).toMatchObject({ reason: 'CrashLoop', message: expect.stringContaining(ANSWER) });
    const { reason = '', message = '' } = failed ?? {};
    expect(remedyFor({ reason, message })).toMatchObject({
      text: expect.stringMatching(/source_config\.health_checks/),
    });
  });

  test('has the answer as the state of its pod while it runs between two restarts', async () => {
    const world = await settled(spec(1));
    world.change(spec(2));
    world.cluster.stuck.set('api', 'ContainersNotReady');
    await steps(world, 1);
    const uid = world.cluster.get(`Pod/${NAMESPACE}/web-api-0`)?.metadata.uid ?? '';
    world.cluster.warnings.set(uid, EVENTS);
    await steps(world, 5);
    const progressing = world.status.conditions?.find(({ type }) => type === 'Progressing');
    expect(progressing?.message).toContain(ANSWER);
  });
});

describe('the remedy of a failed health check', () => {
  const text = (reason: string, message: string) => {
    const remedy = remedyFor({ reason, message });
    return remedy !== null && 'text' in remedy ? remedy.text : '';
  };
  test.each([
    ['ReadinessFailed', ANSWER, /needs 2xx or 3xx.*source_config\.health_checks/],
    [
      'ReadinessFailed',
      'Readiness probe failed: dial tcp 10.0.0.1:8000: connect: connection refused',
      /port/,
    ],
    [
      'ReadinessFailed',
      'Readiness probe failed: Get "http://10.0.0.1/": context deadline exceeded',
      /timeout_seconds/,
    ],
    ['ReadinessFailed', 'Liveness probe failed: queue is stuck', /the answer in the message/],
    ['CrashLoop', `exit code 137; last health check: ${ANSWER}`, /startup_seconds/],
  ])('depends on its answer: %s, %s', (reason, message, expected) => {
    expect(text(reason, message)).toMatch(expected);
  });

  test('of running pods is about the check, not about memory', () => {
    const message = `api: pod x, container app: CrashLoopBackOff: exit code 137; last health check: ${ANSWER}`;
    const remedy = symptomRemedyOf({ component: 'api', reason: 'CrashLoop', message });
    expect(remedy).toMatchObject({ text: expect.stringContaining('source_config.health_checks') });
  });
});
