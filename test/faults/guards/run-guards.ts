/** Removes one guard after another, and checks whether a plan breaks. */

import { reasonOf } from '../deadline.ts';
import type { FaultPlan, OracleName, Verdict } from '../plan.ts';
import { Progress } from '../progress.ts';
import { withParts } from '../run.ts';
import { Runner } from '../runner.ts';
import type { RunParts } from '../start-world.ts';
import { workloadNamed } from '../workloads.ts';
import { checkOutWithout } from './checkout.ts';
import type { Guard } from './guards.ts';

/** What became of a guard that was taken out. */
export interface GuardVerdict {
  readonly guard: string;
  readonly missed: boolean;
  /** The plan that has broken without it twice, and held with it. */
  readonly plan?: string;
  readonly oracle?: OracleName;
  /** How the plan broke, or why the guard counts as not missed. */
  readonly message: string;
  readonly seconds: number;
}

export interface GuardsResult {
  readonly verdicts: readonly GuardVerdict[];
  readonly seconds: number;
}

export interface GuardsOptions {
  readonly guards: readonly Guard[];
  readonly plans: readonly FaultPlan[];
  /** Guards that are tried side by side. */
  readonly parallel: number;
  readonly signal: AbortSignal;
  readonly onVerdict: (verdict: GuardVerdict) => void;
}

/** Plans of Berth as it is, each run once: a plan that breaks anyway proves nothing. */
class Controls {
  readonly #runner: Runner;
  readonly #verdicts = new Map<string, Promise<Verdict>>();

  constructor(runner: Runner) {
    this.#runner = runner;
  }

  verdict(plan: FaultPlan): Promise<Verdict> {
    const known = this.#verdicts.get(plan.name) ?? this.#runner.run(plan);
    this.#verdicts.set(plan.name, known);
    return known;
  }
}

/** What a Berth without the guard still has to do while nothing goes wrong. */
const CALM = workloadNamed('create');

type Tried = Omit<GuardVerdict, 'guard' | 'seconds'>;

async function tryPlans(runner: Runner, plans: readonly FaultPlan[], controls: Controls): Promise<Tried> {
  const reasons: string[] = [];
  for (const plan of plans) {
    const { held, violations } = await runner.run(plan);
    const [first] = violations;
    if (held || first === undefined) {
      reasons.push(`${plan.name} holds without it`);
      continue;
    }
    const control = await controls.verdict(plan);
    if (!control.held) {
      reasons.push(`${plan.name} breaks with it as well: ${control.violations[0]?.message}`);
      continue;
    }
    // What breaks once in a while proves nothing either.
    const again = await runner.run(plan);
    if (again.held) {
      reasons.push(`${plan.name} breaks without it, and then holds: ${first.message}`);
      continue;
    }
    const { oracle, message } = first;
    return { missed: true, plan: plan.name, oracle, message };
  }
  return { missed: false, message: reasons.join('; ') };
}

async function tryGuard(
  guard: Guard,
  parts: RunParts,
  whole: Runner,
  controls: Controls,
  plans: readonly FaultPlan[],
): Promise<Tried> {
  const checkout = checkOutWithout(guard);
  // What is compared with is Berth as it is.
  const runner = new Runner({ ...parts, checkout: checkout.folder }, (workload) => whole.reference(workload));
  try {
    // A Berth that does not even start, or with which nothing becomes READY, would break every plan.
    const broken = await runner.prepare(CALM).then(() => undefined, reasonOf);
    if (broken !== undefined)
      return { missed: false, message: `broken outright, without a fault: ${broken}` };
    return await tryPlans(runner, plans, controls);
  } catch (error) {
    return { missed: false, message: `failed to try it: ${reasonOf(error)}` };
  } finally {
    await runner.stop();
    checkout.remove();
  }
}

/** @throws Error when a guard names a plan that does not exist */
export function plansOf({ name, plans: names }: Guard, plans: readonly FaultPlan[]): FaultPlan[] {
  return names.map((wanted) => {
    const found = plans.find((plan) => plan.name === wanted);
    if (found === undefined) throw new Error(`guard "${name}": there is no plan "${wanted}"`);
    return found;
  });
}

/** Runs all of them on one cluster and one PostgreSQL. */
export async function runGuards(options: GuardsOptions): Promise<GuardsResult> {
  const begun = Date.now();
  const waiting = options.guards.map((guard) => ({ guard, plans: plansOf(guard, options.plans) }));
  const verdicts: GuardVerdict[] = [];
  await withParts(async (parts) => {
    const whole = new Runner(parts);
    const controls = new Controls(whole);
    const progress = new Progress(waiting.length);
    const untold = progress.tell();
    const work = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        if (options.signal.aborted) return;
        const from = Date.now();
        const { guard, plans } = next;
        progress.begins(guard.name);
        const tried = await tryGuard(guard, parts, whole, controls, plans);
        progress.ends(guard.name);
        const seconds = Math.round((Date.now() - from) / 100) / 10;
        const verdict = { guard: guard.name, ...tried, seconds };
        verdicts.push(verdict);
        options.onVerdict(verdict);
      }
    };
    try {
      await Promise.all(Array.from({ length: options.parallel }, work));
    } finally {
      untold();
      await whole.stop();
    }
  });
  return { verdicts, seconds: Math.round((Date.now() - begun) / 1000) };
}

/** The last line of a run. */
export function countLine({ verdicts }: GuardsResult): string {
  const missed = verdicts.filter((verdict) => verdict.missed).length;
  return `guards: ${verdicts.length}, missed: ${missed}, not missed: ${verdicts.length - missed}`;
}
