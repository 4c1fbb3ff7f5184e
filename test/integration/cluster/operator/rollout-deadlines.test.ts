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

/**
 * Problems that may pass: reported within seconds, and a failure at the deadline. Also problems that the revision
 * does not cause.
 */

let world: OperatorWorld;
let operator: RunningOperator;
let client: KubeClient;
let quota: string;

const GOOD = 'registry.test/app:1';
const scale = (count: number) => ({ scale: { min: count, max: count } });
const app = (name: string) => new App(client, name.startsWith('quota') ? quota : world.namespace, name);

const four = (requests: object) => ({
  api: scale(2),
  queue: { ...scale(2), resources: { requests } },
  orchestrator: scale(1),
  executor: scale(1),
});
const two = { api: scale(2) };

interface Case {
  components: object;
  /** What the failing revision is like. */
  next: [image: string, components: object];
  reported: RegExp;
  reason: string;
  failureSource: object;
  /** Pods that may not be replaced by others of the new revision. */
  kept: Record<string, number>;
}

const CASES: Record<string, Case> = {
  'never-ready': {
    components: two,
    next: ['registry.test/app:fail-never-ready', two],
    reported: /api: .*pod \S+: ContainersNotReady/,
    reason: 'ReadinessFailed',
    failureSource: { component: 'api', kind: 'Pod', container: 'app', containerKind: 'app' },
    kept: { api: 2 },
  },
  'registry-down': {
    components: two,
    next: ['registry.test/app:fail-registry-down', two],
    reported: /container app: ImagePullBackOff: .*503/,
    reason: 'ImagePullFailed',
    failureSource: { component: 'api', kind: 'Pod', container: 'app' },
    kept: { api: 2 },
  },
  unschedulable: {
    components: four({ cpu: '1' }),
    // As much as a custom resource may ask for; no node has it.
    next: ['registry.test/app:2', four({ memory: '4Ti' })],
    reported: /queue: .*Unschedulable: .*Insufficient memory/,
    reason: 'Unschedulable',
    failureSource: { component: 'queue', kind: 'Pod' },
    kept: { queue: 2 },
  },
  'quota-exceeded': {
    components: two,
    next: ['registry.test/app:2', two],
    reported: /api: .*exceeded quota/,
    reason: 'QuotaExceeded',
    failureSource: { component: 'api', kind: 'Deployment', object: 'quota-exceeded-api' },
    kept: { api: 2 },
  },
};

/** Long enough that the first look at the trouble comes before it, also on a busy machine. */
const DEADLINE_SECONDS = 12;

beforeAll(async () => {
  world = await operatorWorld('deadline');
  quota = await createNamespace('quota');
  client = await adminClient();
  operator = await startOperator({ ...world.settings, moreNamespaces: [quota] });
  await Promise.all(
    Object.entries(CASES).map(async ([name, { components }]) => {
      await app(name).apply(appSpec(1, GOOD, { components }));
      await app(name).ready();
    }),
  );
  await kubectlAsAdmin(['create', 'quota', 'two', '-n', quota, '--hard=pods=2']);
});
afterAll(async () => {
  await operator.stop();
  await client.close();
  await Promise.all([world.end(), deleteNamespace(quota)]);
});

describe('a rollout within its deadline', () => {
  test('does not fail because of evicted or deleted pods, and the next revision takes over', async () => {
    const shop = app('evicted');
    await shop.apply(appSpec(1, GOOD, { components: two }));
    await shop.ready();
    await shop.apply(appSpec(2, 'registry.test/app:fail-never-ready', { components: two }));
    const pods = async (revision: string) => {
      const found = await shop.list(RESOURCES.Pod, `berth.dev/revision-id=${revision}`);
      return found.filter(({ metadata, ...pod }) => {
        const { phase } = pod['status'] as { phase: string };
        return metadata.deletionTimestamp === undefined && phase === 'Running';
      });
    };
    const some = (revision: string, count: number) =>
      waitFor(
        `${count} pods of ${revision}`,
        async () => {
          const found = await pods(revision);
          return found.length === count && found;
        },
        { timeoutMs: 60_000 },
      );
    const [old, fresh] = [await some('r1', 2), await some('r2', 1)];
    for (const victim of [old[0], fresh[0]]) {
      const status = { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' };
      const ready = { type: 'Ready', status: 'False', reason: 'PodFailed', lastTransitionTime: null };
      const at = { namespace: shop.namespace, name: victim?.metadata.name ?? '' };
      await client.patch(
        RESOURCES.Pod,
        at,
        { status: { ...status, conditions: [ready] } },
        { subresource: 'status' },
      );
    }
    await client.delete(RESOURCES.Pod, { namespace: shop.namespace, name: old[1]?.metadata.name ?? '' });
    await some('r1', 2);
    await some('r2', 1);
    const status = await shop.status();
    expect(condition(status, 'Progressing')).toBe('True RolloutInProgress');
    expect(status.failedRevision).toBeUndefined();
    await shop.apply(appSpec(3, 'registry.test/app:3', { components: two }));
    expect((await shop.ready()).activeRevision).toMatchObject({ id: 'r3' });
  });
});

describe('a volume that never binds', () => {
  test('keeps the deployment at AWAITING_DATABASE with the reason, without a rollout or a failure', async () => {
    await operator.stop();
    operator = await startOperator({
      ...world.another('classless', { storageClass: 'no-such-class' }),
      moreNamespaces: [quota],
    });
    const shop = app('unbound');
    await shop.apply({ revision: { id: 'r1', number: 1, image: GOOD }, cache: { external: true } });
    const status = await shop.until('awaiting its database, with the reason', ({ conditions = [] }) =>
      conditions.some(
        ({ type, message }) =>
          type === 'DatabaseReady' &&
          /claim unbound-db is not bound: ProvisioningFailed: .*no-such-class/.test(message),
      ),
    );
    expect(status.deploymentStatus).toBe('AWAITING_DATABASE');
    expect(condition(status, 'Ready')).toBe('False DatabaseStarting');
    expect(condition(status, 'Progressing')).toBe('True AwaitingDataServices');
    expect([status.rollout, status.activeRevision, status.failedRevision]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(await shop.workloads()).toEqual({});
  });
});

describe('a quota that leaves no room for database and cache', () => {
  test('is reported, although the cluster reports it for a StatefulSet only as an Event', async () => {
    const shop = app('quota-services');
    await shop.apply({ revision: { id: 'r1', number: 1, image: GOOD } });
    const status = await shop.until('awaiting its data services, with the reason', ({ conditions = [] }) =>
      ['DatabaseReady', 'CacheReady'].every((wanted) =>
        conditions.some(({ type, message }) => type === wanted && /exceeded quota: two/.test(message)),
      ),
    );
    expect(status.deploymentStatus).toBe('AWAITING_DATABASE');
    expect(condition(status, 'Ready')).toBe('False QuotaExceeded');
    expect(status.failedRevision).toBeUndefined();
  });
});

describe('a rollout at its deadline', () => {
  beforeAll(async () => {
    await operator.stop();
    operator = await startOperator({
      ...world.another('short', { progressDeadlineSeconds: DEADLINE_SECONDS }),
      moreNamespaces: [quota],
    });
  });

  test.concurrent.each(Object.entries(CASES))(
    'reports the reason early, fails, and restores the active revision, which keeps serving (%s)',
    async (name, { next: [image, components], reported, reason, failureSource, kept }) => {
      const shop = app(name);
      await shop.ready();
      const workloads = await shop.workloads();
      const serving = await shop.watchServing('r1', kept);
      await shop.apply(appSpec(2, image, { components }));
      const rolling = await shop.until('rolling, with the reason', (status) => {
        const message = status.conditions?.find(({ type }) => type === 'Progressing')?.message ?? '';
        return status.rollout?.id === 'r2' && reported.test(message);
      });
      expect(condition(rolling, 'Progressing')).toBe('True RolloutInProgress');
      const startedAt = Date.parse(rolling.rollout?.startTime ?? '');
      const status = await shop.rolledBack();
      const failedAt =
        status.conditions?.find(({ type }) => type === 'Progressing')?.lastTransitionTime ?? '';
      // Condition times have no fractions.
      expect(Date.parse(failedAt) + 1000 - startedAt).toBeGreaterThanOrEqual(DEADLINE_SECONDS * 1000);
      expect(status.failedRevision).toMatchObject({ id: 'r2', reason, failureSource });
      expect(status.failedRevision?.message).toMatch(reported);
      expect(status.failedRevision?.message).toContain(`not complete within ${DEADLINE_SECONDS} s`);
      expect(status.activeRevision).toMatchObject({ id: 'r1', templates: `${name}-1` });
      expect(condition(status, 'Serving')).toBe('True Available');
      expect(await shop.workloads()).toEqual(workloads);
      expect(await serving.stop()).toEqual([]);
    },
  );
});
