import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKubeClient, type KubeClient } from '../../src/kube/client.ts';
import { RESOURCES } from '../../src/kube/resources.ts';
import type { ObservedPod } from '../../src/operator/observed.ts';
import { isReadyPod } from '../../src/operator/pod-trouble.ts';
import { type LocalCluster, startCluster } from '../cluster/cluster.ts';
import { kubectl } from '../cluster/kubectl.ts';
import { waitFor } from '../cluster/wait.ts';
import { BERTH_NAMESPACE, installBerth, roleKubeconfigs } from '../installation/install.ts';
import { condition, RENDERING, type RunningOperator, startOperator } from './harness/operator.ts';
import { App, appSpec } from './harness/rollouts.ts';

/** A node that goes away in the middle of a rollout: in a cluster of its own, for nodes are shared by all tests. */

let own: LocalCluster;
let operator: RunningOperator;
let client: KubeClient;
const folder = mkdtempSync(join(realpathSync(tmpdir()), 'berth-nodes-'));

beforeAll(async () => {
  own = await startCluster({ log: () => {}, fsync: false });
  await installBerth(own);
  await kubectl(own, ['create', 'namespace', 'shop']);
  client = await createKubeClient({
    kubeconfigPath: own.kubeconfigPath,
    userAgent: 'berth-test/admin',
    requestTimeoutMs: 10_000,
  });
  const { operator: kubeconfigPath } = await roleKubeconfigs(own, folder);
  operator = await startOperator({
    kubeconfigPath,
    namespace: 'shop',
    identity: 'one',
    lease: { namespace: BERTH_NAMESPACE, name: 'nodes' },
    config: RENDERING,
  });
});
afterAll(async () => {
  await operator?.stop();
  await client?.close();
  await own?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('a node goes NotReady in the middle of a rollout: it is no failure, and the rollout ends on the other nodes', async () => {
  const shop = new App(client, 'shop', 'nodes');
  const components = { api: { scale: { min: 4, max: 4 } } };
  const slow = { labels: { 'sim.berth.dev/fail': 'slow-start' } };
  await shop.apply(appSpec(1, 'registry.test/app:1', { components }));
  await shop.ready();
  await shop.apply(appSpec(2, 'registry.test/app:2', { components, podTemplate: slow }));
  const podsOn = async (node?: string) => {
    const pods = await shop.list(RESOURCES.Pod, 'berth.dev/revision-id=r2');
    return pods.filter((pod) => {
      const { nodeName } = pod['spec'] as { nodeName?: string };
      return nodeName !== undefined && (node === undefined || nodeName === node);
    });
  };
  const [pod] = await waitFor(
    'a pod of the new revision',
    async () => {
      const pods = await podsOn();
      return pods.length > 0 && pods;
    },
    { timeoutMs: 60_000 },
  );
  const { nodeName: node = '' } = (pod?.['spec'] ?? {}) as { nodeName?: string };
  const ready = { type: 'Ready', status: 'False', reason: 'KubeletNotReady', message: 'gone' };
  const now = new Date().toISOString();
  await kubectl(own, [
    'patch',
    'node',
    node,
    '--subresource=status',
    '--patch',
    JSON.stringify({
      status: { conditions: [{ ...ready, lastHeartbeatTime: now, lastTransitionTime: now }] },
    }),
  ]);
  await waitFor(
    'the node to be closed',
    async () =>
      (await kubectl(own, ['get', 'node', node, '-o', 'json'])).includes('node.kubernetes.io/not-ready'),
    { timeoutMs: 60_000 },
  );
  expect((await shop.status()).failedRevision).toBeUndefined();
  // What the cluster does after five minutes: the pods of a lost node are given up.
  const everyPod = await shop.list(RESOURCES.Pod);
  const lost = everyPod.filter((found) => (found['spec'] as { nodeName?: string }).nodeName === node);
  for (const { metadata } of lost) {
    await client.delete(RESOURCES.Pod, { namespace: 'shop', name: metadata.name }, { gracePeriodSeconds: 0 });
  }
  const status = await shop.ready();
  expect(status.activeRevision).toMatchObject({ id: 'r2' });
  expect(status.failedRevision).toBeUndefined();
  expect(condition(status, 'Serving')).toBe('True Available');
  const running = (await shop.list(RESOURCES.Pod)).filter(
    (found) => found.metadata.deletionTimestamp === undefined && isReadyPod(found as unknown as ObservedPod),
  );
  expect(running.length).toBe(4);
  expect(await podsOn(node)).toEqual([]);
});
