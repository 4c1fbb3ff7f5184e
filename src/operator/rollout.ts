import type { ComponentStatus } from '../contract/managed-deployment.ts';
import type { Component } from '../domain/resource-spec.ts';
import { reasonOr } from '../domain/revision-steps.ts';
import { componentName } from '../workloads/names.ts';
import type { Comparison } from './comparison.ts';
import { conditionOf, isPaused } from './conditions.ts';
import { judgeRollout, type Patience, type RolloutFailure } from './failure-rules.ts';
import { childId, type Observed } from './observed.ts';
import { mayStart } from './plan.ts';
import { troubleOf } from './pod-trouble.ts';
import { symptomsOf } from './symptoms.ts';
import { componentsOf, type FailedRevision, type Target } from './target.ts';
import { isSettled, type WorkloadState, workloadState } from './workload-state.ts';

/** How far the components are on their way to the target. */
export type Verdict =
  /** Nothing is to run. */
  | { readonly kind: 'idle' }
  /** It begins when database and cache are ready. */
  | { readonly kind: 'waiting' }
  /** `trouble`: what keeps it, where that has a name; it may pass. */
  | { readonly kind: 'progressing'; readonly awaited: string; readonly trouble?: RolloutFailure | null }
  /** Every component runs the target: seen so, on the very objects that were applied. */
  | { readonly kind: 'complete' }
  /**
   * It will not come up; `message` begins with the culprit. `seen`: just now, and nothing was done about it yet; else
   * it is recorded, and `awaited` tells what is missing until the cluster is as it shall stay (null: nothing).
   */
  | (RolloutFailure & {
      readonly kind: 'failed';
      readonly seen: boolean;
      readonly awaited: string | null;
    });

export interface Rollout {
  readonly verdict: Verdict;
  readonly components: readonly ComponentStatus[];
  /** When the rollout of the target began, as in the status; null: there is none under way. */
  readonly startedAt: string | null;
  /** When it fails, or is turned round, unless something happens before, in ms since the epoch; null: never. */
  readonly turnsAt: number | null;
}

export interface JudgeInput {
  readonly observed: Observed;
  readonly target: Target;
  readonly comparisons: readonly Comparison[];
  readonly patience: Patience;
  readonly now: Date;
}

/** Judges the target by what is in the cluster now. */
export function judge(input: JudgeInput): Rollout {
  const { observed, target, comparisons } = input;
  const states = componentsOf(target).map((component) => componentState(observed, component, comparisons));
  const components = states.map(({ status }) => status);
  const awaited = states.find((state) => state.awaited !== null)?.awaited ?? null;
  const still = { components, startedAt: null, turnsAt: null };
  if (target.kind === 'off') return { ...still, verdict: { kind: 'idle' } };
  if (target.failed !== null) {
    return { ...still, verdict: { ...recorded(target.failed), kind: 'failed', seen: false, awaited } };
  }
  if (target.templates === null) return { ...still, verdict: { kind: 'idle' } };
  if (!mayStart(observed, target)) return { ...still, verdict: { kind: 'waiting' } };
  if (awaited === null && target.store === null) return { ...still, verdict: { kind: 'complete' } };
  const moving =
    awaited === null ? ({ kind: 'complete' } as const) : ({ kind: 'progressing', awaited } as const);
  if (target.kind !== 'rollout') return { ...still, verdict: moving };
  const startedAt = startOf(input);
  // Nothing of ours is touched, so nothing of it is judged either.
  if (awaited === null || isPaused(observed.resource)) return { ...still, startedAt, verdict: moving };
  const { failure, trouble, turnsAt } = judgeRollout({
    symptoms: symptomsOf(observed, target),
    awaited,
    startedAt: Date.parse(startedAt),
    now: input.now.getTime(),
    patience: input.patience,
  });
  if (failure === null) {
    return { components, startedAt, turnsAt, verdict: { kind: 'progressing', awaited, trouble } };
  }
  return { ...still, verdict: { ...failure, kind: 'failed', seen: true, awaited } };
}

/** A failure as the status holds it. */
function recorded({ reason, message, culprit }: FailedRevision): RolloutFailure {
  return { reason: reasonOr(reason, 'RolloutFailed'), message, culprit: culprit ?? {} };
}

/** As recorded, else now. The time of a pause does not count: what was paused begins anew. */
function startOf({ observed: { resource }, target, now }: JudgeInput): string {
  const { rollout } = resource.status ?? {};
  const wasPaused = conditionOf(resource, 'Paused') !== undefined && !isPaused(resource);
  const known = rollout?.templates === target.name && !wasPaused ? rollout?.startedAt : undefined;
  return known === undefined || Number.isNaN(Date.parse(known)) ? now.toISOString() : known;
}

interface ComponentState {
  readonly status: ComponentStatus;
  /** What is missing, as a sentence; null: nothing. */
  readonly awaited: string | null;
}

function componentState(
  observed: Observed,
  component: Component,
  comparisons: readonly Comparison[],
): ComponentState {
  const id = childId('Deployment', componentName(observed.resource, component));
  const comparison = comparisons.find((candidate) => candidate.id === id);
  const wanted = wantedPods(comparison);
  if (comparison?.live === undefined || comparison.state === 'leaving') {
    return {
      status: { name: component, wanted, updated: 0, ready: 0, available: 0 },
      awaited: `${component}: its Deployment is being made`,
    };
  }
  const state = workloadState(comparison.live);
  // Counts of another template, or of a spec that the Deployment controller has not looked at yet, prove nothing.
  const applied = comparison.state === 'same' && state.current;
  const { ready, available } = state;
  const status = { name: component, wanted, updated: applied ? state.updated : 0, ready, available };
  if (!applied) return { status, awaited: `${component}: its Deployment is being updated` };
  if (isSettled(state) && state.wanted === wanted) return { status, awaited: null };
  return { status, awaited: shortage(observed, component, wanted, state) };
}

/** Pods wanted now: the fixed number, or what the autoscaler has chosen (or will, where that is out of its range). */
function wantedPods(comparison: Comparison | undefined): number {
  const replicas = comparison?.desired.replicas;
  if (replicas === undefined) return 0;
  if (replicas.kind === 'fixed') return replicas.count;
  const chosen = comparison?.live === undefined ? 0 : workloadState(comparison.live).wanted;
  return Math.min(replicas.max, Math.max(replicas.min, chosen));
}

function shortage(observed: Observed, component: Component, wanted: number, state: WorkloadState): string {
  const { updated, pods, available, paused, refusal } = state;
  const counts =
    updated < wanted
      ? `${updated} of ${wanted} pods are updated`
      : available < wanted
        ? `${available} of ${wanted} pods are available`
        : `old pods left: ${pods - wanted}`;
  const name = componentName(observed.resource, component);
  const trouble = paused
    ? `somebody paused its Deployment: kubectl rollout resume deployment/${name}`
    : (refusal ?? troubleOf(observed, component)?.message);
  return trouble === undefined ? `${component}: ${counts}` : `${component}: ${counts}; ${trouble}`;
}
