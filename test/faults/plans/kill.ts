/** SIGKILL at every effect of every workload: before it is sent, after it was carried out, after it was answered. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Effect,
  effectName,
  hubEffect,
  kubernetesEffect,
  Occurrences,
  Transactions,
} from '../effects.ts';
import type { FaultPlan, Violation, Workload } from '../plan.ts';
import type { ActiveRule } from '../proxies/kubernetes-traffic.ts';
import { type Recording, SETTLED_MS } from '../record.ts';
import { workloadNamed } from '../workloads.ts';
import type { FaultRole, FaultWorld } from '../world.ts';
import { recordingPlans } from './recording.ts';
import { prepared } from './steps.ts';

const MOMENTS = ['before-send', 'after-send', 'after-response'] as const;
type Moment = (typeof MOMENTS)[number];

/** The part of a message that every proxy gives to a rule. */
export interface Passing {
  readonly client: string;
}
/** The status of an HTTP response, or the command tag of PostgreSQL. */
type Answer = number | string;
interface AnyFault {
  readonly kind: 'hold' | 'after' | 'lose';
  readonly run?: (passing: never, answer: Answer) => Promise<void> | void;
  readonly passedOn?: (isDelivered: boolean) => void;
}
interface AnyRule {
  readonly match: (passing: never) => boolean;
  readonly fault: AnyFault;
  readonly times?: number;
}
interface AnyProxy {
  add(rule: AnyRule): ActiveRule;
}

/** Whether the effect is durable: the request was not rejected, and the transaction was not rolled back. */
export const isCarriedOut = (answer: Answer): boolean =>
  typeof answer === 'string' ? answer === 'COMMIT' : answer >= 200 && answer < 300;

/** Plans that `npm test` runs: each role and each moment, at effects that do not depend on the speed of pod starts. */
const IN_SUBSET: ReadonlySet<string> = new Set([
  'kill/create/api-commit-deployments-events-idempotency-keys-revisions-secret-sets-tracing-projects-1/after-send',
  'kill/create/listener-create-manageddeployments-shop-x-1/after-send',
  'kill/create/operator-apply-deployments-shop-x-api-1/after-send',
  'kill/update/listener-apply-manageddeployments-shop-x-1/before-send',
  'kill/update/operator-apply-deployments-shop-x-api-1/after-send',
  'kill/rollback/listener-apply-manageddeployments-shop-x-1/after-response',
  'kill/delete/listener-delete-manageddeployments-shop-x-1/after-send',
  'kill/autoscaler-off/operator-delete-horizontalpodautoscalers-shop-x-api-1/after-send',
  'kill/storage/listener-apply-manageddeployments-shop-x-1/after-send',
]);

const DESCRIPTIONS: Record<Moment, string> = {
  'before-send': 'before it is sent',
  'after-send': 'after it is carried out and before it is answered',
  'after-response': 'after it is answered',
};
/** Time for the process to read a response that was sent to it. */
const READ_MS = 30;

/** The proxy that an effect passes, and a function that recognizes the effect among all messages of its role. */
export function proxyOf(
  world: FaultWorld,
  { role, what }: Effect,
): { proxy: AnyProxy; whatOf: (passing: never) => string | undefined } {
  if (role === 'api') {
    const transactions = new Transactions();
    return {
      proxy: world.postgres as unknown as AnyProxy,
      whatOf: (passing) => transactions.commits(passing),
    };
  }
  return what.startsWith('post ')
    ? { proxy: world.hub as unknown as AnyProxy, whatOf: hubEffect }
    : { proxy: world.kubernetes as unknown as AnyProxy, whatOf: kubernetesEffect };
}

/**
 * The workload completed without the effect, or the effect was rejected. The number of statuses and reports depends on the
 * speed of pod starts, so the plan is repeated. If the effect never occurs, the recording is out of date.
 */
export class EffectDidNotOccur extends Error {
  constructor({ role, what, occurrence }: Effect) {
    super(
      `the effect did not occur: "${what}" (${occurrence}) of the ${role}; record again: npm run faults -- --record`,
    );
  }
}

interface Injection {
  /** Resolves when the process has ended. */
  readonly killed: Promise<void>;
  /** Undefined until the effect occurs. Then it resolves to whether the process was killed at the effect. */
  readonly triggered: () => Promise<boolean> | undefined;
  readonly rule: ActiveRule;
}

/** Holds all traffic of a process that will be killed. The returned function ends this, for its successor. */
function holdTraffic({ kubernetes, hub, postgres }: FaultWorld, role: FaultRole): () => void {
  const rules = [kubernetes, hub, postgres].map((proxy) =>
    (proxy as unknown as AnyProxy).add({
      match: (passing) => (passing as Passing).client === role,
      fault: { kind: 'hold' },
    }),
  );
  return () => {
    for (const rule of rules) rule.remove();
  };
}

/** Adds the rule that kills the process. */
function injectKill(world: FaultWorld, effect: Effect, moment: Moment): Injection {
  const { role } = effect;
  const { proxy, whatOf } = proxyOf(world, effect);
  const occurrences = new Occurrences();
  const { promise: killed, resolve, reject } = Promise.withResolvers<void>();
  const { promise: delivered, resolve: onPassedOn } = Promise.withResolvers<boolean>();
  let triggered: Promise<boolean> | undefined;
  const kill = async () => {
    await world.kill(role).then(resolve, reject);
    return true;
  };
  /** If the response is not delivered, the process stays alive, because this would be another moment. */
  const killAfterDelivery = async () => {
    const free = holdTraffic(world, role);
    const isDelivered = await delivered;
    if (isDelivered) await sleep(READ_MS).then(kill);
    free();
    return isDelivered;
  };
  const isIt = (passing: never): boolean => {
    if ((passing as Passing).client !== role) return false;
    const what = whatOf(passing);
    return what === effect.what && occurrences.next(what) === effect.occurrence;
  };
  const onAnswer = async (_: never, answer: Answer) => {
    if (!isCarriedOut(answer)) return;
    triggered = moment === 'after-send' ? kill() : killAfterDelivery();
    // At `after-response`, the response must be delivered meanwhile.
    if (moment === 'after-send') await triggered;
  };
  const rule = proxy.add({
    match: (passing) => {
      if (!isIt(passing)) return false;
      if (moment === 'before-send') triggered = kill();
      return true;
    },
    fault:
      moment === 'before-send' ? { kind: 'hold' } : { kind: 'after', run: onAnswer, passedOn: onPassedOn },
    times: 1,
  });
  return { killed, triggered: () => triggered, rule };
}

/** Whether the effect occurs. Some effects occur only after the desired state is reached and reported. */
async function occurs(
  world: FaultWorld,
  { killed, triggered, rule }: Injection,
  ended: Promise<unknown>,
): Promise<boolean> {
  const settled = ended.then(() => world.quiet({ forMs: SETTLED_MS }));
  settled.catch(() => undefined);
  await Promise.race([killed, settled]);
  rule.remove();
  return (await triggered()) ?? false;
}

function killPlan(workload: Workload, effect: Effect, moment: Moment): FaultPlan {
  return {
    name: `kill/${workload.name}/${effectName(effect)}/${moment}`,
    says: `${workload.name}: the ${effect.role} is killed at its "${effect.what}" (${effect.occurrence}), ${DESCRIPTIONS[moment]}.`,
    like: workload,
    run: async (world): Promise<Violation[]> => {
      const given = await prepared(world, workload);
      const injection = injectKill(world, effect, moment);
      const running = workload.run(world, given);
      const ended = running.then((now) => workload.end(world, now));
      // An error is reported below, after the process runs again.
      ended.catch(() => undefined);
      if (!(await occurs(world, injection, ended))) throw new EffectDidNotOccur(effect);
      await world.restart(effect.role);
      await ended;
      return [];
    },
  };
}

/** @throws Error if a plan of the subset does not exist, for example because its effect was renamed */
function withSubset(plans: readonly FaultPlan[]): FaultPlan[] {
  const names = new Set(plans.map(({ name }) => name));
  for (const name of IN_SUBSET)
    if (!names.has(name))
      throw new Error(`there is no plan ${name}, which npm test runs: choose another one (IN_SUBSET)`);
  return plans.map((plan) => (IN_SUBSET.has(plan.name) ? { ...plan, inSubset: true } : plan));
}

/** @throws Error if the recording lacks an effect of the plans that `npm test` runs */
export function killPlans(recording: Recording): FaultPlan[] {
  const plans = Object.entries(recording).flatMap(([name, effects]) =>
    effects.flatMap((effect) => MOMENTS.map((moment) => killPlan(workloadNamed(name), effect, moment))),
  );
  return [...withSubset(plans), ...recordingPlans(recording)];
}
