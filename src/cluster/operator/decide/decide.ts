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
import { withKeptTemplates } from '../rollout/pinned-service-templates.ts';
import { turnRound } from '../rollout/rollback-gate.ts';
import { judge, type Rollout, type Verdict } from '../rollout/rollout.ts';
import { chooseTarget } from '../rollout/select-target.ts';
import type { Target } from '../rollout/target.ts';
import { keptRoutes } from '../status/route-state.ts';
import { type Comparison, compareAll } from './comparison.ts';
import { removeOldTemplates } from './history.ts';
import { plan } from './plan.ts';
import { holdsNumbers, scaledFor } from './scales.ts';
import { keepingInUse } from './services-in-use.ts';

/** Everything that follows from one look at the cluster. */
export interface Decision extends Rollout {
  readonly target: Target;
  readonly dataImages: DataImages;
  readonly comparisons: readonly Comparison[];
  /** What brings the cluster to what is wanted. */
  readonly plan: Plan;
  /** What is tidied up once nothing is left to do. */
  readonly housekeeping: readonly Action[];
}

/** Decides what is to be done. Pure: the same look at the same time gives the same decision. */
export function decide(observed: Observed, config: RenderConfig, patience: Patience, now: Date): Decision {
  const target = chooseTarget(observed, config, now);
  const isHeld = holdsNumbers(observed, target);
  const wanted = keepingInUse(scaledFor(observed, target, isHeld), observed, target);
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
  const kept = withKeptTemplates(possible, wanted, observed, dataImages, refusedServices(observed));
  const comparisons = compareAll(kept, observed);
  const rollout = judge({ observed, target, comparisons, isHeld, yielding, patience, now });
  const complete = isComplete(rollout.verdict, target);
  const turn = turnRound(observed, target, comparisons, now);
  const todo = plan({
    observed,
    target,
    comparisons,
    complete,
    finishing: turn.finishing,
    keptRoutes: keptRoutes(observed, config, complete),
  });
  // A volume that is not let grow keeps nothing from being tidied up.
  const atRest = todo.actions.every(({ kind }) => kind === 'volume');
  const tidied = complete || target.kind === 'inspection' ? removeOldTemplates(observed, target) : [];
  return {
    ...rollout,
    turnsAt: rollout.turnsAt ?? turn.until,
    target,
    dataImages,
    comparisons,
    plan: todo,
    housekeeping: atRest ? [...tidied, ...(complete ? sentinelChanges(observed, target) : [])] : [],
  };
}

/** Whether what the former templates needed may go. Pods that are kept for inspection may need it. */
function isComplete(verdict: Verdict, target: Target): boolean {
  if (target.untouched) return false;
  if (verdict.kind === 'failed') return target.kind === 'restored' && verdict.awaited === null;
  return verdict.kind === 'complete' || verdict.kind === 'idle';
}
