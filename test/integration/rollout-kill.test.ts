import type { ChildProcess } from 'node:child_process';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { ManagedDeploymentStatus } from '../../src/contract/managed-deployment.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import type { UntypedObject } from '../../src/kube/object.ts';
import { Reflector } from '../../src/kube/reflector.ts';
import { RESOURCES, type Resource } from '../../src/kube/resources.ts';
import { waitFor } from '../cluster/wait.ts';
import { forkOperator, type OperatorWorld, operatorWorld } from './harness/operator.ts';
import { App, adminClient, appSpec } from './harness/rollouts.ts';

/** kill -9 around the failure of a rollout: it ends as it would have ended. */

let world: OperatorWorld;
let client: KubeClient;
const children: ChildProcess[] = [];

beforeAll(async () => {
  world = await operatorWorld('rollback');
  client = await adminClient();
});
afterEach(async () => {
  await Promise.all(children.splice(0).map(killed));
});
afterAll(async () => {
  await client.close();
  await world.end();
});

async function started(identity: string): Promise<ChildProcess> {
  const child = forkOperator(world.another(identity));
  children.push(child);
  let state = '';
  child.on('message', (told) => {
    state = String(told);
  });
  await waitFor(`${identity} to lead`, async () => state === 'leading', { timeoutMs: 60_000 });
  return child;
}

function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGKILL');
  });
}

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Kills the process in the very moment in which an object is seen that is as `when` says. */
async function killWhen(
  child: ChildProcess,
  resource: Resource,
  when: (object: UntypedObject) => boolean,
): Promise<{ done: Promise<void> }> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const watch = new Reflector({ client, resource, namespace: world.namespace, logger: silent });
  const look = (object: UntypedObject) => {
    if (!when(object)) return;
    child.kill('SIGKILL');
    resolve();
  };
  watch.addHandlers({ added: look, updated: look, deleted: () => {} });
  watch.start();
  await watch.waitForSync(AbortSignal.timeout(60_000));
  return { done: promise.then(() => watch.stop()).then(() => killed(child)) };
}

const scale = (count: number) => ({ scale: { min: count, max: count } });
const components = { api: scale(2), queue: scale(1), orchestrator: scale(1), executor: scale(1) };
const failedOf = (object: UntypedObject) =>
  (object['status'] as ManagedDeploymentStatus | undefined)?.failedRevision;
const imageOf = (object: UntypedObject) =>
  JSON.stringify(object['spec']).match(/registry\.test\/app:[\w-]+/)?.[0];

test.each(['recorded', 'restoring'] as const)(
  'killed when the failure is %s: the next operator ends the rollback, and tries nothing again',
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
        ? await killWhen(first, RESOURCES.ManagedDeployment, (object) => {
            return object.metadata.name === moment && failedOf(object)?.id === 'r2';
          })
        : await killWhen(first, RESOURCES.Deployment, (object) => {
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
