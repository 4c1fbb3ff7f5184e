/** Deployments of Berth that crash repeatedly. */
import { setTimeout as sleep } from 'node:timers/promises';
import { KubeError } from '../../../src/cluster/kube/client/errors.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import type { ObservedPod } from '../../../src/cluster/operator/observed.ts';
import { smallDeployment } from '../../integration/harness/samples.ts';
import type { AddFigure } from '../plan.ts';
import { callUntilSuccess } from '../retrying-client.ts';
import type { FaultWorld } from '../world.ts';
import { countPodChanges, inParallel } from './load-steps.ts';
import { type Checks, changeImage, imageOf } from './steps.ts';

/**
 * Pause between two crashes; the pods crash in turn. The pods of a thousand deployments that wait five minutes between
 * two attempts would change about ten times a second. The number of deployments here may be lower, but the operator gets
 * as many pod events.
 */
const CRASH_EVERY_MS = 80;
/**
 * Pause between two changes of a deployment to another failing image. A rollout is work for API server, scheduler and
 * simulated nodes. On two processors, this work would slow the healthy deployments even if Berth did nothing. So the
 * changes are rare.
 */
export const CHANGE_EVERY_MS = 2_000;
/** Minimum part of the possible crashes and changes that must have happened, even on a slow machine. */
const MIN_PART = 1 / 2;
/** Minimum number of requests per failed revision: the operator applies a workload, and writes statuses and an Event. */
const MIN_REQUESTS = 2;

export const failingImage = (number: number) => `fail-crash-loop.${number}`;

/** Deployments with failing pods. */
export interface FailingPods {
  /** Prefix of the names of their pods. No other pods have it. */
  readonly prefix: string;
  /** Changes one deployment to another failing image. `number` starts at 1 and is new in each call. */
  failAgain(number: number): Promise<void>;
}

const NAME = 'failing-';

/** Creates failing deployments in Berth, without marks of another manager (O7): only the healthy ones have marks. */
export async function makeFailing(world: FaultWorld, count: number): Promise<FailingPods> {
  const names = Array.from({ length: count }, (_, index) => `${NAME}${index}`);
  const ids: string[] = [];
  await inParallel(names, async (name) => {
    const body = smallDeployment(name, { image: imageOf(failingImage(0)) });
    ids.push((await callUntilSuccess(world, 'POST', '/v2/deployments', body)).id);
  });
  return {
    prefix: NAME,
    failAgain: (number) => changeImage(world, ids[number % ids.length] ?? '', failingImage(number)),
  };
}

const FAILED = `SELECT count(*)::int AS failed FROM revisions WHERE status = 'DEPLOY_FAILED'`;

/** Number of failed revisions in the database. */
export async function failures(world: FaultWorld): Promise<number> {
  return (await world.sql<{ failed: number }>(FAILED))[0]?.failed ?? 0;
}

/** After this number of restarts the simulated node (`test/cluster/stages`) does not change a pod any more. */
const NODE_RESTARTS = 5;

/** Pods of the failing deployments that the simulated node does not change any more. */
export async function failedPods(
  { admin, namespace }: FaultWorld,
  { prefix }: Pick<FailingPods, 'prefix'>,
): Promise<ObservedPod[]> {
  const { items } = await admin.list<ObservedPod>(RESOURCES.Pod, { namespace });
  return items.filter(
    ({ metadata, status }) =>
      metadata.name.startsWith(prefix) &&
      status?.containerStatuses?.some(({ restartCount = 0 }) => restartCount >= NODE_RESTARTS),
  );
}

/** Increments the restart count of the next pod, as a kubelet does after a crash. False if no pod is ready for this. */
function crashing(world: FaultWorld, load: FailingPods): () => Promise<boolean> {
  let pods: ObservedPod[] = [];
  return async () => {
    if (pods.length === 0) pods = await failedPods(world, load);
    const { metadata, status } = pods.pop() ?? {};
    if (metadata === undefined) return false;
    const containerStatuses = status?.containerStatuses?.map(({ restartCount = 0, ...container }) => ({
      ...container,
      restartCount: restartCount + 1,
    }));
    const at = { namespace: world.namespace, name: metadata.name };
    try {
      await world.admin.patch(
        RESOURCES.Pod,
        at,
        { status: { containerStatuses } },
        { subresource: 'status' },
      );
      return true;
    } catch (error) {
      // A rollout has deleted the pod.
      if (!(error instanceof KubeError) || error.kind !== 'not_found') throw error;
      return false;
    }
  };
}

/** Calls `once` at most every `ms` until the signal fires. Returns how many calls returned true. */
async function each(
  ms: number,
  signal: AbortSignal,
  once: (number: number) => Promise<boolean>,
): Promise<number> {
  let done = 0;
  for (let number = 0; !signal.aborted; number += 1) {
    const pause = sleep(ms, undefined, { signal }).catch(() => undefined);
    if (await once(number)) done += 1;
    await pause;
  }
  return done;
}

export interface CrashLoad {
  readonly seconds: number;
  /** Number of simulated crashes. */
  readonly crashes: number;
  /** Changes to another failing image. */
  readonly changes: number;
}

/** Lets the deployments crash and change while `meanwhile` runs. */
export async function whileCrashing<T>(
  world: FaultWorld,
  load: FailingPods,
  meanwhile: () => Promise<T>,
): Promise<readonly [T, CrashLoad]> {
  const from = Date.now();
  const over = new AbortController();
  const { signal } = over;
  const [result, crashes, changes] = await Promise.all([
    meanwhile().finally(() => over.abort()),
    each(CRASH_EVERY_MS, signal, crashing(world, load)),
    each(CHANGE_EVERY_MS, signal, async (number) => {
      await load.failAgain(number + 1);
      return true;
    }),
  ]);
  return [result, { seconds: (Date.now() - from) / 1000, crashes, changes }];
}

export interface Failed extends CrashLoad {
  /** Changes of failing pods that the operator's watch has received. */
  readonly podChanges: number;
  /** Revisions that have failed. */
  readonly revisions: number;
  /** Requests of the operator about these deployments. */
  readonly requests: number;
}

/** As `whileCrashing`, for the deployments of `makeFailing`, with the work that Berth had with them. */
export async function whileFailing<T>(
  world: FaultWorld,
  pods: FailingPods,
  meanwhile: () => Promise<T>,
): Promise<readonly [T, Failed]> {
  const podChanges = countPodChanges(world, ({ name }) => name?.startsWith(NAME) === true);
  const [from, before] = [Date.now(), await failures(world)];
  const [result, load] = await whileCrashing(world, pods, meanwhile);
  const requests = world.kubernetes
    .exchanges('operator')
    .filter(({ at, name }) => at >= from && name.startsWith(NAME)).length;
  const revisions = (await failures(world)) - before;
  return [result, { ...load, podChanges: podChanges(), revisions, requests }];
}

function atLeast(seconds: number, checks: Checks) {
  return (number: number, everyMs: number, what: string, times = 1) => {
    const min = Math.floor(((seconds * 1000) / everyMs) * MIN_PART) * times;
    checks.that(number >= min, `${number} ${what} in ${seconds.toFixed(0)} s, at least ${min} were expected`);
  };
}

/** Checks that the failing deployments caused enough load. Otherwise the plan proves nothing. */
export function checkCrashes(
  { seconds, crashes, changes }: CrashLoad,
  checks: Checks,
  addFigure: AddFigure,
): void {
  addFigure(
    `meanwhile, in ${seconds.toFixed(0)} s, ${crashes} containers crashed, and ${changes} deployments were changed`,
  );
  const check = atLeast(seconds, checks);
  check(crashes, CRASH_EVERY_MS, 'containers crashed');
  check(changes, CHANGE_EVERY_MS, 'deployments were changed');
}

/** Checks that Berth had enough work with them. */
export function checkFailed(
  { seconds, podChanges, revisions, requests }: Failed,
  checks: Checks,
  addFigure: AddFigure,
): void {
  addFigure(
    `${revisions} revisions failed; the operator received ${podChanges} changes of failing pods, and made ${requests} requests about them`,
  );
  const check = atLeast(seconds, checks);
  check(podChanges, CRASH_EVERY_MS, 'changes of failing pods reached the operator');
  check(revisions, CHANGE_EVERY_MS, 'revisions failed');
  check(requests, CHANGE_EVERY_MS, 'requests of the operator were about failing deployments', MIN_REQUESTS);
}
