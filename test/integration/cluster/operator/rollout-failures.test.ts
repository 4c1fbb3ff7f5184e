import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeClient } from '../../../../src/cluster/kube/client/client.ts';
import { RESOURCES } from '../../../../src/cluster/kube/client/resources.ts';
import { waitFor } from '../../../cluster/wait.ts';
import { createNamespace, deleteNamespace, kubectlAsAdmin } from '../../harness/environment.ts';
import {
  condition,
  type OperatorWorld,
  operatorWorld,
  type RunningOperator,
  startOperator,
} from '../../harness/operator.ts';
import { App, adminClient, appSpec } from '../../harness/rollouts.ts';

/** Rollouts that no waiting helps: they fail long before their deadline of ten minutes. */

let world: OperatorWorld;
let operator: RunningOperator;
let client: KubeClient;
let limited: string;

/** The time that a missing Secret and a missing image are given is a setting; its default is the unit tests' matter. */
const PATIENCE = { configErrorMs: 1_500, imagePullMs: 3_000 };

beforeAll(async () => {
  world = await operatorWorld('failing');
  limited = await createNamespace('limited');
  client = await adminClient();
  operator = await startOperator({ ...world.settings, moreNamespaces: [limited], patience: PATIENCE });
});
afterAll(async () => {
  await operator.stop();
  await client.close();
  await Promise.all([world.end(), deleteNamespace(limited)]);
});

const GOOD = 'registry.test/app:1';
const app = (name: string) => new App(client, world.namespace, name);
const scale = (count: number) => ({ scale: { min: count, max: count } });
const container = (name: string, mode: string, more: object = {}) => ({
  name,
  image: `registry.test/${name}:fail-${mode}`,
  ...more,
});

interface Case {
  image?: string;
  podTemplate?: object;
  reason: string;
  failureSource: object;
  message: RegExp;
}

const SIDECAR = container('log', 'crash-loop');
const CASES: Record<string, Case> = {
  'image-pull': {
    image: 'registry.test/app:fail-image-pull',
    reason: 'ImagePullFailed',
    failureSource: { container: 'app', containerKind: 'app' },
    message: /^api: pod \S+, container app: ImagePullBackOff: .*not found/,
  },
  'invalid-image': {
    image: 'registry.test/app:fail-invalid-image',
    reason: 'InvalidImageName',
    failureSource: { container: 'app', containerKind: 'app' },
    message: /^api: pod \S+, container app: InvalidImageName: /,
  },
  'missing-secret': {
    image: 'registry.test/app:fail-config-error',
    reason: 'ContainerConfigInvalid',
    failureSource: { container: 'app', containerKind: 'app' },
    message: /^api: pod \S+, container app: CreateContainerConfigError: secret "missing" not found/,
  },
  'missing-account': {
    podTemplate: { serviceAccountName: 'nope' },
    reason: 'AdmissionRefused',
    failureSource: { kind: 'Deployment', field: 'source_config.resource_spec.service_account_name' },
    message:
      /^api: .*serviceaccount "nope" not found.* named by source_config\.resource_spec\.service_account_name;/,
  },
  'app-crashes': {
    image: 'registry.test/app:fail-crash-loop',
    reason: 'CrashLoop',
    failureSource: { container: 'app', containerKind: 'app', exitCode: 7 },
    message: /^api: pod \S+, container app: CrashLoopBackOff: exit code 7/,
  },
  'sidecar-crashes': {
    podTemplate: { sidecars: [SIDECAR] },
    reason: 'CrashLoop',
    failureSource: { container: 'log', containerKind: 'sidecar', exitCode: 7 },
    message: /^api: pod \S+, container log \(sidecar\): CrashLoopBackOff: exit code 7/,
  },
  'native-sidecar-crashes': {
    podTemplate: { sidecars: [{ ...SIDECAR, restartPolicy: 'Always' }] },
    reason: 'CrashLoop',
    failureSource: { container: 'log', containerKind: 'sidecar', exitCode: 7 },
    message: /^api: pod \S+, container log \(sidecar\): CrashLoopBackOff: exit code 7/,
  },
  'init-crashes': {
    podTemplate: { initContainers: [container('migrate', 'crash-loop')] },
    reason: 'CrashLoop',
    failureSource: { container: 'migrate', containerKind: 'init', exitCode: 7 },
    message: /^api: pod \S+, container migrate \(init\): CrashLoopBackOff: exit code 7/,
  },
};

describe.concurrent('a revision that cannot start', () => {
  test.each(Object.entries(CASES))(
    'is reported at once with its source; the active revision keeps serving and is restored (%s)',
    async (name, { image = 'registry.test/app:2', podTemplate = {}, reason, failureSource, message }) => {
      const shop = app(name);
      const components = { api: scale(2) };
      await shop.apply(appSpec(1, GOOD, { components }));
      const before = await shop.ready();
      const workloads = await shop.workloads();
      const serving = await shop.watchServing('r1', { api: 2 });
      await shop.apply(appSpec(2, image, { components, podTemplate }));
      const status = await shop.rolledBack();
      expect(status.failedRevision).toMatchObject({
        id: 'r2',
        number: 2,
        reason,
        templates: `${name}-2`,
        failureSource: { component: 'api', kind: 'Pod', ...failureSource },
      });
      expect(status.failedRevision?.message).toMatch(message);
      expect(status.failedRevision?.message).toMatch(/redeploy/);
      expect(status.failedRevision?.message).not.toMatch(/not complete within/);
      expect(JSON.stringify(status)).not.toContain('hunter2');
      expect(status.activeRevision).toEqual(before.activeRevision);
      expect(status.deploymentStatus).toBe('READY');
      expect([condition(status, 'Ready'), condition(status, 'Serving')]).toEqual([
        `False ${reason}`,
        'True Available',
      ]);
      expect(await shop.workloads()).toEqual(workloads);
      expect(await serving.stop()).toEqual([]);
      // Events are sent beside the work.
      const reported = () => Promise.all([shop.events('RolloutFailed'), shop.events('RolledBack')]);
      await waitFor('both Events', async () => (await reported()).every((count) => count > 0), {
        timeoutMs: 30_000,
      });
      expect(await reported()).toEqual([1, 1]);
    },
  );

  test('rolls back all four components if an admission rule rejects one of them', async () => {
    const limits = { kind: 'LimitRange', apiVersion: 'v1', metadata: { name: 'most' } };
    const spec = { limits: [{ type: 'Container', max: { cpu: '10' }, default: { cpu: '1' } }] };
    await kubectlAsAdmin(['apply', '-n', limited, '-f', '-'], JSON.stringify({ ...limits, spec }));
    const shop = new App(client, limited, 'four');
    const four = (cpu: string) => ({
      api: scale(2),
      queue: { ...scale(2), resources: { requests: { cpu }, limits: { cpu } } },
      orchestrator: scale(1),
      executor: scale(1),
    });
    await shop.apply(appSpec(1, GOOD, { components: four('1') }));
    await shop.ready();
    const workloads = await shop.workloads();
    const serving = await shop.watchServing('r1', { queue: 2 });
    // They come up with the new revision and go back.
    const others = await shop.watchServing(null, { api: 2, orchestrator: 1, executor: 1 });
    await shop.apply(appSpec(2, 'registry.test/app:2', { components: four('20') }));
    const status = await shop.rolledBack();
    expect(status.failedRevision).toMatchObject({
      id: 'r2',
      reason: 'AdmissionRefused',
      failureSource: { component: 'queue', kind: 'Deployment', object: 'four-queue' },
    });
    expect(status.failedRevision?.failureSource?.detail).toMatch(/maximum cpu usage per Container is 10/);
    expect(await shop.workloads()).toEqual(workloads);
    expect([await serving.stop(), await others.stop()]).toEqual([[], []]);
  });

  test('keeps one pod of each component for inspection if no revision was active before', async () => {
    const shop = app('first');
    await shop.apply(
      appSpec(1, 'registry.test/app:fail-crash-loop', { components: { api: scale(3), queue: scale(2) } }),
    );
    const status = await shop.until('failed', ({ failedRevision, components = [] }) => {
      return (
        failedRevision !== undefined &&
        components.every(({ wanted, updated }) => wanted === 1 && updated === 1)
      );
    });
    expect(status.failedRevision).toMatchObject({ id: 'r1', reason: 'CrashLoop' });
    expect(status.activeRevision).toBeUndefined();
    expect(condition(status, 'Progressing')).toBe('False RolloutFailed');
    expect(condition(status, 'Serving')).toBe('False Unavailable');
    expect(status.components).toMatchObject([
      { name: 'api', wanted: 1 },
      { name: 'queue', wanted: 1 },
    ]);
    await shop.apply(appSpec(2, GOOD, { components: { api: scale(3), queue: scale(2) } }));
    const next = await shop.ready();
    expect(next.activeRevision).toMatchObject({ id: 'r2' });
    expect(next.components).toMatchObject([{ wanted: 3 }, { wanted: 2 }]);
    expect(next.failedRevision).toBeUndefined();
  });

  test('restores the former state after a failed change in place, and tries the next change', async () => {
    const shop = app('in-place');
    const labelled = (team: string, mode?: string) =>
      appSpec(1, GOOD, {
        podTemplate: { labels: { team }, ...(mode ? { sidecars: [container('log', mode)] } : {}) },
      });
    await shop.apply(labelled('a'));
    const before = await shop.ready();
    const workloads = await shop.workloads();
    const serving = await shop.watchServing('r1', { api: 1 });
    await shop.apply(labelled('b', 'invalid-image'));
    const status = await shop.rolledBack();
    expect(status.activeRevision).toEqual(before.activeRevision);
    expect(status.failedRevision).toMatchObject({
      id: 'r1',
      reason: 'InvalidImageName',
      failureSource: { container: 'log', containerKind: 'sidecar' },
    });
    expect(await shop.workloads()).toEqual(workloads);
    await shop.apply(labelled('c'));
    const next = await shop.ready();
    expect(next.activeRevision).toMatchObject({ id: 'r1', number: 1, templates: 'in-place-1-3' });
    expect(next.failedRevision).toBeUndefined();
    expect(await serving.stop()).toEqual([]);
  });
});

describe('pods that are ready only for a moment', () => {
  let own: OperatorWorld;
  let careful: RunningOperator;
  beforeAll(async () => {
    own = await operatorWorld('moment');
    // Far longer than the simulated pods are ready, also where their failure comes late.
    careful = await startOperator(own.another('careful', { minReadySeconds: 8 }));
  });
  afterAll(async () => {
    await careful.stop();
    await own.end();
  });

  test('do not activate a revision that becomes ready and then crashes', async () => {
    const shop = new App(client, own.namespace, 'moment');
    await shop.apply(appSpec(1, GOOD, { components: { api: scale(2) } }));
    await shop.ready();
    const workloads = await shop.workloads();
    const serving = await shop.watchServing('r1', { api: 2 });
    await shop.apply(appSpec(2, 'registry.test/app:fail-after-ready', { components: { api: scale(2) } }));
    const status = await shop.rolledBack();
    expect(status).toMatchObject({
      activeRevision: { id: 'r1' },
      failedRevision: { id: 'r2', reason: 'CrashLoop', failureSource: { exitCode: 7 } },
    });
    expect(await shop.workloads()).toEqual(workloads);
    expect(await serving.stop()).toEqual([]);
  });

  test('do not activate a revision while they are evicted one after the other', async () => {
    const shop = new App(client, own.namespace, 'evicted');
    await shop.apply(appSpec(1, GOOD));
    const { activeRevision } = await shop.ready();
    const serving = await shop.watchServing('r1', { api: 1 });
    await shop.apply(appSpec(2, 'registry.test/app:fail-evicted'));
    await waitFor(
      'three pods to be evicted',
      async () => {
        const pods = await shop.list(RESOURCES.Pod);
        return pods.filter((pod) => (pod['status'] as { phase?: string }).phase === 'Failed').length >= 3;
      },
      { timeoutMs: 90_000 },
    );
    expect((await shop.status()).activeRevision).toEqual(activeRevision);
    expect(await serving.stop()).toEqual([]);
  });
});

describe('a failed revision', () => {
  test('is not retried by the next operator; another revision is rolled out and becomes active', async () => {
    const failed = [...Object.keys(CASES).map(app), new App(client, limited, 'four')];
    const generations = async () =>
      (await Promise.all(failed.map((shop) => shop.list(RESOURCES.Deployment))))
        .flat()
        .map(({ metadata }) => [metadata.name, metadata.generation]);
    const records = async () =>
      (await Promise.all(failed.map((shop) => shop.status()))).map(({ failedRevision }) => failedRevision);
    const before = [await generations(), await records()];
    await operator.stop();
    operator = await startOperator({
      ...world.another('next'),
      moreNamespaces: [limited],
      patience: PATIENCE,
    });
    // The next one works off its queue: what it takes last shows that it has looked at all.
    await app('marker').apply(appSpec(1, GOOD));
    await app('marker').ready();
    expect([await generations(), await records()]).toEqual(before);
    await Promise.all(
      failed.map(async (shop) => {
        await shop.apply(appSpec(3, 'registry.test/app:3', { components: { api: scale(2) } }));
        const status = await shop.ready();
        expect(status.activeRevision).toMatchObject({ id: 'r3' });
        expect(status.failedRevision).toBeUndefined();
      }),
    );
  });

  test('that the previous version recorded keeps its source, and the next write of the status renames it', async () => {
    const shop = app('earlier');
    const bad = 'registry.test/app:fail-invalid-image';
    await shop.apply(appSpec(1, GOOD));
    await shop.ready();
    await shop.apply(appSpec(2, bad));
    const { failedRevision } = await shop.rolledBack();
    const { failureSource, ...failure } = failedRevision ?? { failureSource: undefined };
    expect(failureSource).toMatchObject({ component: 'api', container: 'app' });
    await operator.stop();
    const live = await client.get(RESOURCES.ManagedDeployment, shop);
    const { generation: _, ...status } = await shop.status();
    const { containerKind, ...source } = failureSource ?? {};
    const earlier = { ...failure, culprit: { ...source, container_kind: containerKind } };
    await client.replaceStatus({ ...live, status: { ...status, failedRevision: earlier } });
    expect((await shop.status()).failedRevision).toEqual(earlier);

    operator = await startOperator({ ...world.another('later'), patience: PATIENCE });
    await shop.apply(appSpec(2, bad, { podTemplate: { labels: { team: 'a' } } }));
    const after = await shop.until(
      'changed in place',
      (now) =>
        now.activeRevision?.templates === 'earlier-1-2' &&
        condition(now, 'Progressing') === 'False RolledBack',
    );
    expect(after.failedRevision).toMatchObject({ id: 'r2', reason: 'InvalidImageName', failureSource });
    expect(after.failedRevision).not.toHaveProperty('culprit');
  });
});
