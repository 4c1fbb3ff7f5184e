/** The API server rejects calls of operator or listener about one deployment: they are not repeated blindly, and no other deployment suffers. */

import { setTimeout as sleep } from 'node:timers/promises';
import { kubernetesEffect } from '../effects.ts';
import type { FaultPlan, Given, Violation } from '../plan.ts';
import type { KubernetesExchange, KubernetesVerb } from '../proxies/kubernetes-traffic.ts';
import type { FaultWorld } from '../world.ts';
import {
  type Answers,
  injectAnswers,
  isCommon,
  isOfShop,
  isRead,
  USES,
  type Use,
} from './injected-answers.ts';
import { EffectDidNotOccur } from './kill.ts';
import {
  blindRetries,
  frequentRetries,
  isRefused,
  LONG_PAUSES,
  type News,
  pathOf,
  rejectedFigure,
  watchNews,
} from './retries.ts';
import {
  broken,
  change,
  idOf,
  imageChange,
  prepared,
  restartWithoutWaiting,
  runningDeployment,
  within,
  withSecondDeployment,
} from './steps.ts';

const IN_SUBSET: ReadonlySet<string> = new Set([
  'status-codes/operator/apply/throttled',
  'status-codes/listener/create/burst',
]);

/** Number of injected responses of a burst, and of conflicts. */
const CONSECUTIVE = 3;
const RETRY_AFTER_S = 3;
/** Tolerance for waits that are rounded to milliseconds. */
const ROUNDING_MS = 20;
/** How long a lasting response is injected. */
const LASTS_MS = 6_000;
/** The first attempts of a backoff follow each other quickly. After them, at most one a second is allowed. */
const FAST_TRIES = 4;

const ANSWERS: Readonly<Record<string, Answers>> = {
  burst: { says: '500, 503 and 504', statuses: [500, 503, 504], fits: () => true },
  throttled: {
    says: `429 twice, with Retry-After ${RETRY_AFTER_S}`,
    statuses: [429, 429],
    headers: { 'retry-after': String(RETRY_AFTER_S) },
    fits: () => true,
  },
  forbidden: { says: '403 until the right is granted again', statuses: [403], lasts: true, fits: () => true },
  conflict: { says: '409 three times', statuses: [409, 409, 409], fits: (used) => !isRead(used) },
};

/** Causes the call. Lists occur only at a start, and watches after the previous one has ended. */
async function provoke(world: FaultWorld, { role, verb, resource }: Use): Promise<void> {
  if (verb === 'list') await restartWithoutWaiting(world, role);
  if (verb === 'watch')
    world.kubernetes.add({
      match: (request) =>
        request.client === role && request.verb === 'watch' && request.resource === resource,
      fault: { kind: 'cut-watch', afterEvents: 0, how: 'end' },
      times: 1,
    });
}

/** Checks that the injected responses occurred, and that no attempt was blind. */
function notBlind(used: Use, tries: readonly KubernetesExchange[], news: News): Violation[] {
  const rejected = tries.filter(isRefused).length;
  if (rejected < CONSECUTIVE) return [broken(`only ${rejected} injected responses`)];
  return blindRetries(tries, news).map((line) => broken(`"${used.verb} ${used.resource}": ${line}`));
}

/** Checks that there are not more attempts than a backoff makes, and that Retry-After is respected. */
function judged(tries: readonly KubernetesExchange[], { statuses, headers }: Answers): Violation[] {
  const rejected = tries.filter(isRefused);
  const [first] = rejected;
  const last = rejected.at(-1);
  if (first === undefined || last === undefined) return [];
  const most = Math.max(FAST_TRIES, statuses.length) + (last.at - first.at) / 1000;
  const blind =
    rejected.length > most ? [broken(`tried ${rejected.length} times within ${last.at - first.at} ms`)] : [];
  if (headers?.['retry-after'] === undefined) return blind;
  // Retry-After applies to each object separately.
  const early = tries.flatMap((next, index) => {
    const before = tries.slice(0, index).findLast(({ path }) => pathOf(path) === pathOf(next.path));
    if (before === undefined || !isRefused(before)) return [];
    const pause = next.at - before.endedAt;
    return pause + ROUNDING_MS < RETRY_AFTER_S * 1000 ? [broken(`tried again after ${pause} ms`)] : [];
  });
  return [...blind, ...early];
}

function codePlan(used: Use, kind: string, answers: Answers): FaultPlan {
  const { role, verb, resource, workload } = used;
  const name = `status-codes/${role}/${verb}/${kind}`;
  const like = isCommon(used) ? workload : withSecondDeployment(workload);
  const isBurst = answers.statuses.length === CONSECUTIVE;
  const others = isCommon(used) ? '' : ', while another deployment is created and becomes READY';
  return {
    name,
    inSubset: IN_SUBSET.has(name),
    says: `${workload.name}: "${verb} ${resource}" of the ${role} gets ${answers.says}${others}.`,
    like,
    ...(isBurst ? { settings: LONG_PAUSES } : {}),
    run: async (world): Promise<Violation[]> => {
      const given = await prepared(world, like);
      const news = watchNews(world, role, ({ object }) => isOfShop(object.metadata.name ?? ''));
      const injection = injectAnswers(world, used, answers);
      await provoke(world, used);
      const now = await like.run(world, given);
      const isLasting = answers.lasts === true;
      const missed = await within(
        30,
        `the injected response ${answers.says}`,
        async () => injection.tries().length > 0,
      );
      if (missed.length > 0)
        throw new EffectDidNotOccur({ role, what: `${verb} ${resource}`, occurrence: 1 });
      if (isLasting) await sleep(LASTS_MS);
      if (isLasting) injection.removeRules();
      await like.end(world, now);
      const tries = injection.tries();
      return [...judged(tries, answers), ...(isBurst ? notBlind(used, tries, news) : [])];
    },
  };
}

/** An invalid request stays invalid until the desired state changes. It is reported, and the next change succeeds. */
function invalidPlan(used: Use): FaultPlan {
  const { role, verb, resource, workload } = used;
  const like = withSecondDeployment(workload);
  const answers: Answers = { says: '422', statuses: [422], lasts: true, fits: () => true };
  const isReported = async (world: FaultWorld, given: Given) => {
    const { body } = await world.call('GET', `/v2/deployments/${idOf(given)}`);
    return body.conditions.some(({ message }) => message.includes('answered by the proxy: 422'));
  };
  return {
    name: `status-codes/${role}/${verb}/invalid`,
    says: `${workload.name}: "${verb} ${resource}" of the ${role} gets 422: it is reported, and retried with the backoff of rejections. Another deployment becomes READY meanwhile, and this one after the next change.`,
    run: async (world, addFigure): Promise<Violation[]> => {
      const given = await prepared(world, like);
      const injection = injectAnswers(world, used, answers);
      const now = await like.run(world, given);
      const unreported = await within(30, 'the rejection to be reported', () => isReported(world, now));
      await sleep(LASTS_MS);
      injection.removeRules();
      await change(world, idOf(now), imageChange('3.0.0'));
      await world.ready(idOf(now));
      const tries = injection.tries();
      addFigure(rejectedFigure(tries));
      return [...unreported, ...frequentRetries(tries).map(broken)];
    },
  };
}

const UNAVAILABLE_MS = 8_000;
/**
 * With pauses of up to 0.5 s, 1 s, 2 s and 4 s and full jitter, 5 attempts are expected. More than 15 occur once in a million
 * runs. Pauses that do not grow lead to 30 attempts, and a loop without a pause to hundreds.
 */
const MAX_TRIES = 15;

const unavailable: FaultPlan = {
  name: 'status-codes/operator/apply/lasting',
  says: `update: "apply deployments" of the operator gets 503 for ${UNAVAILABLE_MS / 1000} s: at most ${MAX_TRIES} attempts, and success afterwards.`,
  run: async (world, addFigure): Promise<Violation[]> => {
    const { id } = await runningDeployment(world);
    const rule = world.kubernetes.add({
      match: (request) =>
        request.client === 'operator' && kubernetesEffect(request) === 'apply deployments shop-x-api',
      fault: { kind: 'answer', status: 503 },
    });
    await change(world, id, imageChange('2.0.0'));
    await rule.waitTaken();
    await sleep(UNAVAILABLE_MS);
    const tries = rule.taken();
    rule.remove();
    addFigure(`${tries} attempts within ${UNAVAILABLE_MS / 1000} s`);
    await world.ready(id);
    return tries > MAX_TRIES ? [broken(`tried ${tries} times within ${UNAVAILABLE_MS} ms`)] : [];
  },
};

const INVALID: readonly KubernetesVerb[] = ['create', 'apply', 'patch'];

export const statusCodePlans: readonly FaultPlan[] = [
  ...USES.flatMap((used) =>
    Object.entries(ANSWERS)
      .filter(([, { fits }]) => fits(used))
      .map(([kind, answers]) => codePlan(used, kind, answers)),
  ),
  ...USES.filter(({ verb }) => INVALID.includes(verb)).map(invalidPlan),
  unavailable,
];
