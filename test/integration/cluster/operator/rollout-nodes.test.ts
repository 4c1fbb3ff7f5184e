import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKubeClient, type KubeClient } from '../../../../src/cluster/kube/client/client.ts';
import { isKubeError } from '../../../../src/cluster/kube/client/errors.ts';
import { RESOURCES } from '../../../../src/cluster/kube/client/resources.ts';
import type { ObservedPod } from '../../../../src/cluster/operator/observed.ts';
import { isReadyPod } from '../../../../src/cluster/operator/pods/pod-trouble.ts';
import { FEW_COLLECTIONS, type LocalCluster, startCluster } from '../../../cluster/cluster.ts';
import { deletePodAtOnce } from '../../../cluster/delete-pod.ts';
import { kubectl } from '../../../cluster/kubectl.ts';
import { waitFor } from '../../../cluster/wait.ts';
import { BERTH_NAMESPACE, installBerth, roleKubeconfigs } from '../../../installation/install.ts';
import { condition, RENDERING, type RunningOperator, startOperator } from '../../harness/operator.ts';
import { App, appSpec } from '../../harness/rollouts.ts';

/** A node that goes away in the middle of a rollout: in a cluster of its own, for nodes are shared by all tests. */

let own: LocalCluster;
let operator: RunningOperator;
let client: KubeClient;
const folder = mkdtempSync(join(realpathSync(tmpdir()), 'berth-nodes-'));

beforeAll(async () => {
  own = await startCluster({ ...FEW_COLLECTIONS, log: () => {}, fsync: false });
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

const patchNode = (node: string, is: 'True' | 'False') => {
  const now = new Date().toISOString();
  const reason = is === 'True' ? 'KubeletReady' : 'KubeletNotReady';
  const said = { type: 'Ready', status: is, reason, message: 'said so', lastHeartbeatTime: now };
  const patch = JSON.stringify({ status: { conditions: [{ ...said, lastTransitionTime: now }] } });
  return kubectl(own, ['patch', 'node', node, '--subresource=status', '--patch', patch]);
};

const markPod = (pod: string, status: 'True' | 'False') => {
  const patch = JSON.stringify({ status: { conditions: [{ type: 'Ready', status }] } });
  return kubectl(own, ['-n', 'shop', 'patch', 'pod', pod, '--subresource=status', '--patch', patch]);
};

/** As when its kubelet says so; the cluster closes it. */
async function lose(node: string): Promise<void> {
  await patchNode(node, 'False');
  await waitFor(
    'the node to be closed',
    async () =>
      (await kubectl(own, ['get', 'node', node, '-o', 'json'])).includes('node.kubernetes.io/not-ready'),
    { timeoutMs: 60_000 },
  );
}

test('completes a rollout on the other nodes when a node becomes NotReady', async () => {
  const shop = new App(client, 'shop', 'nodes');
  const components = { api: { scale: { min: 4, max: 4 } } };
  const slow = { labels: { 'sim.example/fail': 'slow-start' } };
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
  await lose(node);
  expect((await shop.status()).failedRevision).toBeUndefined();
  // What the cluster does after five minutes: the pods of a lost node are given up.
  const everyPod = await shop.list(RESOURCES.Pod);
  const lost = everyPod.filter((found) => (found['spec'] as { nodeName?: string }).nodeName === node);
  for (const { metadata } of lost) {
    const at = { namespace: 'shop', name: metadata.name };
    await deletePodAtOnce(client, at).catch((error: unknown) => {
      // The rollout takes pods away as well.
      if (!isKubeError(error, 'not_found')) throw error;
    });
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

test('names the NotReady node of a database, keeps serving, and returns to READY with the node', async () => {
  const shop = new App(client, 'shop', 'homeless');
  const spec = { revision: { id: 'r1', number: 1, image: 'registry.test/app:1' }, cache: { external: true } };
  await shop.apply(spec);
  await shop.ready();
  const [pod] = await shop.list(RESOURCES.Pod, 'app.kubernetes.io/component=database');
  const { nodeName: node = '' } = (pod?.['spec'] ?? {}) as { nodeName?: string };
  await lose(node);
  // What the cluster does to the pods of a node that is not heard of for 40 seconds: without a word.
  await markPod('homeless-db-0', 'False');
  const lost = await shop.until(
    'awaiting its database, with the reason',
    (now) =>
      now.deploymentStatus === 'AWAITING_DATABASE' &&
      (now.conditions ?? []).some(
        ({ type, message }) => type === 'DatabaseReady' && message.includes('Node'),
      ),
  );
  expect(condition(lost, 'DatabaseReady')).toBe('False DatabaseUnavailable');
  expect(lost.conditions?.find(({ type }) => type === 'DatabaseReady')?.message).toBe(
    `the database was ready and is no longer ready: pod homeless-db-0: NodeNotReady: node ${node} is not ready`,
  );
  await patchNode(node, 'True');
  // Its kubelet says it again.
  await markPod('homeless-db-0', 'True');
  const back = await shop.ready();
  expect(back.deploymentStatus).toBe('READY');
});
