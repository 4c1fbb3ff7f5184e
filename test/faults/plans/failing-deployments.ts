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
 * A container ends once more, of each pod in its turn. A thousand that wait for five minutes after each end change their
 * pods some ten times a second, however many these are here: so often the operator has to look at what fails.
 */
const CRASH_EVERY_MS = 80;
/**
 * One of them is changed to another image that fails. A rollout is work for everybody, for API server, scheduler and
 * simulated nodes most of all, and what they take of two processors is nobody's starving: so it is seldom.
 */
export const CHANGE_EVERY_MS = 2_000;
/** Of what the time allows so much has come about, however slow the machine is: then they were there. */
const LEAST_PART = 1 / 2;
/** For a revision that fails the operator applies a workload and tells statuses and an Event; the least of these. */
const LEAST_REQUESTS = 2;

export const failingImage = (number: number) => `fail-crash-loop.${number}`;

/** Those whose pods fail, and can be changed so that they fail anew. */
export interface FailingPods {
  /** What the names of their pods begin with, and nobody else's. */
  readonly prefix: string;
  /** Changes one of them to another image that fails; `number` is a new one each time, from 1 on. */
  failAnew(number: number): Promise<void>;
}

const NAME = 'failing-';

/** Deployments of Berth's, without marks of another manager (O7): those are on the healthy ones. */
export async function makeFailing(world: FaultWorld, count: number): Promise<FailingPods> {
  const names = Array.from({ length: count }, (_, index) => `${NAME}${index}`);
  const ids: string[] = [];
  await inParallel(names, async (name) => {
    const body = smallDeployment(name, { image: imageOf(failingImage(0)) });
    ids.push((await callUntilSuccess(world, 'POST', '/v2/deployments', body)).id);
  });
  return {
    prefix: NAME,
    failAnew: (number) => changeImage(world, ids[number % ids.length] ?? '', failingImage(number)),
  };
}

const FAILED = `SELECT count(*)::int AS failed FROM revisions WHERE status = 'DEPLOY_FAILED'`;

/** Revisions that have failed. */
export async function failures(world: FaultWorld): Promise<number> {
  return (await world.sql<{ failed: number }>(FAILED))[0]?.failed ?? 0;
}

/** Of those whose simulated node has come to its end with them (`test/cluster/stages`): it does not write them any more. */
const NODE_RESTARTS = 5;

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

/** Has a container of the next pod end once more, as its node would tell it. False: there is none that has failed. */
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
      // Another revision has come meanwhile.
      if (!(error instanceof KubeError) || error.kind !== 'not_found') throw error;
      return false;
    }
  };
}

/** Again and again, at most once in `ms`, until the signal fires. Returns how often there was something to do. */
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

export interface GoingOn {
  readonly seconds: number;
  /** Containers that ended once more. */
  readonly crashes: number;
  /** Changes to another image that fails. */
  readonly changes: number;
}

/** Has them go on failing while `meanwhile` is under way. */
export async function goingOn<T>(
  world: FaultWorld,
  load: FailingPods,
  meanwhile: () => Promise<T>,
): Promise<readonly [T, GoingOn]> {
  const from = Date.now();
  const over = new AbortController();
  const { signal } = over;
  const [result, crashes, changes] = await Promise.all([
    meanwhile().finally(() => over.abort()),
    each(CRASH_EVERY_MS, signal, crashing(world, load)),
    each(CHANGE_EVERY_MS, signal, async (number) => {
      await load.failAnew(number + 1);
      return true;
    }),
  ]);
  return [result, { seconds: (Date.now() - from) / 1000, crashes, changes }];
}

export interface Failed extends GoingOn {
  /** Changes of their pods that the operator was told of by its watch: a look for each, or for some at once. */
  readonly told: number;
  /** Revisions that have come to their failure. */
  readonly revisions: number;
  /** What the operator has asked of the API server about them. */
  readonly requests: number;
}

/** The same for those of `makeFailing`, with what Berth has had to do with them. */
export async function whileFailing<T>(
  world: FaultWorld,
  load: FailingPods,
  meanwhile: () => Promise<T>,
): Promise<readonly [T, Failed]> {
  const told = countPodChanges(world, ({ name }) => name?.startsWith(NAME) === true);
  const [from, before] = [Date.now(), await failures(world)];
  const [result, gone] = await goingOn(world, load, meanwhile);
  const requests = world.kubernetes
    .exchanges('operator')
    .filter(({ at, name }) => at >= from && name.startsWith(NAME)).length;
  const revisions = (await failures(world)) - before;
  return [result, { ...gone, told: told(), revisions, requests }];
}

function leastOf(seconds: number, checks: Checks) {
  return (number: number, everyMs: number, what: string, times = 1) => {
    const least = Math.floor(((seconds * 1000) / everyMs) * LEAST_PART) * times;
    checks.that(
      number >= least,
      `${number} ${what} in ${seconds.toFixed(0)} s, at least ${least} were expected`,
    );
  };
}

/** They were there: else nobody would starve beside them. */
export function checkGoingOn({ seconds, crashes, changes }: GoingOn, checks: Checks, tell: AddFigure): void {
  tell(`meanwhile, in ${seconds.toFixed(0)} s, ${crashes} containers crashed, and ${changes} were changed`);
  const asks = leastOf(seconds, checks);
  asks(crashes, CRASH_EVERY_MS, 'containers crashed');
  asks(changes, CHANGE_EVERY_MS, 'were changed');
}

/** Berth has felt it. */
export function checkFailed(
  { seconds, told, revisions, requests }: Failed,
  checks: Checks,
  tell: AddFigure,
): void {
  tell(
    `${revisions} revisions failed; the operator was told of ${told} changes of pods that fail, and asked for ${requests} things about them`,
  );
  const asks = leastOf(seconds, checks);
  asks(told, CRASH_EVERY_MS, 'changes of pods that fail were told to the operator');
  asks(revisions, CHANGE_EVERY_MS, 'revisions failed');
  asks(requests, CHANGE_EVERY_MS, 'things were asked by the operator about those that fail', LEAST_REQUESTS);
}
