import { TEMPLATE_HASH_LABEL } from '../../../workloads/labels.ts';
import { componentName } from '../../../workloads/names.ts';
import type { Comparison } from '../decide/comparison.ts';
import { type ChildObject, childId, type Observed } from '../observed.ts';
import { isOrdinary, troubleOf } from '../pods/pod-trouble.ts';
import { isSettled, workloadState } from '../pods/workload-state.ts';
import { conditionOf } from '../status/conditions.ts';
import { componentsOf, type Target } from './target.ts';

/**
 * Back to the templates of before, in the middle of a rollout.
 *
 * The Deployment controller counts the pods of the ReplicaSet that it returns to by that set's status, which may still
 * tell of a pod that is just being ended: then it ends one of the others too, and fewer than the wanted ones are left.
 * So a component that is on its way without any trouble comes to its end first, and is turned round at rest.
 */

/** So long after the failure at most; then it is turned wherever it is. */
export const FINISH_MS = 30_000;

export interface TurnRound {
  /** Deployments that finish first, by `childId`. */
  readonly finishing: ReadonlySet<string>;
  /** When they are turned at the latest, in ms since the epoch; null: none is waited for. */
  readonly until: number | null;
}

const NOTHING: TurnRound = { finishing: new Set(), until: null };

/** The components that are let finish before they return. */
export function turnRound(
  observed: Observed,
  target: Target,
  comparisons: readonly Comparison[],
  now: Date,
): TurnRound {
  const until = lastMoment(observed) ?? Number.NEGATIVE_INFINITY;
  if (target.kind !== 'restored' || now.getTime() >= until) return NOTHING;
  // What made it fail may look as if it merely took its time: readiness that never comes.
  const others = componentsOf(target).filter(
    (component) => component !== (target.failedChange ?? target.failed)?.culprit?.component,
  );
  const finishing = others.flatMap((component) => {
    const id = childId('Deployment', componentName(observed.resource, component));
    const comparison = comparisons.find((candidate) => candidate.id === id);
    const isWell = isOrdinary(troubleOf(observed, component)?.reason ?? 'Pending');
    return comparison !== undefined && isMidway(comparison) && isWell ? [id] : [];
  });
  return finishing.length === 0 ? NOTHING : { finishing: new Set(finishing), until };
}

/** Counted from the record of the failure, so that a restart does not begin anew. */
function lastMoment({ resource }: Observed): number | undefined {
  const progressing = conditionOf(resource, 'Progressing');
  if (progressing?.status !== 'False') return undefined;
  const failedAt = Date.parse(progressing.lastTransitionTime);
  return Number.isNaN(failedAt) ? undefined : failedAt + FINISH_MS;
}

/** Its pods are of different templates, and another one than the newest is wanted. */
function isMidway({ object, live, state }: Comparison): boolean {
  if (state !== 'different' || live === undefined) return false;
  const workload = workloadState(live);
  return workload.refusal === null && !isSettled(workload) && templateOf(live) !== templateOf(object);
}

function templateOf(object: Pick<ChildObject, 'kind'>): string | undefined {
  const { spec } = object as { spec?: { template?: { metadata?: { labels?: Record<string, string> } } } };
  return spec?.template?.metadata?.labels?.[TEMPLATE_HASH_LABEL];
}
