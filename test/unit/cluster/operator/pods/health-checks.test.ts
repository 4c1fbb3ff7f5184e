/** A health check that fails is reported with its last answer, which only an Event contains. */
import { describe, expect, test } from 'vitest';
import { suspectsOf } from '../../../../../src/cluster/operator/observe/warning-events.ts';
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

/** A pod whose app container was ended and waits for its restart. */
function restarted(exitCode: number, restartCount = 3, reason = 'Error'): ObservedPod {
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
      conditions: [{ type: 'Ready', status: 'False', reason: 'ContainersNotReady' }],
      containerStatuses: [
        {
          name: 'app',
          ready: false,
          restartCount,
          state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s' } },
          lastState: { terminated: { exitCode, reason } },
        },
      ],
    },
  } as unknown as ObservedPod;
}

function observedWith(pod: ObservedPod, healthCheck: object | null = CHECK): Observed {
  const components = { api: healthCheck === null ? {} : { healthCheck } };
  const parsed = managedDeploymentSpecSchema.parse({ revision: { image: 'web:1' }, components });
  return {
    resource: { metadata: { name: 'web', namespace: NAMESPACE }, spec: parsed },
    pods: [pod],
    children: new Map(),
    warnings: new Map([['pod-1', { reason: 'Unhealthy', message: `${ANSWER} password=hunter2` }]]),
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
    ['ends by itself', restarted(1), CHECK],
    ['has no memory left', restarted(137, 3, 'OOMKilled'), CHECK],
    ['has not restarted yet', restarted(137, 0), CHECK],
    ['has no check of the deployment', restarted(137), null],
    ['has no check at all', restarted(137), { type: 'none' }],
  ])('causes no read of Events when it %s', (_what, pod, check) => {
    expect(suspectsOf(observedWith(pod, check))).toEqual([]);
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
