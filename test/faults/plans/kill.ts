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

/** What a rule of any of the three proxies is told. */
export interface Passing {
  readonly client: string;
}
/** The status of an HTTP answer; what PostgreSQL has done. */
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

/** What was refused, or rolled back, has had no effect. */
export const isCarriedOut = (answer: Answer): boolean =>
  typeof answer === 'string' ? answer === 'COMMIT' : answer >= 200 && answer < 300;

/** Run by npm test, within a few minutes: each role and each moment, at effects that are met however fast pods come up. */
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

const SAYS: Record<Moment, string> = {
  'before-send': 'before it is sent',
  'after-send': 'when it was carried out and not answered',
  'after-response': 'when it was answered',
};
/** An answer that has gone to the process has been read by then. */
const READ_MS = 30;

/** How an effect is told from all else that its role sends, and by which proxy it passes. */
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
 * The workload came to its end without the effect, or it was refused. How often something is told on the way depends on
 * how fast pods come up, so that it is tried again; when it is never met the recording is out of date.
 */
export class EffectDidNotOccur extends Error {
  constructor({ role, what, occurrence }: Effect) {
    super(
      `effect not met: "${what}" (${occurrence}) of the ${role}; record again: npm run faults -- --record`,
    );
  }
}

interface Injection {
  /** Resolves when the process is gone. */
  readonly killed: Promise<void>;
  /** Undefined until the effect was met; then whether the process was killed at it, once that is decided. */
  readonly sprung: () => Promise<boolean> | undefined;
  readonly rule: ActiveRule;
}

/** Nothing more gets out of a process that is as good as dead, whomever it speaks to; its successor is free again. */
function shut({ kubernetes, hub, postgres }: FaultWorld, role: FaultRole): () => void {
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

/** Lays the trap. */
function armed(world: FaultWorld, effect: Effect, moment: Moment): Injection {
  const { role } = effect;
  const { proxy, whatOf } = proxyOf(world, effect);
  const occurrences = new Occurrences();
  const { promise: killed, resolve, reject } = Promise.withResolvers<void>();
  const { promise: delivered, resolve: onPassedOn } = Promise.withResolvers<boolean>();
  let sprung: Promise<boolean> | undefined;
  const kill = async () => {
    await world.kill(role).then(resolve, reject);
    return true;
  };
  /** If the response does not arrive after all, the process stays alive, because this would be another moment. */
  const killWhenTold = async () => {
    const free = shut(world, role);
    const isTold = await delivered;
    if (isTold) await sleep(READ_MS).then(kill);
    free();
    return isTold;
  };
  const isIt = (passing: never): boolean => {
    if ((passing as Passing).client !== role) return false;
    const what = whatOf(passing);
    return what === effect.what && occurrences.next(what) === effect.occurrence;
  };
  const onAnswer = async (_: never, answer: Answer) => {
    if (!isCarriedOut(answer)) return;
    sprung = moment === 'after-send' ? kill() : killWhenTold();
    // Else the answer goes back meanwhile.
    if (moment === 'after-send') await sprung;
  };
  const rule = proxy.add({
    match: (passing) => {
      if (!isIt(passing)) return false;
      if (moment === 'before-send') sprung = kill();
      return true;
    },
    fault:
      moment === 'before-send' ? { kind: 'hold' } : { kind: 'after', run: onAnswer, passedOn: onPassedOn },
    times: 1,
  });
  return { killed, sprung: () => sprung, rule };
}

/** Whether the effect is met: some come only when what was wanted is there, and while that is seen. */
async function isMet(
  world: FaultWorld,
  { killed, sprung, rule }: Injection,
  ended: Promise<unknown>,
): Promise<boolean> {
  const settled = ended.then(() => world.quiet({ forMs: SETTLED_MS }));
  settled.catch(() => undefined);
  await Promise.race([killed, settled]);
  rule.remove();
  return (await sprung()) ?? false;
}

function killPlan(workload: Workload, effect: Effect, moment: Moment): FaultPlan {
  return {
    name: `kill/${workload.name}/${effectName(effect)}/${moment}`,
    says: `${workload.name}: the ${effect.role} is killed at its "${effect.what}" (${effect.occurrence}), ${SAYS[moment]}.`,
    like: workload,
    run: async (world): Promise<Violation[]> => {
      const given = await prepared(world, workload);
      const trap = armed(world, effect, moment);
      const running = workload.run(world, given);
      const ended = running.then((now) => workload.end(world, now));
      // OracleInput at below, once the process runs again.
      ended.catch(() => undefined);
      if (!(await isMet(world, trap, ended))) throw new EffectDidNotOccur(effect);
      await world.restart(effect.role);
      await ended;
      return [];
    },
  };
}

/** @throws Error where a plan of the subset is gone: a renamed effect would leave it without a word */
function withSubset(plans: readonly FaultPlan[]): FaultPlan[] {
  const names = new Set(plans.map(({ name }) => name));
  for (const name of IN_SUBSET)
    if (!names.has(name))
      throw new Error(`there is no plan ${name}, which npm test is to run: choose another (IN_SUBSET)`);
  return plans.map((plan) => (IN_SUBSET.has(plan.name) ? { ...plan, inSubset: true } : plan));
}

/** @throws Error where the recording has no effect of a plan that npm test is to run */
export function killPlans(recording: Recording): FaultPlan[] {
  const plans = Object.entries(recording).flatMap(([name, effects]) =>
    effects.flatMap((effect) => MOMENTS.map((moment) => killPlan(workloadNamed(name), effect, moment))),
  );
  return [...withSubset(plans), ...recordingPlans(recording)];
}
