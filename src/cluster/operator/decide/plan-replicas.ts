import { FIELD_MANAGERS } from '../../../contract/resource/names.ts';
import type { Replicas } from '../../../workloads/desired-object.ts';
import { type Action, actionId, type Plan, STAGES } from '../action.ts';
import { replicasChange } from '../changes/cluster-changes.ts';
import type { ChildObject } from '../observed.ts';
import { workloadState } from '../pods/workload-state.ts';
import type { Comparison } from './comparison.ts';

/**
 * Plans `spec.replicas` and which field manager owns it.
 *
 * When an apply omits a field that its manager alone owns, the API server resets the field: 3 pods become 1. A workload
 * is created together with its number of pods, so the operator's manager owns the number at first. After the creation:
 * - With a fixed number, `berth-replicas` becomes the owner when it writes a different number. Until then, each apply
 * repeats the number.
 * - With an autoscaler, `berth-replicas` takes over the live number without force before the first apply that omits the
 *   number. If the autoscaler has set another number in the meantime, that number is kept.
 * - An autoscaler is removed before the number is fixed. An autoscaler is created after the workload has pods, because
 * it ignores workloads with 0 pods.
 */
export interface ReplicasInput {
  readonly comparison: Comparison;
  readonly live: ChildObject;
  readonly replicas: Replicas;
  /** The apply of all other fields, if one is due. */
  readonly apply: readonly Action[];
  readonly autoscalerMissing: boolean;
  /** Id of the action that removes the autoscaler, if the plan has one. */
  readonly autoscalerRemoval: string;
  /** Whether the workload may scale to zero now, because the pods that use it have ended. */
  readonly mayStop: boolean;
}

export function planReplicas(input: ReplicasInput): Plan {
  const { comparison, live, replicas, apply, autoscalerMissing, mayStop } = input;
  const { wanted: now } = workloadState(live);
  const alone = isOnlyOwner(live);
  if (replicas.kind === 'autoscaled') {
    if (now === 0) return held(input, replicas.min) ?? starting(input, startOf(input, replicas.min));
    const handOver = alone && (apply.length > 0 || autoscalerMissing) ? scale(input, now, false) : undefined;
    return following(handOver, apply);
  }
  const { count } = replicas;
  if (count === 0 && now > 0 && !mayStop) {
    // Nothing is applied, because an apply would restart pods that are about to end.
    return { actions: [], waiting: [`${comparison.id} ends after the components`] };
  }
  if (now !== count) {
    const waits = held(input, count);
    if (waits !== undefined) return waits;
  }
  if (now === 0 && count > 0) return starting(input, scale(input, count, true));
  if (now !== count) return following(scale(input, count, true), apply);
  return { actions: apply.map((action) => withReplicas(action, alone ? count : undefined)), waiting: [] };
}

/** Waits if the cluster changed this number when it was written last, and the next attempt is not due. */
function held({ comparison, live, apply }: ReplicasInput, count: number): Plan | undefined {
  const { replicasChange: known } = comparison;
  if (known === undefined || known.isDue) return undefined;
  if (known.hash !== replicasChange(count, workloadState(live).wanted)?.hash) return undefined;
  const actions = apply.map((action) => withReplicas(action, isOnlyOwner(live) ? count : undefined));
  return { actions, waiting: [`${comparison.id}: the cluster changes its number of pods`] };
}

/**
 * Scales up only from the observed 0, because an autoscaler may have set a number since then. After an apply, the
 * resourceVersion is not known.
 */
function startOf(input: ReplicasInput, min: number): Action {
  const { resourceVersion } = input.live.metadata;
  const seen = resourceVersion === undefined || input.apply.length > 0 ? {} : { resourceVersion };
  return { ...scale(input, min, true), ...seen };
}

/** Applies the new template before the scale, so that the first pods have it. */
function starting({ live, apply }: ReplicasInput, start: Action): Plan {
  const repeated = isOnlyOwner(live) ? 0 : undefined;
  const after = [...start.after, ...apply.map(({ id }) => id)];
  const first = apply.map((action) => withReplicas(action, repeated));
  return { actions: [...first, { ...start, stage: STAGES.start, after }], waiting: [] };
}

function isOnlyOwner({ replicasOwners = [] }: ChildObject): boolean {
  const owns = (manager: string) => replicasOwners.includes(`${manager}/Apply`);
  return owns(FIELD_MANAGERS.operator) && !owns(FIELD_MANAGERS.replicas);
}

function following(first: Action | undefined, apply: readonly Action[]): Plan {
  if (first === undefined) return { actions: apply, waiting: [] };
  const after = apply.map((action) => ({ ...action, after: [...action.after, first.id] }));
  return { actions: [first, ...after], waiting: [] };
}

function withReplicas(action: Action, replicas: number | undefined): Action {
  return action.kind === 'apply' && replicas !== undefined ? { ...action, replicas } : action;
}

function scale(
  { comparison, live, autoscalerRemoval }: ReplicasInput,
  replicas: number,
  force: boolean,
): Extract<Action, { kind: 'scale' }> {
  const { object, replicasChange: known } = comparison;
  const { wanted } = workloadState(live);
  const isKnown = known !== undefined && known.hash === replicasChange(replicas, wanted)?.hash;
  return {
    kind: 'scale',
    id: actionId('scale', object.kind, object.metadata.name),
    reason: force
      ? `spec.replicas is ${wanted}, not ${replicas}`
      : 'transfers the ownership of spec.replicas to the autoscaler',
    stage: STAGES.scale,
    after: [autoscalerRemoval],
    object,
    uid: live.metadata.uid ?? '',
    replicas,
    force,
    ...(isKnown ? { probe: known.hash } : {}),
  };
}
