/** Selects and orders the plans of a run. */
import { type FaultPlan, kindOf, PLAN_KINDS } from './plan.ts';

/** The options that select plans. */
export interface Choice {
  readonly plan: readonly string[];
  /** Kinds. Empty: all kinds. */
  readonly only: readonly string[];
  readonly subset: boolean;
}

/** An exact name selects only this plan. Otherwise the text selects all plans whose names begin with it. */
function isNamed(plans: readonly FaultPlan[], wanted: string): (plan: FaultPlan) => boolean {
  if (plans.some(({ name }) => name === wanted)) return ({ name }) => name === wanted;
  return ({ name }) => name.startsWith(wanted);
}

const asTyped = ({ plan, only, subset }: Choice) =>
  [
    ...plan.map((name) => `--plan ${name}`),
    ...only.map((kind) => `--only ${kind}`),
    ...(subset ? ['--subset'] : []),
  ].join(' ');

/** The selected plans. @throws Error if a name or kind does not exist, or no plan matches all options */
export function chosen(plans: readonly FaultPlan[], choice: Choice): FaultPlan[] {
  const { plan: names, only, subset } = choice;
  for (const kind of only)
    if (!(PLAN_KINDS as readonly string[]).includes(kind))
      throw new Error(`--only: there is no kind "${kind}": ${PLAN_KINDS.join(', ')}`);
  const named = names.map((name) => isNamed(plans, name));
  for (const [index, isOf] of named.entries())
    if (!plans.some(isOf))
      throw new Error(
        `--plan: there is no plan "${names[index]}": list the names with npm run faults -- --list`,
      );
  const found = plans.filter(
    (plan) =>
      (named.length === 0 || named.some((isOf) => isOf(plan))) &&
      (only.length === 0 || only.includes(kindOf(plan))) &&
      (!subset || plan.inSubset === true),
  );
  if (found.length === 0)
    throw new Error(
      `no plan matches ${asTyped(choice)}: remove an option, or list names and kinds with npm run faults -- --list`,
    );
  return found;
}

/** The plans in an order that depends only on the seed and mixes the kinds. */
export function mixed(plans: readonly FaultPlan[], seed: number): FaultPlan[] {
  let state = seed;
  const keyed = plans.map((plan) => {
    // A linear congruential generator is good enough for an order.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return { plan, key: state };
  });
  return keyed.sort((left, right) => left.key - right.key).map(({ plan }) => plan);
}

/** Seconds that must be left to start a plan. Only plans that may take long have a deadline of their own. */
const neededSeconds = ({ deadlineSeconds = 0 }: FaultPlan) => deadlineSeconds;

/** Whether the plan may start if so many seconds are left. */
export const fits = (plan: FaultPlan, secondsLeft: number) =>
  secondsLeft > 0 && neededSeconds(plan) <= secondsLeft;

/** The message if no plan was started. */
export function tooSmall(plans: readonly FaultPlan[], budgetSeconds: number): string {
  const least = Math.min(...plans.map(neededSeconds));
  return `--budget ${budgetSeconds} is too short for every plan: the shortest may take ${least} s; use --budget ${least} or more`;
}

/** Number of parallel worlds for a number of processors. Plans wait most of the time. */
export const worldsFor = (processors: number) => Math.min(8, Math.max(3, 3 * processors));
