import type { ChildProcess } from 'node:child_process';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { KubeClient } from '../../../../src/cluster/kube/client/client.ts';
import type { UntypedObject } from '../../../../src/cluster/kube/client/object.ts';
import { RESOURCES, type Resource } from '../../../../src/cluster/kube/client/resources.ts';
import type { ManagedDeploymentStatus } from '../../../../src/contract/resource/managed-deployment.ts';
import { kill, killWhen, startVictim } from '../../harness/kill.ts';
import { type OperatorWorld, operatorWorld } from '../../harness/operator.ts';
import { App, adminClient, appSpec } from '../../harness/rollouts.ts';

/** kill -9 around the failure of a rollout: it ends as it would have ended. */

let world: OperatorWorld;
let client: KubeClient;
const children: ChildProcess[] = [];

beforeAll(async () => {
  world = await operatorWorld('rollback');
  client = await adminClient();
});
afterEach(async () => {
  await Promise.all(children.splice(0).map(kill));
});
afterAll(async () => {
  await client.close();
  await world.end();
});

async function started(identity: string): Promise<ChildProcess> {
  const child = await startVictim(world.another(identity));
  children.push(child);
  return child;
}

const seen = (resource: Resource) => ({ client, namespace: world.namespace, resource });
const scale = (count: number) => ({ scale: { min: count, max: count } });
const components = { api: scale(2), queue: scale(1), orchestrator: scale(1), executor: scale(1) };
const failedOf = (object: UntypedObject) =>
  (object['status'] as ManagedDeploymentStatus | undefined)?.failedRevision;
const imageOf = (object: UntypedObject) =>
  JSON.stringify(object['spec']).match(/registry\.test\/app:[\w-]+/)?.[0];

test.each(['recorded', 'restoring'] as const)(
  'completes a rollback without another attempt when the operator is killed (failure %s)',
  async (moment) => {
    const shop = new App(client, world.namespace, moment);
    const first = await started('first');
    await shop.apply(appSpec(1, 'registry.test/app:1', { components }));
    const before = await shop.ready();
    const workloads = await shop.workloads();
    const serving = await shop.watchServing('r1', { api: 2, queue: 1, orchestrator: 1, executor: 1 });
    let changed = false;
    const killing =
      moment === 'recorded'
        ? await killWhen(first, seen(RESOURCES.ManagedDeployment), (object) => {
            return object.metadata.name === moment && failedOf(object)?.id === 'r2';
          })
        : await killWhen(first, seen(RESOURCES.Deployment), (object) => {
            if (object.metadata.name !== `${moment}-api`) return false;
            changed ||= imageOf(object) === 'registry.test/app:fail-crash-loop';
            return changed && imageOf(object) === 'registry.test/app:1';
          });
    await shop.apply(appSpec(2, 'registry.test/app:fail-crash-loop', { components }));
    await killing.done;
    const record = (await shop.status()).failedRevision;
    expect(record).toMatchObject({ id: 'r2', reason: 'CrashLoop' });
    await started('second');
    const status = await shop.rolledBack();
    expect(status.failedRevision).toEqual(record);
    expect(status.activeRevision).toEqual(before.activeRevision);
    expect(await shop.workloads()).toEqual(workloads);
    expect(await serving.stop()).toEqual([]);
  },
);
