import type { RenderConfig } from '../../../contract/render/render-config.ts';
import { desiredObjects } from '../../../workloads/desired-objects.ts';
import { componentsThatYield } from '../access/exclusive-volumes.ts';
import { sentinelChanges } from '../access/secrets-check.ts';
import { allowedImages, refusedServices, withoutRefusedServices } from '../access/service-spec-policy.ts';
import type { Action, Plan } from '../action.ts';
import { isRouteKind } from '../kinds.ts';
import { chooseDataImages, type DataImages } from '../observe/data-images.ts';
import type { Observed } from '../observed.ts';
import type { Patience } from '../rollout/failure-rules.ts';
import { withPinnedTemplates } from '../rollout/pinned-service-templates.ts';
import { rollbackGate } from '../rollout/rollback-gate.ts';
import { judge, type Rollout, type Verdict } from '../rollout/rollout.ts';
import { selectTarget } from '../rollout/select-target.ts';
import type { Target } from '../rollout/target.ts';
import { keptRoutes } from '../status/route-state.ts';
import { type Comparison, compareAll } from './comparison.ts';
import { removeOldTemplates } from './history.ts';
import { plan } from './plan.ts';
import { holdsPodCounts, scaledFor } from './scales.ts';
import { keepServicesInUse } from './services-in-use.ts';

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

/** Decides what to do. Pure: the same observed state at the same time gives the same decision. */
export function decide(observed: Observed, config: RenderConfig, patience: Patience, now: Date): Decision {
  const target = selectTarget(observed, config, now);
  const isHeld = holdsPodCounts(observed, target);
  const wanted = keepServicesInUse(scaledFor(observed, target, isHeld), observed, target);
  const dataImages = allowedImages(chooseDataImages(observed, wanted, config), observed);
  const yielding = componentsThatYield(observed, target);
  const desired = desiredObjects(wanted, config, {
    yielding,
    templates: target.templates,
    databaseImage: dataImages.database,
    cacheImage: dataImages.cache,
  });
  const possible = withoutRefusedServices(desired, observed).filter(
    ({ object: { kind } }) =>
      !observed.missingKinds?.has(kind) && !(observed.hostRefused !== undefined && isRouteKind(kind)),
  );
  const kept = withPinnedTemplates(possible, wanted, observed, dataImages, refusedServices(observed));
  const comparisons = compareAll(kept, observed);
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
  if (target.untouched) return false;
  if (verdict.kind === 'failed') return target.kind === 'restored' && verdict.awaited === null;
  return verdict.kind === 'complete' || verdict.kind === 'idle';
}
