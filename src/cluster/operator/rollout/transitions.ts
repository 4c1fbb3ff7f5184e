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

/** An event to tell on the custom resource. */
export interface Transition {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** Reasons that someone should look at. */
const WARNINGS: ReadonlySet<string> = new Set<Reason>([
  ...TROUBLES,
  'ReconcileFailed',
  'RolloutFailed',
  'RolloutDeadlineExceeded',
  ...BUILD_FAILURES,
]);

/** How rollouts end, and decisions of people: such events are as important as warnings. */
export const IMPORTANT_NEWS: ReadonlySet<string> = new Set<Reason>([
  'RolloutComplete',
  'RolledBack',
  'Interrupted',
  'DeletionRequested',
  'Restored',
  'Recovered',
]);

/** Reasons of what is on its way out. */
const DELETIONS: ReadonlySet<string> = new Set<Reason>(['DeletionRequested', 'BeingDeleted']);

/** What is told of builds; that an image was given is no news. */
const BUILD_NEWS: ReadonlySet<string> = new Set<Reason>(['Building', 'ImageBuilt', ...BUILD_FAILURES]);

type Status = ManagedDeploymentStatus;

interface Change {
  readonly before: Condition | undefined;
  readonly after: Condition;
  /** No revision was active yet. */
  readonly first: boolean;
  /** Other templates are active than before: a rollout has come to its end. */
  readonly arrived: boolean;
}

/** Whether a change is worth an event. What merely starts is not: it is in the status anyway. */
const TOLD: Partial<Record<ConditionType, (change: Change) => boolean>> = {
  DatabaseReady: ({ before, after }) => after.status === 'True' || before !== undefined,
  CacheReady: ({ before, after }) => after.status === 'True' || before !== undefined,
  ImageReady: ({ after }) => BUILD_NEWS.has(after.reason),
  Progressing: ({ before, after, arrived }) => {
    if (after.reason === 'RolloutComplete') return arrived;
    // Pods that are lost, and others instead: what serves has not changed.
    if (after.reason === 'Reconciling') return false;
    return before !== undefined || after.reason !== 'AwaitingDataServices';
  },
  // That the first revision serves is told by the end of its rollout.
  Serving: ({ first }) => !first,
  RouteReady: ({ before, after }) => before !== undefined || after.reason !== 'RoutePending',
  Ready: ({ after }) => after.status === 'True' || WARNINGS.has(after.reason) || DELETIONS.has(after.reason),
  Paused: () => true,
};

/** What there is to tell about the way from one status to the next. */
export function transitions(before: Status | undefined, after: Status): Transition[] {
  return [
    ...resumption(before, after),
    ...restoration(before, after),
    ...interruption(before, after),
    ...symptomChanges(before, after),
    ...changes(before, after),
  ];
}

/** Symptoms of running pods: a warning when one is first seen, and one event when the component has recovered. */
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

/** Whether symptoms that are gone have passed. During a rollout, and of what is switched off or not observed, nothing is known. */
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
  const message = 'the annotation berth.dev/paused is gone: what is wanted is brought about again';
  return [{ type: 'Normal', reason: 'Resumed' satisfies Reason, message }];
}

function restoration(before: Status | undefined, after: Status): Transition[] {
  // What blocks a deletion has a reason of its own.
  const isLeaving = (status: Status | undefined) =>
    status?.status === ('AWAITING_DELETE' satisfies DeploymentStatus) ||
    DELETIONS.has(conditionIn(status, 'Ready')?.reason ?? '');
  if (!isLeaving(before) || isLeaving(after)) return [];
  return [{ type: 'Normal', reason: 'Restored' satisfies Reason, message: 'the deletion was taken back' }];
}

/** A rollout that neither arrived nor failed has ended because a newer one took over. */
function interruption(before: Status | undefined, after: Status): Transition[] {
  const left = before?.rollout?.number;
  const taken = after.rollout?.number;
  if (left === undefined || taken === undefined || taken <= left) return [];
  if (after.activeRevision?.number === left || after.failedRevision?.number === left) return [];
  const message = `revision ${left} was still being rolled out when revision ${taken} took over`;
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
    // What nobody looks at any more is no news.
    if (status === 'Unknown') return [];
    if (same && !(type === 'Progressing' && isNextRollout(before, after))) return [];
    // What is wrong with running pods is reported once, by its own event: see symptomChanges.
    if (type === 'Ready' && isOfSymptoms(before, after, condition)) return [];
    const change = { ...ends, before: former, after: condition };
    if (TOLD[type as ConditionType]?.(change) !== true) return [];
    const lost =
      former?.status === 'True' && status === 'False' && isHealth(type) && reason !== 'SwitchedOff';
    return [{ type: WARNINGS.has(reason) || lost ? 'Warning' : 'Normal', reason, message }];
  });
}

/**
 * Ready is False for a recorded symptom, True while one has not passed for certain, or False again for the failure of a
 * revision that was reported before.
 */
function isOfSymptoms(before: Status | undefined, after: Status, { status, reason }: Condition): boolean {
  const { symptoms = [] } = after;
  if (status === 'True') return symptoms.length > 0;
  const [was, is] = [before?.failedRevision, after.failedRevision];
  if (is?.reason === reason && was?.reason === reason && was.number === is.number) return true;
  return [...symptoms, ...(before?.symptoms ?? [])].some((symptom) => symptom.reason === reason);
}

/** One rollout follows another at once: the condition says the same of both. */
function isNextRollout(before: Status | undefined, { rollout }: Status): boolean {
  return (
    rollout !== undefined && before?.rollout !== undefined && before.rollout.templates !== rollout.templates
  );
}

function conditionIn(status: Status | undefined, type: string): Condition | undefined {
  return status?.conditions?.find((candidate) => candidate.type === type);
}

function isHealth(type: string): boolean {
  return type === 'DatabaseReady' || type === 'CacheReady' || type === 'Serving' || type === 'RouteReady';
}
