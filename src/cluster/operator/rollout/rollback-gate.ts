import { TEMPLATE_HASH_LABEL } from '../../../workloads/labels.ts';
import { componentName } from '../../../workloads/names.ts';
import type { Comparison } from '../decide/comparison.ts';
import { type ChildObject, childId, type Observed } from '../observed.ts';
import { isOrdinary, troubleOf } from '../pods/pod-trouble.ts';
import { isSettled, workloadState } from '../pods/workload-state.ts';
import { conditionOf } from '../status/conditions.ts';
import { componentsOf, type Target } from './target.ts';

/**
 * Delays the rollback of components that are in the middle of a rollout.
 *
 * When a Deployment returns to a former ReplicaSet, its controller counts the pods by the status of that ReplicaSet.
 * The status may still include a pod that is terminating. The controller then ends one pod too many, and fewer pods
 * than desired remain. Therefore a component whose rollout has no problem finishes the rollout first and is rolled back
 * afterwards.
 */

/** Maximum delay after the failure. After the delay, the component is rolled back in any state. */
export const FINISH_MS = 30_000;

export interface RollbackGate {
  /** Deployments, by `childId`, that finish their rollout before they are rolled back. */
  readonly finishing: ReadonlySet<string>;
  /**
   * Time at which these Deployments are rolled back in any case, in ms since the epoch; null: no Deployment is delayed.
   */
  readonly until: number | null;
}

const NOTHING: RollbackGate = { finishing: new Set(), until: null };

/** Selects the components that finish their rollout before the rollback. */
export function rollbackGate(
  observed: Observed,
  target: Target,
  comparisons: readonly Comparison[],
  now: Date,
): RollbackGate {
  const until = lastMoment(observed) ?? Number.NEGATIVE_INFINITY;
  if (target.kind !== 'restored' || now.getTime() >= until) return NOTHING;
  // The component that failed is not delayed, because a pod that never becomes ready cannot be distinguished from a pod
  // that is still starting.
  const others = componentsOf(target).filter(
    (component) =>
      component !== (target.failure.failedChange ?? target.failure.failed).failureSource?.component,
  );
  const finishing = others.flatMap((component) => {
    const id = childId('Deployment', componentName(observed.resource, component));
    const comparison = comparisons.find((candidate) => candidate.id === id);
    const isWell = isOrdinary(troubleOf(observed, component)?.reason ?? 'Pending');
    return comparison !== undefined && isMidway(comparison) && isWell ? [id] : [];
  });
  return finishing.length === 0 ? NOTHING : { finishing: new Set(finishing), until };
}

/** The time counts from the recorded failure, so that a restart of the operator does not extend it. */
function lastMoment({ resource }: Observed): number | undefined {
  const progressing = conditionOf(resource, 'Progressing');
  if (progressing?.status !== 'False') return undefined;
  const failedAt = Date.parse(progressing.lastTransitionTime);
  return Number.isNaN(failedAt) ? undefined : failedAt + FINISH_MS;
}

/** Whether the Deployment is still rolling out another template than the desired template. */
function isMidway({ object, live, state }: Comparison): boolean {
  if (state !== 'different' || live === undefined) return false;
  const workload = workloadState(live);
  return workload.refusal === null && !isSettled(workload) && templateOf(live) !== templateOf(object);
}

function templateOf(object: Pick<ChildObject, 'kind'>): string | undefined {
  const { spec } = object as { spec?: { template?: { metadata?: { labels?: Record<string, string> } } } };
  return spec?.template?.metadata?.labels?.[TEMPLATE_HASH_LABEL];
}
