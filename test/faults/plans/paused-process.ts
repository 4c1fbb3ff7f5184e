/** A process that sleeps at one of its writes while the world goes on without it, and what it does when it wakes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import { waitFor } from '../../cluster/wait.ts';
import { kubernetesEffect } from '../effects.ts';
import { orphans } from '../oracles/orphans.ts';
import type { FaultPlan, Violation } from '../plan.ts';
import type { KubernetesRequest } from '../proxies/kubernetes-traffic.ts';
import { SETTLED_MS } from '../record.ts';
import { callUntilSuccess } from '../retrying-client.ts';
import { workloadNamed } from '../workloads.ts';
import type { FaultRole, FaultWorld } from '../world.ts';
import { untilLeads } from './replaced-process.ts';
import { broken, change, idOf, imageOf, live, runningDeployment, scaleOf } from './steps.ts';

/** The one that wakes may do its worst for so long. */
const AWAKE_MS = 3_000;
const GONE_MS = 90_000;

export async function untilGone(world: FaultWorld, id: string): Promise<void> {
  const isGone = async () => (await world.call('GET', `/v2/deployments/${id}`)).status === 404;
  await waitFor(`${id} to be gone`, isGone, { timeoutMs: GONE_MS, intervalMs: 100 });
}

interface PausedProcess {
  /** Resolves when it sleeps. */
  readonly paused: Promise<void>;
  /** Lets the write go on, wakes the process, and gives it time. Resolves with its writes since then. */
  wake(): Promise<readonly string[]>;
}

/** @param when `before`: the write goes out when the process is woken; `after`: it was carried out, its answer waits */
function pauseAt(world: FaultWorld, role: FaultRole, what: string, when: 'before' | 'after'): PausedProcess {
  const { promise: free, resolve: letGo } = Promise.withResolvers<void>();
  const { promise: paused, resolve: sleeps } = Promise.withResolvers<void>();
  const pausedProcess = world.process(role);
  const run = async () => {
    pausedProcess.signal('SIGSTOP');
    sleeps();
    await free;
  };
  world.kubernetes.add({
    match: (request: KubernetesRequest) => request.client === role && kubernetesEffect(request) === what,
    fault: { kind: when, run },
    times: 1,
  });
  const wake = async () => {
    const from = Date.now();
    letGo();
    await sleep(SETTLED_MS);
    pausedProcess.signal('SIGCONT');
    await sleep(AWAKE_MS);
    return world.kubernetes
      .exchanges(role)
      .filter(({ at, endedAt }) => at >= from || endedAt >= from)
      .flatMap((exchange) => {
        const effect = kubernetesEffect(exchange);
        return effect === undefined || effect === 'tell events'
          ? []
          : [`${effect}: ${exchange.upstreamStatus}${exchange.at < from ? ' (held)' : ''}`];
      });
  };
  return { paused, wake };
}

export const writtenByFormer = (write: string) => broken(`written by one that was replaced: ${write}`);

const isTaken = (write: string) => /: 2\d\d\b/.test(write);
const isHeld = (write: string) => write.endsWith('(held)');

const takenForGone = (writes: readonly string[]) =>
  writes.filter(isTaken).map((write) => broken(`carried out for a deployment that is gone: ${write}`));

const deletedAsleep: FaultPlan = {
  name: 'deletion/paused/operator-apply',
  says: 'The operator is stopped (SIGSTOP) before it applies a Deployment until all of that has been deleted; then the apply goes out: refused.',
  run: async (world): Promise<Violation[]> => {
    const { id } = await runningDeployment(world);
    const { paused, wake } = pauseAt(world, 'operator', 'apply deployments shop-x-api', 'before');
    await change(world, id, imageOf('2.0.0'));
    await paused;
    await callUntilSuccess(world, 'DELETE', `/v2/deployments/${id}`);
    await untilGone(world, id);
    return takenForGone(await wake());
  },
};

const listenerAsleep: FaultPlan = {
  name: 'deletion/paused/listener-apply',
  says: 'The listener is stopped before it applies a custom resource until another one has done it and deleted all of it; then the apply goes out: refused.',
  deadlineSeconds: 240,
  run: async (world): Promise<Violation[]> => {
    const { id } = await runningDeployment(world);
    const successor = await world.start('listener', 'listener-2');
    const { paused, wake } = pauseAt(world, 'listener', 'apply manageddeployments shop-x', 'before');
    await change(world, id, imageOf('2.0.0'));
    await paused;
    await untilLeads(world, successor);
    await world.ready(id);
    await callUntilSuccess(world, 'DELETE', `/v2/deployments/${id}`);
    await untilGone(world, id);
    return takenForGone(await wake());
  },
};

export const SCALED = { source_config: { resource_spec: { min_scale: 1, max_scale: 3 } } };

const formerAutoscaler: FaultPlan = {
  name: 'two-of-each/operator/delete-of-a-former-autoscaler',
  says: 'The operator is stopped before it deletes an autoscaler; another one does it and makes a new one of the name; then the delete goes out: refused.',
  recreates: [RESOURCES.HorizontalPodAutoscaler.kind],
  deadlineSeconds: 240,
  run: async (world): Promise<Violation[]> => {
    const { id, app } = await runningDeployment(world, SCALED.source_config.resource_spec);
    const successor = await world.start('operator', 'operator-2');
    const what = 'delete horizontalpodautoscalers shop-x-api';
    const { paused, wake } = pauseAt(world, 'operator', what, 'before');
    await change(world, id, scaleOf(2));
    await paused;
    await untilLeads(world, successor);
    await world.ready(id);
    await change(world, id, SCALED);
    await world.ready(id);
    const autoscaler = () => live(world, RESOURCES.HorizontalPodAutoscaler, `${app}-api`);
    const { uid } = (await autoscaler()).metadata;
    const taken = (await wake()).filter(isTaken);
    await world.ready(id);
    const isSame = (await autoscaler()).metadata.uid === uid;
    return [
      ...taken.map((write) => broken(`carried out for one that was replaced: ${write}`)),
      ...(isSame ? [] : [broken('the new autoscaler is another one')]),
    ];
  },
};

/** Its next write is to the autoscaler. */
export const OTHER_CEILING = {
  ...imageOf('2.0.0'),
  source_config: { resource_spec: { min_scale: 1, max_scale: 4 } },
};

const wokenOperator: FaultPlan = {
  name: 'two-of-each/operator/resumed',
  says: 'The operator is stopped when its apply was carried out, until another leads and has done the rest; it wakes, and writes nothing more.',
  deadlineSeconds: 240,
  run: async (world): Promise<Violation[]> => {
    const { id } = await runningDeployment(world, SCALED.source_config.resource_spec);
    const successor = await world.start('operator', 'operator-2');
    const { paused, wake } = pauseAt(world, 'operator', 'apply deployments shop-x-api', 'after');
    await change(world, id, OTHER_CEILING);
    await paused;
    await untilLeads(world, successor);
    await world.ready(id);
    const more = (await wake()).filter((write) => !isHeld(write));
    return more.map(writtenByFormer);
  },
};

const create = workloadNamed('create');

const wokenListener: FaultPlan = {
  name: 'two-of-each/listener/resumed',
  says: 'The listener is stopped when its Secret was made, until another one has done the rest and all was deleted; it wakes, cut off from the hub, and writes nothing more.',
  deadlineSeconds: 240,
  run: async (world): Promise<Violation[]> => {
    const given = await create.prepare(world);
    const successor = await world.start('listener', 'listener-2');
    const { paused, wake } = pauseAt(world, 'listener', 'create secrets shop-x-env-1', 'after');
    const now = await create.run(world, given);
    await paused;
    // Nobody but its own clock will tell it.
    world.hub.cut('listener');
    await untilLeads(world, successor);
    await create.end(world, now);
    const id = idOf(now);
    await callUntilSuccess(world, 'DELETE', `/v2/deployments/${id}`);
    await untilGone(world, id);
    const more = (await wake()).filter((write) => !isHeld(write));
    world.hub.open('listener');
    return more.map(writtenByFormer);
  },
};

/** What the listener POSTs in the course of a creation. */
const LISTENER_POSTS = ['create secrets shop-x-env-1', 'create manageddeployments shop-x'];
/** The garbage collector and the work that the hub hands out have their time. */
const TIDIED_MS = 30_000;

function lateListener(what: string): FaultPlan {
  return {
    name: `deletion/paused/listener-${what.replaceAll(' ', '-')}`,
    says: `The listener is stopped before its "${what}" until another one has made all of it and deleted it; then that goes out, and is carried out: it is gone with the next complete inventory at the latest.`,
    deadlineSeconds: 240,
    run: async (world): Promise<Violation[]> => {
      const given = await create.prepare(world);
      const successor = await world.start('listener', 'listener-2');
      const { paused, wake } = pauseAt(world, 'listener', what, 'before');
      const now = await create.run(world, given);
      await paused;
      await untilLeads(world, successor);
      await create.end(world, now);
      const id = idOf(now);
      await callUntilSuccess(world, 'DELETE', `/v2/deployments/${id}`);
      await untilGone(world, id);
      const writes = await wake();
      const late = writes.filter((write) => isTaken(write) && isHeld(write));
      const more = writes.filter((write) => !isHeld(write));
      // Each term begins with an inventory; within one they come every ten minutes. As if a minute had gone by since.
      await world.sql('UPDATE tombstones SET look_again_at = now() WHERE id = $1', [id]);
      await world.kill('listener-2');
      await world.freeLeases(successor);
      await untilLeads(world, world.process('listener'));
      const isGone = async () => (await orphans(world)).length === 0;
      await waitFor('nothing to be left', isGone, { timeoutMs: TIDIED_MS, intervalMs: 250 });
      return [
        ...(late.length === 1 ? [] : [broken(`what was held was not carried out: ${writes.join(', ')}`)]),
        ...more.map(writtenByFormer),
      ];
    },
  };
}

export const pausedProcessPlans: readonly FaultPlan[] = [
  deletedAsleep,
  listenerAsleep,
  ...LISTENER_POSTS.map(lateListener),
  formerAutoscaler,
  wokenOperator,
  wokenListener,
];
