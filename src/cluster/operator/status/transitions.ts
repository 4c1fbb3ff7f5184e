import type { ManagedDeploymentStatus } from '../../../contract/resource/managed-deployment.ts';
import { BUILD_FAILURES } from '../../../domain/builds/build.ts';
import {
  type Condition,
  type ConditionType,
  type Reason,
  TROUBLES,
} from '../../../domain/conditions/conditions.ts';
import { recoveryMessage, symptomDifference } from '../../../domain/conditions/symptoms.ts';
import type { DeploymentStatus } from '../../../domain/revision/states.ts';

/** An Event to record on the custom resource. */
export interface Transition {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** Reasons that are recorded as warnings. */
const WARNINGS: ReadonlySet<string> = new Set<Reason>([
  ...TROUBLES,
  'ReconcileFailed',
  'RolloutFailed',
  'RolloutDeadlineExceeded',
  ...BUILD_FAILURES,
]);

/** Results of rollouts and decisions of users. Events with these reasons are as important as warnings. */
export const IMPORTANT_EVENTS: ReadonlySet<string> = new Set<Reason>([
  'RolloutComplete',
  'RolledBack',
  'Interrupted',
  'DeletionRequested',
  'Restored',
  'Recovered',
]);

/** Reasons of a deployment that is being deleted. */
const DELETIONS: ReadonlySet<string> = new Set<Reason>(['DeletionRequested', 'BeingDeleted']);

/** Reasons of Ready when nothing is to run. The condition Progressing has the Event. */
const NOTHING_RUNS: ReadonlySet<string> = new Set<Reason>(['SwitchedOff', 'NoRevision']);

/** Reasons of builds that cause an Event. An image that the spec names causes no Event. */
const BUILD_EVENTS: ReadonlySet<string> = new Set<Reason>(['Building', 'ImageBuilt', ...BUILD_FAILURES]);

type Status = ManagedDeploymentStatus;

interface Change {
  readonly before: Condition | undefined;
  readonly after: Condition;
  /** No revision was active before. */
  readonly first: boolean;
  /** Whether a rollout is complete, because other templates are active than before. */
  readonly arrived: boolean;
}

/** Whether a change causes an Event. The start of an operation causes no Event, because the status shows it. */
const EVENT_RULES: Partial<Record<ConditionType, (change: Change) => boolean>> = {
  DatabaseReady: ({ before, after }) => after.status === 'True' || before !== undefined,
  CacheReady: ({ before, after }) => after.status === 'True' || before !== undefined,
  ImageReady: ({ after }) => BUILD_EVENTS.has(after.reason),
  Progressing: ({ before, after, arrived }) => {
    if (after.reason === 'RolloutComplete') return arrived;
    // Lost pods were replaced, so the active templates have not changed.
    if (after.reason === 'Reconciling') return false;
    return before !== undefined || after.reason !== 'AwaitingDataServices';
  },
  // The Event at the end of its rollout already reports that the first revision serves.
  Serving: ({ first }) => !first,
  DomainsReady: ({ before, after }) => before !== undefined || after.status === 'True',
  SchedulesHealthy: ({ before, after }) => before !== undefined || after.status === 'False',
  RouteReady: ({ before, after }) => before !== undefined || after.reason !== 'RoutePending',
  Ready: ({ after }) =>
    (after.status === 'True' && !NOTHING_RUNS.has(after.reason)) ||
    WARNINGS.has(after.reason) ||
    DELETIONS.has(after.reason),
  Paused: () => true,
};

/** The Events for the change from one status to the next. */
export function transitions(before: Status | undefined, after: Status): Transition[] {
  return [
    ...resumption(before, after),
    ...restoration(before, after),
    ...interruption(before, after),
    ...symptomChanges(before, after),
    ...changes(before, after),
  ];
}

/**
 * The Events for symptoms of running pods: a warning when a symptom is first observed, and an Event when the component
 * has recovered.
 */
function symptomChanges(before: Status | undefined, after: Status): Transition[] {
  const { started, ended } = symptomDifference(before?.symptoms ?? [], after.symptoms ?? []);
  return [
    ...started.map(({ reason, message }) => ({ type: 'Warning', reason, message }) as const),
    ...(isRunningSeen(after) ? ended : []).map((symptom) => ({
      type: 'Normal' as const,
      reason: 'Recovered' satisfies Reason,
      message: recoveryMessage(symptom),
    })),
  ];
}

/**
 * Whether the component of a symptom that disappeared has recovered. The recovery is not known during a rollout, and
 * for a deployment that is suspended, being deleted or not observed.
 */
function isRunningSeen(after: Status): boolean {
  const ready = conditionIn(after, 'Ready');
  return (
    after.rollout === undefined &&
    after.suspended !== true &&
    conditionIn(after, 'Progressing')?.status !== 'Unknown' &&
    ready?.reason !== 'SwitchedOff' &&
    !DELETIONS.has(ready?.reason ?? '')
  );
}

function resumption(before: Status | undefined, after: Status): Transition[] {
  const isPaused = (status: Status | undefined) => conditionIn(status, 'Paused') !== undefined;
  if (!isPaused(before) || isPaused(after)) return [];
  const message = 'the annotation berth.dev/paused was removed, so the pause has ended';
  return [{ type: 'Normal', reason: 'Resumed' satisfies Reason, message }];
}

function restoration(before: Status | undefined, after: Status): Transition[] {
  // A blocked deletion has a separate reason.
  const isLeaving = (status: Status | undefined) =>
    status?.deploymentStatus === ('AWAITING_DELETE' satisfies DeploymentStatus) ||
    DELETIONS.has(conditionIn(status, 'Ready')?.reason ?? '');
  if (!isLeaving(before) || isLeaving(after)) return [];
  return [{ type: 'Normal', reason: 'Restored' satisfies Reason, message: 'the deletion was cancelled' }];
}

/** The Event for a rollout that neither completed nor failed before a newer rollout replaced it. */
function interruption(before: Status | undefined, after: Status): Transition[] {
  const left = before?.rollout?.number;
  const taken = after.rollout?.number;
  if (left === undefined || taken === undefined || taken <= left) return [];
  if (after.activeRevision?.number === left || after.failedRevision?.number === left) return [];
  const message = `revision ${taken} replaced revision ${left} before the rollout of revision ${left} was complete`;
  return [{ type: 'Normal', reason: 'Interrupted' satisfies Reason, message }];
}

function changes(before: Status | undefined, after: Status): Transition[] {
  const [was, is] = [before?.activeRevision, after.activeRevision];
  const arrived = was?.templates !== is?.templates || was?.number !== is?.number;
  const ends = { first: was === undefined, arrived };
  return (after.conditions ?? []).flatMap((condition) => {
    const { type, status, reason, message } = condition;
    const former = conditionIn(before, type);
    const same = former?.status === status && former.reason === reason;
    // A condition that is no longer observed causes no Event.
    if (status === 'Unknown') return [];
    if (same && !(type === 'Progressing' && isNextRollout(before, after))) return [];
    // Symptoms of running pods are reported once, by a separate Event; see symptomChanges.
    if (type === 'Ready' && isOfSymptoms(before, after, condition)) return [];
    const change = { ...ends, before: former, after: condition };
    if (EVENT_RULES[type as ConditionType]?.(change) !== true) return [];
    const lost =
      former?.status === 'True' && status === 'False' && isHealth(type) && reason !== 'SwitchedOff';
    return [{ type: WARNINGS.has(reason) || lost ? 'Warning' : 'Normal', reason, message }];
  });
}

/**
 * Whether other Events report this change of Ready. Other Events report the change if Ready is False for a recorded
 * symptom, True while a symptom may still return, or False again for a failed revision that was reported before.
 */
function isOfSymptoms(before: Status | undefined, after: Status, { status, reason }: Condition): boolean {
  const { symptoms = [] } = after;
  if (status === 'True') return symptoms.length > 0;
  const [was, is] = [before?.failedRevision, after.failedRevision];
  if (is?.reason === reason && was?.reason === reason && was.number === is.number) return true;
  return [...symptoms, ...(before?.symptoms ?? [])].some((symptom) => symptom.reason === reason);
}

/** Whether one rollout follows another directly, so that the condition is the same for both. */
function isNextRollout(before: Status | undefined, { rollout }: Status): boolean {
  return (
    rollout !== undefined && before?.rollout !== undefined && before.rollout.templates !== rollout.templates
  );
}

function conditionIn(status: Status | undefined, type: string): Condition | undefined {
  return status?.conditions?.find((candidate) => candidate.type === type);
}

function isHealth(type: string): boolean {
  return (
    type === 'DatabaseReady' ||
    type === 'CacheReady' ||
    type === 'Serving' ||
    type === 'RouteReady' ||
    type === 'DomainsReady' ||
    type === 'SchedulesHealthy'
  );
}
