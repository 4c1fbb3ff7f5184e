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

/** The result of removing one guard. */
export interface GuardVerdict {
  readonly guard: string;
  readonly missed: boolean;
  /** The plan that broke twice without the guard, and held with it. */
  readonly plan?: string;
  readonly oracle?: OracleName;
  /** How the plan broke, or why the guard counts as not missed (no plan broke). */
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
  /** How many guards are tried at the same time. */
  readonly parallel: number;
  readonly signal: AbortSignal;
  readonly onVerdict: (verdict: GuardVerdict) => void;
}

/** Runs each plan once with the unchanged Berth. A plan that breaks there says nothing about the guard. */
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

/** A workload that must succeed even without the guard, as long as there is no fault. */
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
    // A plan that breaks only sometimes does not show that the guard is needed.
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
  // The runs without a fault, which the oracles compare with, use the unchanged Berth.
  const runner = new Runner({ ...parts, checkout: checkout.folder }, (workload) => whole.reference(workload));
  try {
    // If Berth does not start, or no deployment becomes READY, every plan would break.
    const broken = await runner.prepare(CALM).then(() => undefined, reasonOf);
    if (broken !== undefined) return { missed: false, message: `broken even without a fault: ${broken}` };
    return await tryPlans(runner, plans, controls);
  } catch (error) {
    return { missed: false, message: `failed to run the plans: ${reasonOf(error)}` };
  } finally {
    await runner.stop();
    checkout.remove();
  }
}

/** The plans of a guard. @throws Error if there is no plan with one of its names */
export function plansOf({ name, plans: names }: Guard, plans: readonly FaultPlan[]): FaultPlan[] {
  return names.map((wanted) => {
    const found = plans.find((plan) => plan.name === wanted);
    if (found === undefined) throw new Error(`guard "${name}": there is no plan "${wanted}"`);
    return found;
  });
}

/** Tries all guards on one cluster and one PostgreSQL. */
export async function runGuards(options: GuardsOptions): Promise<GuardsResult> {
  const begun = Date.now();
  const waiting = options.guards.map((guard) => ({ guard, plans: plansOf(guard, options.plans) }));
  const verdicts: GuardVerdict[] = [];
  await withParts(async (parts) => {
    const whole = new Runner(parts);
    const controls = new Controls(whole);
    const progress = new Progress(waiting.length);
    const stopReporting = progress.start();
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
      stopReporting();
      await whole.stop();
    }
  });
  return { verdicts, seconds: Math.round((Date.now() - begun) / 1000) };
}

/** The last line of the output. */
export function countLine({ verdicts }: GuardsResult): string {
  const missed = verdicts.filter((verdict) => verdict.missed).length;
  return `guards: ${verdicts.length}, missed: ${missed}, not missed: ${verdicts.length - missed}`;
}
