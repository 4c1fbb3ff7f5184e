/** Selects and orders the plans of a run. */
import { type FaultPlan, kindOf, PLAN_KINDS } from './plan.ts';

export interface Choice {
  readonly plan: readonly string[];
  /** Kinds; none: all. */
  readonly only: readonly string[];
  readonly subset: boolean;
}

/** A plan of exactly that name is meant alone, though other names begin with it. */
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

/** @throws Error when a name or kind fits none, or no plan fits all that is asked */
export function chosen(plans: readonly FaultPlan[], choice: Choice): FaultPlan[] {
  const { plan: names, only, subset } = choice;
  for (const kind of only)
    if (!(PLAN_KINDS as readonly string[]).includes(kind))
      throw new Error(`--only: there is no kind "${kind}": ${PLAN_KINDS.join(', ')}`);
  const named = names.map((name) => isNamed(plans, name));
  for (const [index, isOf] of named.entries())
    if (!plans.some(isOf))
      throw new Error(
        `--plan: there is no plan "${names[index]}": npm run faults -- --list tells their names`,
      );
  const found = plans.filter(
    (plan) =>
      (named.length === 0 || named.some((isOf) => isOf(plan))) &&
      (only.length === 0 || only.includes(kindOf(plan))) &&
      (!subset || plan.inSubset === true),
  );
  if (found.length === 0)
    throw new Error(
      `no plan fits ${asTyped(choice)}: leave one of these out; npm run faults -- --list tells names and kinds`,
    );
  return found;
}

/** Always the same order for one seed, in which kinds are mixed. */
export function mixed(plans: readonly FaultPlan[], seed: number): FaultPlan[] {
  let state = seed;
  const keyed = plans.map((plan) => {
    // A linear congruential generator does for an order.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return { plan, key: state };
  });
  return keyed.sort((left, right) => left.key - right.key).map(({ plan }) => plan);
}

/** Most plans take seconds, and have no deadline of their own; those that may take long say so. */
const neededSeconds = ({ deadlineSeconds = 0 }: FaultPlan) => deadlineSeconds;

/** Whether it may be begun while so much is left. */
export const fits = (plan: FaultPlan, secondsLeft: number) =>
  secondsLeft > 0 && neededSeconds(plan) <= secondsLeft;

/** What is said when none was begun. */
export function tooSmall(plans: readonly FaultPlan[], budgetSeconds: number): string {
  const least = Math.min(...plans.map(neededSeconds));
  return `--budget ${budgetSeconds} has left out every plan: the least that one of them may take is ${least} s; give --budget ${least} or more`;
}

/** How many worlds so many processors carry side by side: plans mostly wait. */
export const worldsFor = (processors: number) => Math.min(8, Math.max(3, 3 * processors));
