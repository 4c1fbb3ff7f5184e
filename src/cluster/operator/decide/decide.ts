import type { RenderConfig } from '../../../contract/render/render-config.ts';
import { sentinelChanges } from '../access/secrets-check.ts';
import type { Action, Plan } from '../action.ts';
import type { DataImages } from '../observe/data-images.ts';
import type { Observed } from '../observed.ts';
import type { Patience } from '../rollout/failure-rules.ts';
import { rollbackGate } from '../rollout/rollback-gate.ts';
import { judge, type Rollout, type Verdict } from '../rollout/rollout.ts';
import { isUntouched, type Target } from '../rollout/target.ts';
import { keptRoutes } from '../status/route-state.ts';
import { type Comparison, compareAll } from './comparison.ts';
import type { DesiredState } from './desired-state.ts';
import { plan } from './plan.ts';
import { removeOldTemplates } from './removals.ts';

/** The result of a decision. */
export interface Decision extends Rollout {
  readonly target: Target;
  readonly dataImages: DataImages;
  readonly comparisons: readonly Comparison[];
  /** The actions that bring the cluster to the desired state. */
  readonly plan: Plan;
  /** Cleanup actions, executed when the plan is empty. */
  readonly housekeeping: readonly Action[];
}

/** What a decision depends on besides the observed and the desired state. */
export interface DecisionInput {
  readonly config: RenderConfig;
  readonly patience: Patience;
  readonly now: Date;
}

/**
 * Compares the observed with the desired state, judges the rollout and plans the actions. Pure: the same input gives the same
 * decision.
 */
export function decide(
  observed: Observed,
  { target, objects, dataImages, isHeld, yielding }: DesiredState,
  { config, patience, now }: DecisionInput,
): Decision {
  const comparisons = compareAll(objects, observed);
  const rollout = judge({ observed, target, comparisons, isHeld, yielding, patience, now });
  const complete = isComplete(rollout.verdict, target);
  const gate = rollbackGate(observed, target, comparisons, now);
  const todo = plan({
    observed,
    target,
    comparisons,
    complete,
    finishing: gate.finishing,
    keptRoutes: keptRoutes(observed, config, complete),
  });
  // A volume that cannot be expanded does not block the cleanup.
  const atRest = todo.actions.every(({ kind }) => kind === 'volume');
  const tidied = complete || target.kind === 'inspection' ? removeOldTemplates(observed, target) : [];
  return {
    ...rollout,
    recheckAt: rollout.recheckAt ?? gate.until,
    target,
    dataImages,
    comparisons,
    plan: todo,
    housekeeping: atRest ? [...tidied, ...(complete ? sentinelChanges(observed, target) : [])] : [],
  };
}

/**
 * Whether objects that only the former templates needed may be removed. Pods that are kept for inspection may still
 * need them.
 */
function isComplete(verdict: Verdict, target: Target): boolean {
  if (isUntouched(target)) return false;
  if (verdict.kind === 'failed') return target.kind === 'restored' && verdict.awaited === null;
  return verdict.kind === 'complete' || verdict.kind === 'idle';
}
