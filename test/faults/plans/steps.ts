/** Situations, traps and looks that plans of several kinds share. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import type { Resource } from '../../../src/cluster/kube/client/resources.ts';
import { appName } from '../../../src/contract/resource/names.ts';
import { waitFor } from '../../cluster/wait.ts';
import { isReady } from '../../integration/harness/berth-setup.ts';
import { smallDeployment } from '../../integration/harness/samples.ts';
import { type Effect, Occurrences } from '../effects.ts';
import { markForeign } from '../oracles/foreign-fields.ts';
import type { Given, Violation, Workload } from '../plan.ts';
import { SETTLED_MS } from '../record.ts';
import { callUntilSuccess } from '../retrying-client.ts';
import type { FaultRole, FaultWorld } from '../world.ts';
import { isCarriedOut, type Passing, proxyOf } from './kill.ts';

/** A deployment that is READY, has nothing under way, and bears the marks of another manager (O7). */
export interface RunningDeployment {
  readonly id: string;
  /** What the names of its objects begin with. */
  readonly app: string;
}

/** With every kind of object that a deployment of one's own has: an autoscaler, a disruption budget, a queue. */
export const ALL_KINDS = { min_scale: 2, max_scale: 4, queue_cpu: 0.1 };

export async function runningDeployment(
  world: FaultWorld,
  resource_spec: object = {},
  name = 'shop',
): Promise<RunningDeployment> {
  const { id } = await world.create(smallDeployment(name, { source_config: { resource_spec } }));
  await world.ready(id);
  await markForeign(world, id);
  await world.quiet({ forMs: SETTLED_MS });
  return { id, app: appName(name, id) };
}

export const imageOf = (version: string) => ({
  source_revision_config: { image_uri: `registry.example/shop/web:${version}` },
});

export const change = (world: FaultWorld, id: string, what: object) =>
  callUntilSuccess(world, 'PATCH', `/v2/deployments/${id}`, what);

export const scaleOf = (pods: number) => ({
  source_config: { resource_spec: { min_scale: pods, max_scale: pods } },
});

/** As the API server has it now. @throws KubeError when it is not there */
export const live = (world: FaultWorld, resource: Resource, name: string): Promise<UntypedObject> =>
  world.admin.get(resource, { namespace: world.namespace, name });

export const broken = (message: string): Violation => ({ oracle: 'plan', message });

/** One look at what a client is told: what was wanted last is there. */
export async function isThere(world: FaultWorld, id: string): Promise<boolean> {
  const { status, body } = await world.call('GET', `/v2/deployments/${id}`);
  return status === 200 && isReady(body);
}

/** None, or that it took longer than it may. */
export async function within(
  seconds: number,
  what: string,
  check: () => Promise<unknown>,
): Promise<Violation[]> {
  try {
    const bound = { timeoutMs: seconds * 1000, intervalMs: 100, strict: true };
    await waitFor(what, async () => Boolean(await check()), bound);
    return [];
  } catch (error) {
    return [broken(error instanceof Error ? error.message : String(error))];
  }
}

/** The same when it has been so for this long without a break. @returns none, or what it was instead */
export async function stays(
  seconds: number,
  what: string,
  check: () => Promise<boolean>,
): Promise<Violation[]> {
  const until = Date.now() + seconds * 1000;
  while (Date.now() < until) {
    if (!(await check())) return [broken(`${what} did not stay so`)];
    await sleep(200);
  }
  return [];
}

/** The workload, and beside it a second deployment that no fault is about: it is made and READY before the end. */
export function beside(workload: Workload): Workload {
  return {
    name: `${workload.name}-beside`,
    prepare: workload.prepare,
    run: async (world, given) => {
      const now = await workload.run(world, given);
      const { id } = await world.create(smallDeployment('healthy'));
      await world.ready(id);
      return now;
    },
    end: workload.end,
  };
}

export function idOf({ id }: Given): string {
  if (id === undefined) throw new Error('failed to go on: the workload has made no deployment');
  return id;
}

/** The answer to this effect is lost on its way back; counted from now on. @returns whether one was that had been carried out */
export function loseAnswer(world: FaultWorld, effect: Effect): () => boolean {
  const { proxy, whatOf } = proxyOf(world, effect);
  const occurrences = new Occurrences();
  let isLost = false;
  proxy.add({
    match: (passing) => {
      if ((passing as Passing).client !== effect.role) return false;
      const what = whatOf(passing);
      return what === effect.what && occurrences.next(what) === effect.occurrence;
    },
    fault: {
      kind: 'lose',
      run: (_, answer) => {
        isLost = isCarriedOut(answer);
      },
    },
    times: 1,
  });
  return () => isLost;
}

/** Starts a role anew without waiting for it: what it needs may be away. */
export async function restartWithoutWaiting(world: FaultWorld, role: FaultRole): Promise<void> {
  await world.restart(role, { wait: false });
}
