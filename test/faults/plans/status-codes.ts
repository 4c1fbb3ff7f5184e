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
  refusedFigure,
  watchNews,
} from './retries.ts';
import { beside, broken, change, idOf, imageChange, prepared, runningDeployment, within } from './steps.ts';

const IN_SUBSET: ReadonlySet<string> = new Set([
  'status-codes/operator/apply/throttled',
  'status-codes/listener/create/burst',
]);

/** Of a burst, and of conflicts. */
const ANSWERS_IN_A_ROW = 3;
const RETRY_AFTER_S = 3;
/** A wait is rounded to milliseconds here and there. */
const ROUNDING_MS = 20;
/** What lasts is looked at for so long. */
const LASTS_MS = 6_000;
/** First tries of a backoff come soon after each other; from then on about one a second would be too many. */
const SOON = 4;

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

/** Lists are asked for at the start alone, watches when one has ended. */
async function provoke(world: FaultWorld, { role, verb, resource }: Use): Promise<void> {
  if (verb === 'list') await world.restart(role, { wait: false });
  if (verb === 'watch')
    world.kubernetes.add({
      match: (request) =>
        request.client === role && request.verb === 'watch' && request.resource === resource,
      fault: { kind: 'cut-watch', afterEvents: 0, how: 'end' },
      times: 1,
    });
}

/** What is tried again was looked at again, or some time has passed: not once and again at once. */
function notBlind(used: Use, tries: readonly KubernetesExchange[], news: News): Violation[] {
  const refused = tries.filter(isRefused).length;
  if (refused < ANSWERS_IN_A_ROW) return [broken(`answered ${refused} times only`)];
  return blindRetries(tries, news).map((line) => broken(`"${used.verb} ${used.resource}": ${line}`));
}

/** No more tries than a backoff makes in the time; none sooner than it was asked for. */
function judged(tries: readonly KubernetesExchange[], { statuses, headers }: Answers): Violation[] {
  const refused = tries.filter(isRefused);
  const [first] = refused;
  const last = refused.at(-1);
  if (first === undefined || last === undefined) return [];
  const most = Math.max(SOON, statuses.length) + (last.at - first.at) / 1000;
  const blind =
    refused.length > most ? [broken(`tried ${refused.length} times within ${last.at - first.at} ms`)] : [];
  if (headers?.['retry-after'] === undefined) return blind;
  // Of the same object: each is asked for by itself.
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
  const like = isCommon(used) ? workload : beside(workload);
  const inARow = answers.statuses.length === ANSWERS_IN_A_ROW;
  const others = isCommon(used) ? '' : ', while another deployment is created and becomes READY';
  return {
    name,
    inSubset: IN_SUBSET.has(name),
    says: `${workload.name}: "${verb} ${resource}" of the ${role} is answered ${answers.says}${others}.`,
    like,
    ...(inARow ? { settings: LONG_PAUSES } : {}),
    run: async (world): Promise<Violation[]> => {
      const given = await prepared(world, like);
      const news = watchNews(world, role, ({ object }) => isOfShop(object.metadata.name ?? ''));
      const trap = injectAnswers(world, used, answers);
      await provoke(world, used);
      const now = await like.run(world, given);
      const isLasting = answers.lasts === true;
      const missed = await within(30, `an answer of ${answers.says}`, async () => trap.tries().length > 0);
      if (missed.length > 0)
        throw new EffectDidNotOccur({ role, what: `${verb} ${resource}`, occurrence: 1 });
      if (isLasting) await sleep(LASTS_MS);
      if (isLasting) trap.removeRules();
      await like.end(world, now);
      const tries = trap.tries();
      return [...judged(tries, answers), ...(inARow ? notBlind(used, tries, news) : [])];
    },
  };
}

/** What is invalid stays so until something else is wanted: it is told, and the next change brings it about. */
function invalidPlan(used: Use): FaultPlan {
  const { role, verb, resource, workload } = used;
  const like = beside(workload);
  const answers: Answers = { says: '422', statuses: [422], lasts: true, fits: () => true };
  const say = async (world: FaultWorld, given: Given) => {
    const { body } = await world.call('GET', `/v2/deployments/${idOf(given)}`);
    return body.conditions.some(({ message }) => message.includes('answered by the proxy: 422'));
  };
  return {
    name: `status-codes/${role}/${verb}/invalid`,
    says: `${workload.name}: "${verb} ${resource}" of the ${role} is answered 422: it is reported, and retried with the backoff of rejections. Another deployment becomes READY meanwhile, and this one after the next change.`,
    run: async (world, tell): Promise<Violation[]> => {
      const given = await prepared(world, like);
      const trap = injectAnswers(world, used, answers);
      const now = await like.run(world, given);
      const untold = await within(30, 'the refusal to be told', () => say(world, now));
      await sleep(LASTS_MS);
      trap.removeRules();
      await change(world, idOf(now), imageChange('3.0.0'));
      await world.ready(idOf(now));
      const tries = trap.tries();
      tell(refusedFigure(tries));
      return [...untold, ...frequentRetries(tries).map(broken)];
    },
  };
}

const UNAVAILABLE_MS = 8_000;
/**
 * With pauses of up to 0.5 s, 1 s, 2 s, 4 s, full jitter, 5 tries are to be expected, and more than 15 come once in a
 * million times. Pauses that do not grow come to 30, and one that does not pause at all to hundreds.
 */
const MOST_TRIES = 15;

const unavailable: FaultPlan = {
  name: 'status-codes/operator/apply/lasting',
  says: `update: "apply deployments" of the operator is answered 503 for ${UNAVAILABLE_MS / 1000} s: at most ${MOST_TRIES} attempts, and success afterwards.`,
  run: async (world, tell): Promise<Violation[]> => {
    const { id } = await runningDeployment(world);
    const refused = world.kubernetes.add({
      match: (request) =>
        request.client === 'operator' && kubernetesEffect(request) === 'apply deployments shop-x-api',
      fault: { kind: 'answer', status: 503 },
    });
    await change(world, id, imageChange('2.0.0'));
    await refused.waitTaken();
    await sleep(UNAVAILABLE_MS);
    const tries = refused.taken();
    refused.remove();
    tell(`${tries} tries within ${UNAVAILABLE_MS / 1000} s`);
    await world.ready(id);
    return tries > MOST_TRIES ? [broken(`tried ${tries} times within ${UNAVAILABLE_MS} ms`)] : [];
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
