/** A database or cache that fails after it was ready: what is reported, what continues, and the recovery. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../../../cluster/wait.ts';
import {
  type DeploymentAnswer,
  smallDeployment,
  startWholeBerth,
  type WholeBerth,
} from '../../harness/berth.ts';
import { kubectlAsAdmin } from '../../harness/environment.ts';

let berth: WholeBerth;
beforeAll(async () => {
  berth = await startWholeBerth('later');
});
afterAll(() => berth?.stop());

const appOf = ({ id, name }: DeploymentAnswer) => `${name}-${id.replaceAll('-', '').slice(-8)}`;
const kubectl = (...args: string[]) => kubectlAsAdmin(['-n', berth.namespace, ...args]);
const patchStatus = (kind: string, name: string, status: object) =>
  kubectl('patch', kind, name, '--subresource=status', '-p', JSON.stringify({ status }));
const until = (what: string, check: () => Promise<boolean>) =>
  waitFor(what, check, { timeoutMs: 90_000, intervalMs: 200 });

async function ready(name: string, resource_spec: object = {}) {
  const created = await berth.create(smallDeployment(name, { source_config: { resource_spec } }));
  return { ...(await berth.ready(created.id)), app: appOf(created) };
}

const found = ({ conditions }: DeploymentAnswer, type: string) =>
  conditions.find((condition) => condition.type === type);
const says = (deployment: DeploymentAnswer, type: string) =>
  `${found(deployment, type)?.status} ${found(deployment, type)?.reason}`;
const crashes = (deployment: DeploymentAnswer, type: string) =>
  found(deployment, type)?.message?.includes('CrashLoopBackOff') === true;
const converged = (id: string) =>
  berth.until(id, 'Ready again', (now) => now.status === 'READY' && says(now, 'Ready') === 'True Converged');

async function podOf(app: string, component: string): Promise<{ name: string; uid: string }> {
  const labels = `app.kubernetes.io/instance=${app},app.kubernetes.io/component=${component}`;
  const { items } = await berth.get('pods', '-l', labels);
  const [pod] = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (pod === undefined) throw new Error(`there is no pod ${component} of ${app}`);
  return pod.metadata;
}

/** Kubelet status of a container that crashes repeatedly, or runs again. */
function containerIs(pod: string, container: string, isReady: boolean): Promise<string> {
  const now = new Date().toISOString();
  const reason = isReady ? null : 'ContainersNotReady';
  const ended = { exitCode: 137, reason: 'OOMKilled', startedAt: now, finishedAt: now };
  const state = isReady
    ? { running: { startedAt: now }, waiting: null }
    : { running: null, waiting: { reason: 'CrashLoopBackOff', message: 'back-off' } };
  return patchStatus('pod', pod, {
    conditions: ['Ready', 'ContainersReady'].map((type) => ({
      type,
      status: isReady ? 'True' : 'False',
      reason,
      lastTransitionTime: now,
    })),
    containerStatuses: [
      {
        name: container,
        image: 'x',
        imageID: 'x',
        ready: isReady,
        started: isReady,
        restartCount: 1,
        state,
        lastState: { terminated: ended },
      },
    ],
  });
}

/** Changes of the deployment's status in their order: `READY → AWAITING_DATABASE DatabaseUnavailable`. */
async function changes(id: string): Promise<string[]> {
  const { body } = await berth.call<{
    resources: { reason: string; revision_id: string | null; details: { from?: string; to?: string } }[];
  }>('GET', `/v2/deployments/${id}/events?limit=100`);
  return body.resources
    .filter(({ revision_id, details }) => revision_id === null && details.to !== undefined)
    .map(({ reason, details }) => `${details.from} → ${details.to} ${reason}`)
    .reverse();
}

describe('a data service', () => {
  test.concurrent('causes AWAITING_DATABASE with the pod when the database is unready, and does not stop rollouts', async () => {
    const { id, app } = await ready('lost');
    const pod = await podOf(app, 'database');
    await containerIs(pod.name, 'database', false);
    // Why may be seen a moment later than that it is not ready.
    const lost = await berth.until(
      id,
      'awaiting',
      (now) => now.status === 'AWAITING_DATABASE' && crashes(now, 'DatabaseReady'),
    );
    expect(says(lost, 'DatabaseReady')).toBe('False DatabaseUnavailable');
    expect(found(lost, 'DatabaseReady')?.message).toBe(
      `the database was ready and is no longer ready: pod ${pod.name}, container database: CrashLoopBackOff: exit code 137 (OOMKilled)`,
    );
    expect(says(lost, 'Ready')).toMatch(/^False (CrashLoop|DatabaseUnavailable)$/);
    expect(says(lost, 'Serving')).toBe('True Available');
    expect(lost.active_revision_id).toBe(lost.latest_revision_id);

    const image_uri = 'registry.example/shop/web:2.0.0';
    const patched = await berth.call('PATCH', `/v2/deployments/${id}`, {
      source_revision_config: { image_uri },
    });
    expect(patched.body.status).toBe('AWAITING_DATABASE');
    const rolled = await berth.until(
      id,
      'the new revision to be active',
      (now) => now.active_revision_id === patched.body.latest_revision_id,
    );
    expect(rolled.active_revision_id).not.toBe(lost.active_revision_id);
    expect([rolled.status, says(rolled, 'DatabaseReady')]).toEqual([
      'AWAITING_DATABASE',
      'False DatabaseUnavailable',
    ]);

    await containerIs(pod.name, 'database', true);
    await converged(id);
    expect((await podOf(app, 'database')).uid).toBe(pod.uid);
    expect((await changes(id)).slice(-2)).toEqual([
      'READY → AWAITING_DATABASE DatabaseUnavailable',
      'AWAITING_DATABASE → READY DatabaseAvailable',
    ]);
    const reported = await kubectl('describe', 'mdep', app);
    expect(reported).toMatch(/Warning\s+DatabaseUnavailable\s.*the database was ready and is no longer ready/);
  });

  test.concurrent('causes the same with its own name when the cache is unready', async () => {
    const { id, app } = await ready('cold');
    const pod = await podOf(app, 'cache');
    await containerIs(pod.name, 'cache', false);
    const lost = await berth.until(
      id,
      'awaiting',
      (now) => now.status === 'AWAITING_DATABASE' && crashes(now, 'CacheReady'),
    );
    expect([says(lost, 'CacheReady'), says(lost, 'DatabaseReady'), says(lost, 'Serving')]).toEqual([
      'False CacheUnavailable',
      'True DatabaseAvailable',
      'True Available',
    ]);
    expect(found(lost, 'CacheReady')?.message).toContain(
      `pod ${pod.name}, container cache: CrashLoopBackOff`,
    );
    await containerIs(pod.name, 'cache', true);
    await converged(id);
    expect(await changes(id)).toContain('READY → AWAITING_DATABASE CacheUnavailable');
  });

  test.concurrent('gets another pod on the same volume after an eviction', async () => {
    const { id, app } = await ready('evicted');
    const before = await podOf(app, 'database');
    const volume = await kubectl('get', 'pvc', `${app}-db`, '-o', 'jsonpath={.metadata.uid}');
    const message = 'The node was low on resource: memory.';
    await patchStatus('pod', before.name, { phase: 'Failed', reason: 'Evicted', message });
    await until('another pod', async () => (await podOf(app, 'database')).uid !== before.uid);
    await converged(id);
    expect(await kubectl('get', 'pvc', `${app}-db`, '-o', 'jsonpath={.metadata.uid}')).toBe(volume);
  });

  test.concurrent.each([0, 3])('gets its replicas back when scaled to %i', async (count) => {
    const { id, app } = await ready(`scaled-${count}`);
    const uid = await kubectl('get', 'sts', `${app}-db`, '-o', 'jsonpath={.metadata.uid}');
    const generation = async () =>
      Number(await kubectl('get', 'sts', `${app}-db`, '-o', 'jsonpath={.metadata.generation}'));
    const before = await generation();
    await kubectl('scale', 'sts', `${app}-db`, `--replicas=${count}`);
    await until('one pod again', async () => {
      const [spec, pods] = (
        await kubectl(
          'get',
          'sts',
          `${app}-db`,
          '-o',
          'jsonpath={.spec.replicas} {.status.availableReplicas}',
        )
      ).split(' ');
      return spec === '1' && pods === '1' && (await generation()) >= before + 2;
    });
    await converged(id);
    expect(await kubectl('get', 'sts', `${app}-db`, '-o', 'jsonpath={.metadata.uid}')).toBe(uid);
  });

  test.concurrent('is reported when it is scaled to zero during a pause, and restored when the pause ends', async () => {
    const { id, app } = await ready('still');
    await kubectl('annotate', 'mdep', app, 'berth.dev/paused=true');
    await berth.until(id, 'paused', (now) => says(now, 'Paused') === 'True Paused');
    await kubectl('scale', 'sts', `${app}-db`, '--replicas=0');
    const lost = await berth.until(id, 'reported', (now) =>
      (found(now, 'DatabaseReady')?.message ?? '').includes('requests no pods'),
    );
    expect([lost.status, says(lost, 'DatabaseReady')]).toEqual([
      'AWAITING_DATABASE',
      'False DatabaseUnavailable',
    ]);
    await kubectl('annotate', 'mdep', app, 'berth.dev/paused-');
    await converged(id);
  });
});

describe('a volume expansion', () => {
  test('reports each condition of the claim until the expansion completes', async () => {
    const { id, app } = await ready('grows', { db_storage_gi: 10 });
    const claim = `${app}-db`;
    await kubectl('label', 'pvc', claim, 'sim.example/fail=resize');
    const patched = await berth.call('PATCH', `/v2/deployments/${id}`, {
      source_config: { resource_spec: { db_storage_gi: 20 } },
    });
    expect(patched.status).toBe(200);
    await berth.until(id, 'growing', (now) => says(now, 'DatabaseReady') === 'True VolumeResizing');
    const now = new Date().toISOString();
    for (const [type, message] of [
      ['ControllerResizeError', 'the backend has no room for 10 GiB more'],
      ['FileSystemResizePending', 'waiting for the node to resize the file system'],
    ] as const) {
      await kubectl(
        'patch',
        'pvc',
        claim,
        '--subresource=status',
        '--type=merge',
        '-p',
        JSON.stringify({
          status: {
            conditions: ['Resizing', type].map((name) => ({
              type: name,
              status: 'True',
              lastTransitionTime: now,
              ...(name === type ? { message } : {}),
            })),
          },
        }),
      );
      const reported = await berth.until(
        id,
        type,
        (answer) =>
          found(answer, 'DatabaseReady')?.message ===
          `the database accepts connections; its volume is being expanded to 20Gi: ${type}: ${message}`,
      );
      expect([reported.status, says(reported, 'DatabaseReady'), says(reported, 'Ready')]).toEqual([
        'READY',
        'True VolumeResizing',
        'False VolumeResizing',
      ]);
      expect(found(reported, 'Ready')?.message).toContain(message);
    }
    await kubectl('label', 'pvc', claim, 'sim.example/fail-');
    await converged(id);
    const capacity = await kubectl('get', 'pvc', claim, '-o', 'jsonpath={.status.capacity.storage}');
    expect(capacity).toBe('20Gi');
  });
});
