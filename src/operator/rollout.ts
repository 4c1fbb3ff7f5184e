import type { ComponentStatus } from '../contract/managed-deployment.ts';
import type { Reason } from '../domain/conditions.ts';
import type { Component } from '../domain/resource-spec.ts';
import { componentName } from '../workloads/names.ts';
import type { Comparison } from './comparison.ts';
import { childId, type Observed } from './observed.ts';
import { mayStart } from './plan.ts';
import { troubleOf } from './pod-trouble.ts';
import { componentsOf, type Target } from './target.ts';
import { isSettled, type WorkloadState, workloadState } from './workload-state.ts';

/** How far the components are on their way to the target. */
export type Verdict =
  /** Nothing is to run. */
  | { readonly kind: 'idle' }
  /** It begins when database and cache are ready. */
  | { readonly kind: 'waiting' }
  | { readonly kind: 'progressing'; readonly awaited: string }
  /** Every component runs the target: seen so, on the very objects that were applied. */
  | { readonly kind: 'complete' }
  /** It will not come up; `message` begins with the culprit. */
  | { readonly kind: 'failed'; readonly reason: Reason; readonly message: string };

export interface Rollout {
  readonly verdict: Verdict;
  readonly components: readonly ComponentStatus[];
}

/** Judges the target by what is in the cluster now. */
export function judge(observed: Observed, target: Target, comparisons: readonly Comparison[]): Rollout {
  const states = componentsOf(target).map((component) => componentState(observed, component, comparisons));
  const components = states.map(({ status }) => status);
  const awaited = states.find((state) => state.awaited !== null)?.awaited ?? null;
  if (target.kind === 'off' || target.templates === null) return { verdict: { kind: 'idle' }, components };
  if (!mayStart(observed)) return { verdict: { kind: 'waiting' }, components };
  if (awaited === null) return { verdict: { kind: 'complete' }, components };
  return { verdict: { kind: 'progressing', awaited }, components };
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
  const { updated, pods, available, refusal } = state;
  const counts =
    updated < wanted
      ? `${updated} of ${wanted} pods are updated`
      : available < wanted
        ? `${available} of ${wanted} pods are available`
        : `old pods left: ${pods - wanted}`;
  const trouble = refusal ?? troubleOf(observed, component)?.message;
  return trouble === undefined ? `${component}: ${counts}` : `${component}: ${counts}; ${trouble}`;
}
