import type { ComponentStatus } from '../../../contract/resource/managed-deployment.ts';
import { reasonOr } from '../../../domain/conditions/conditions.ts';
import type { Component } from '../../../domain/resource-spec/components.ts';
import { componentName } from '../../../workloads/names.ts';
import { isVolumeInUse } from '../access/exclusive-volumes.ts';
import type { Comparison } from '../decide/comparison.ts';
import { mayStart } from '../decide/plan.ts';
import { childId, type Observed } from '../observed.ts';
import { troubleOf } from '../pods/pod-trouble.ts';
import { isSettled, type WorkloadState, workloadState } from '../pods/workload-state.ts';
import { judgeRelease } from '../releases/judge-release.ts';
import { isPaused, wasPaused } from '../status/conditions.ts';
import { lackOfServices } from '../status/service-trouble.ts';
import type { Patience } from './failure-rules.ts';
import { judgeRollout, type RolloutFailure } from './judge-rollout.ts';
import { runningSymptoms } from './running-symptoms.ts';
import type { TrackedSymptoms } from './symptom-records.ts';
import { type Symptom, symptomsOf } from './symptoms.ts';
import {
  type AwaitingRevision,
  awaitedBy,
  componentsOf,
  type FailedRevision,
  failureOf,
  isSame,
  releaseOf,
  type Target,
} from './target.ts';
import { judgeWait, timeOr, type Wait } from './wait.ts';

/** The progress of the components towards the target. */
export type Verdict =
  /** No component is desired. */
  | { readonly kind: 'idle' }
  /** The rollout begins when database and cache are ready, and the release command has succeeded. */
  | { readonly kind: 'waiting' }
  /** `trouble`: a problem that delays the rollout and may be temporary. */
  | { readonly kind: 'progressing'; readonly awaited: string; readonly trouble?: RolloutFailure | null }
  /** Every component runs the target, observed on the objects that were applied. */
  | { readonly kind: 'complete' }
  /**
   * The rollout has failed. `message` begins with the component. `seen`: the failure was just detected and is not
   * recorded yet. `awaited`: the missing part of the rollback (null: the rollback is complete).
   */
  | (RolloutFailure & {
      readonly kind: 'failed';
      readonly seen: boolean;
      readonly awaited: string | null;
    });

export interface Rollout {
  readonly verdict: Verdict;
  readonly components: readonly ComponentStatus[];
  /** When the rollout of the target began, as in the status; null: no rollout is in progress. */
  readonly startedAt: string | null;
  /** When the current templates replaced other templates of the same rollout; null: no templates were replaced. */
  readonly templatesAt: string | null;
  /**
   * Time since which a desired revision waits for data services, or for the start of its release command, as in the
   * status; null: no revision waits.
   */
  readonly awaitingSince: string | null;
  /** When the rollout fails or is rolled back if no event occurs before, in ms since the epoch; null: never. */
  readonly recheckAt: number | null;
  /** Symptoms of running pods outside a rollout. */
  readonly symptoms: TrackedSymptoms;
}

export interface JudgeInput {
  readonly observed: Observed;
  readonly target: Target;
  readonly comparisons: readonly Comparison[];
  /** Whether the number of pods remains below that of the spec until other pods have ended; see `holdsPodCounts`. */
  readonly isHeld: boolean;
  /** Components whose old pod ends before the new pod starts; absent: none. See exclusive-volumes.ts. */
  readonly yielding?: ReadonlySet<Component>;
  readonly patience: Patience;
  readonly now: Date;
}

/** Judges the progress of the target from the observed state. */
export function judge(input: JudgeInput): Rollout {
  const { observed, target, comparisons, now } = input;
  const states = componentsOf(target).map((component) => componentState(observed, component, comparisons));
  const isSettled = (component: string) =>
    states.every(({ status, missing }) => status.name !== component || missing === null);
  const symptoms = runningSymptoms(observed, target, isSettled, now.getTime(), (symptom) =>
    isResolved(input, symptom.failureSource.component, symptom.text),
  );
  return { ...judgeTarget(input, states, symptoms), symptoms };
}

function judgeTarget(
  input: JudgeInput,
  states: readonly ComponentState[],
  symptoms: TrackedSymptoms,
): Omit<Rollout, 'symptoms'> {
  const { observed, target } = input;
  const components = states.map(({ status }) => status);
  const short = states.find(({ missing }) => missing !== null);
  const awaited =
    (short === undefined ? null : awaitedOf(observed, short, symptoms)) ??
    (input.isHeld
      ? 'more pods start when the old pods, which each use more database connections, have ended'
      : null);
  const still = { components, startedAt: null, templatesAt: null, awaitingSince: null, recheckAt: null };
  if (target.kind === 'off') return { ...still, verdict: { kind: 'idle' } };
  const failed = failureOf(target)?.failed;
  if (failed !== undefined) {
    return { ...still, verdict: { ...recorded(failed), kind: 'failed', seen: false, awaited } };
  }
  if (target.templates === null) return { ...still, verdict: { kind: 'idle' } };
  const moving =
    awaited === null ? ({ kind: 'complete' } as const) : ({ kind: 'progressing', awaited } as const);
  const wait = judgeWaits(input, moving);
  if (wait !== null) return { ...still, ...wait };
  if (!mayStart(observed, target)) return { ...still, verdict: { kind: 'waiting' } };
  if (awaited === null && target.store === null) return { ...still, verdict: { kind: 'complete' } };
  if (target.kind !== 'rollout') return { ...still, verdict: moving };
  const troubles = [...changeSymptoms(input), ...symptomsOf(observed, target).filter(isOfRevision(input))];
  const { templatesAt, ...start } = startOf(input);
  const startedAt = deferred(start.startedAt, troubles, input);
  const begun = { ...still, startedAt, templatesAt };
  // While the deployment is paused, the operator changes no workloads, so it does not judge the rollout either.
  if (awaited === null || isPaused(observed.resource)) return { ...begun, verdict: moving };
  const { failure, trouble, recheckAt } = judgeRollout({
    symptoms: troubles,
    awaited,
    startedAt: Date.parse(startedAt),
    templatesAt: Date.parse(templatesAt ?? startedAt),
    now: input.now.getTime(),
    patience: input.patience,
  });
  if (failure === null) {
    return {
      ...begun,
      recheckAt,
      verdict: { kind: 'progressing', ...withoutConflict(input, awaited, trouble) },
    };
  }
  return { ...still, verdict: { ...failure, kind: 'failed', seen: true, awaited } };
}

/** Whether the symptom is a pod that waits for a volume whose current pod ends first. */
function isResolved({ yielding }: JudgeInput, component: string | undefined, text: string): boolean {
  return isVolumeInUse(text) && [...(yielding ?? [])].some((each) => each === component);
}

/**
 * Removes the symptom of a new pod that waits for the volume of the old pod. The wait is not a problem, because the old
 * pod ends first.
 */
function withoutConflict(
  input: JudgeInput,
  awaited: string,
  trouble: RolloutFailure | null,
): { awaited: string; trouble: RolloutFailure | null } {
  if (trouble === null || !isResolved(input, trouble.failureSource.component, trouble.message))
    return { awaited, trouble };
  return { awaited: `${awaited}; its old pod ends first, because it uses the volume`, trouble: null };
}

/** The fields of a component's Deployment that the cluster changes unsafely; undefined: no fields. */
function changedDeployment({ observed, comparisons }: JudgeInput, component: Component) {
  const id = childId('Deployment', componentName(observed.resource, component));
  const comparison = comparisons.find((candidate) => candidate.id === id);
  const changes = [comparison?.change, comparison?.replicasChange].filter(
    (change) => change?.isSafe === false,
  );
  return changes.length === 0 ? undefined : changes.map((change) => change?.fields).join(', ');
}

const CHANGED = 'FieldsChangedByCluster';

function changeSymptoms(input: JudgeInput): Symptom[] {
  return componentsOf(input.target).flatMap((component) => {
    const fields = changedDeployment(input, component);
    if (fields === undefined) return [];
    const object = componentName(input.observed.resource, component);
    const message = `${component}: the cluster changes its Deployment: ${fields}`;
    const failureSource = { component, kind: 'Deployment', object };
    return [{ component, reason: CHANGED, message, text: fields, restarts: 0, failureSource }];
  });
}

/** Pods of a Deployment that the cluster has changed prove nothing about the revision. */
function isOfRevision(input: JudgeInput) {
  const changed = componentsOf(input.target).filter((component) => changedDeployment(input, component));
  return ({ component }: Symptom) => !changed.includes(component);
}

/**
 * The start of the deadline. While only an admission policy of the cluster delays the rollout, at least half of the
 * deadline remains. The rollout then does not fail, and its pods have time to start after the policy is removed.
 */
function deferred(startedAt: string, symptoms: readonly Symptom[], { now, patience }: JudgeInput): string {
  const isHeldUp = symptoms.length > 0 && symptoms.every(({ reason }) => reason === CHANGED);
  const passed = now.getTime() - Date.parse(startedAt);
  return isHeldUp && passed > patience.deadlineMs / 2 ? now.toISOString() : startedAt;
}

/** The recorded failure of the status. */
function recorded({ reason, message, failureSource }: FailedRevision): RolloutFailure {
  return { reason: reasonOr(reason, 'RolloutFailed'), message, failureSource: failureSource ?? {} };
}

/**
 * The recorded start, otherwise now. Other templates of the same revision continue its rollout, so changes during a
 * rollout do not extend its deadline.
 */
function startOf(input: JudgeInput): Pick<Rollout, 'templatesAt'> & { readonly startedAt: string } {
  const { observed, target, now } = input;
  const { rollout } = observed.resource.status ?? {};
  const isSameRollout =
    rollout !== undefined &&
    target.revision !== null &&
    isSame(rollout, target.revision) &&
    !wasPaused(observed.resource);
  if (!isSameRollout) return { startedAt: now.toISOString(), templatesAt: null };
  const startedAt = timeOr(rollout.startTime, now);
  if (rollout.templates !== target.name) return { startedAt, templatesAt: now.toISOString() };
  return { startedAt, templatesAt: rollout.templatesChangeTime ?? null };
}

/** Judges a desired revision that waits. null: no revision waits. */
function judgeWaits(input: JudgeInput, moving: Verdict): Wait | null {
  const { target } = input;
  const awaits = awaitedBy(target);
  if (awaits !== null && awaits.services.length > 0) return judgeServices(input, awaits, moving);
  const release = releaseOf(target);
  if (release === null) return null;
  return judgeRelease(input, release, awaits === null ? { kind: 'waiting' } : moving);
}

/** Judges a revision that waits for its own database or cache. After the deadline, the active revision continues to serve. */
function judgeServices(input: JudgeInput, awaits: AwaitingRevision, verdict: Verdict): Wait {
  return judgeWait(input, awaits, verdict, (isLate) => {
    if (!isLate) return null;
    const { reason, message } = lackOfServices(input.observed, awaits.services);
    const late = `${message}; not complete within ${Math.round(input.patience.deadlineMs / 1000)} s`;
    return { reason: reason ?? 'RolloutDeadlineExceeded', message: late, failureSource: {} };
  });
}

interface ComponentState {
  readonly status: ComponentStatus;
  /** The missing part of the component, as a sentence; null: no part is missing. */
  readonly missing: string | null;
  /**
   * Why the controller of the component cannot create pods, in the text of the controller; null: it reports no error.
   */
  readonly refusal: string | null;
  /** Whether the Deployment of the component is applied, so that only pods are missing. */
  readonly isApplied: boolean;
}

/** The missing part of a component and the cause, as a sentence. */
function awaitedOf(observed: Observed, state: ComponentState, { current }: TrackedSymptoms): string | null {
  const { status, missing, refusal, isApplied } = state;
  if (missing === null || !isApplied) return missing;
  const component = status.name as Component;
  const symptom = current.find((each) => each.component === component)?.message;
  const named = symptom?.slice(`${component}: `.length);
  const trouble = named ?? refusal ?? troubleOf(observed, component)?.message;
  return trouble === undefined ? missing : `${missing}; ${trouble}`;
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
      missing: `${component}: its Deployment is being created`,
      refusal: null,
      isApplied: false,
    };
  }
  const state = workloadState(comparison.live);
  // Counts of another template, or of a spec that the Deployment controller has not observed yet, are not used.
  const isApplied = comparison.state === 'same' && state.current;
  const { ready, available, refusal } = state;
  const status = { name: component, wanted, updated: isApplied ? state.updated : 0, ready, available };
  if (!isApplied) {
    const { change } = comparison;
    const why = change === undefined ? 'is being updated' : `is changed by the cluster: ${change.fields}`;
    return { status, missing: `${component}: its Deployment ${why}`, refusal, isApplied };
  }
  const missing =
    isSettled(state) && state.wanted === wanted ? null : `${component}: ${shortage(wanted, state)}`;
  return { status, missing, refusal, isApplied };
}

/** The desired number of pods: the fixed number, or that of the autoscaler, limited to its range. */
function wantedPods(comparison: Comparison | undefined): number {
  const replicas = comparison?.desired.replicas;
  if (replicas === undefined) return 0;
  if (replicas.kind === 'fixed') return replicas.count;
  const chosen = comparison?.live === undefined ? 0 : workloadState(comparison.live).wanted;
  return Math.min(replicas.max, Math.max(replicas.min, chosen));
}

function shortage(wanted: number, state: WorkloadState): string {
  const { updated, pods, ready, available, minReadySeconds } = state;
  // Without this text, the rollout seems to hang, because all pods are ready and nothing happens.
  const settling =
    ready > available && minReadySeconds > 0
      ? `, ${ready - available} ready for less than ${minReadySeconds} s`
      : '';
  if (updated < wanted) return `${updated} of ${wanted} pods are updated`;
  if (available < wanted) return `${available} of ${wanted} pods are available${settling}`;
  return `old pods left: ${pods - wanted}`;
}
