import type { ResourceFailureSource } from '../../../contract/resource/resource-failure-source.ts';
import type { Reason } from '../../../domain/conditions/conditions.ts';
import { FAILURE_RULES, type Patience, type Rule, type RuleInput } from './failure-rules.ts';
import type { Symptom } from './symptoms.ts';

/**
 * Decides whether a rollout has failed. The decision is pure: the result depends only on the symptoms, the start of the
 * rollout and the current time.
 */

/** Reasons that only state that a pod is still starting, and that are reported only when no other reason is known. */
const VAGUE: ReadonlySet<string> = new Set([
  'ContainerCreating',
  'PodInitializing',
  'ContainersNotInitialized',
  'ContainersNotReady',
  'Pending',
]);

/** Why a rollout has failed. */
export interface RolloutFailure {
  readonly reason: Reason;
  /** A sentence that begins with the component. */
  readonly message: string;
  readonly failureSource: ResourceFailureSource;
}

export interface Judgement {
  readonly failure: RolloutFailure | null;
  /**
   * A problem that delays the rollout and may be temporary. The problem is reported so that users can act before the
   * problem becomes a failure.
   */
  readonly trouble: RolloutFailure | null;
  /** When the next symptom becomes a failure if nothing changes before, in ms since the epoch. */
  readonly recheckAt: number;
}

export interface Evidence {
  readonly symptoms: readonly Symptom[];
  /** What the rollout waits for, as a sentence that begins with the component. */
  readonly awaited: string;
  /** When the rollout began, in ms since the epoch. The deadline counts from this time. */
  readonly startedAt: number;
  /** When the rollout began with these templates. No symptom of these templates is older. Default: `startedAt`. */
  readonly templatesAt?: number;
  readonly now: number;
  readonly patience: Patience;
}

/** When the symptom becomes a failure, in ms since the epoch; null: at the deadline. */
function failsAfter(
  { lasts }: Rule,
  symptom: Symptom,
  patience: Patience,
  templatesAt: number,
): number | null {
  if (lasts === 'until the deadline' || lasts === 'as long as it is seen') return null;
  if (lasts === 'not at all') return Number.NEGATIVE_INFINITY;
  return Math.max(symptom[lasts.from] ?? templatesAt, templatesAt) + patience[lasts.patience];
}

function ruleOf(symptom: RuleInput): Rule | undefined {
  return FAILURE_RULES.find(({ when, and }) => {
    return (when === null || when.has(symptom.reason)) && (and === undefined || and(symptom));
  });
}

/** The reason for a problem of a pod, or of a workload that gets no pods; null: the pod is only starting. */
export function reasonOfTrouble(trouble: {
  readonly reason: string;
  readonly text: string;
  readonly restarts?: number;
  readonly exitCode?: number;
}): Reason | null {
  const { reason, text, restarts = 0, exitCode } = trouble;
  if (VAGUE.has(reason)) return null;
  const failureSource = exitCode === undefined ? {} : { exitCode };
  return ruleOf({ reason, text, restarts, failureSource })?.reason ?? null;
}

/** Whether a rollout that is not complete has failed. */
export function judgeRollout(evidence: Evidence): Judgement {
  const { symptoms, awaited, startedAt, templatesAt = startedAt, now, patience } = evidence;
  const deadline = startedAt + patience.deadlineMs;
  const ruled = symptoms.map((symptom) => {
    const rule = ruleOf(symptom);
    const failsAt = (rule && failsAfter(rule, symptom, patience, templatesAt)) ?? deadline;
    return { symptom, reason: rule?.reason, failsAt: Math.min(failsAt, deadline) };
  });
  const failed = ruled.find(({ failsAt }) => failsAt <= now && failsAt < deadline);
  if (failed?.reason !== undefined) {
    const { message, failureSource } = failed.symptom;
    return { failure: { reason: failed.reason, message, failureSource }, trouble: null, recheckAt: now };
  }
  if (now >= deadline) return { failure: overdue(ruled, awaited, patience), trouble: null, recheckAt: now };
  const next = Math.min(deadline, ...ruled.map(({ failsAt }) => failsAt));
  return { failure: null, trouble: namedTrouble(ruled), recheckAt: next };
}

/** The first symptom that is more specific than that the pod is starting. */
function namedTrouble(ruled: readonly Ruled[]): RolloutFailure | null {
  for (const { symptom, reason } of ruled) {
    if (reason === undefined || VAGUE.has(symptom.reason)) continue;
    const { message, failureSource } = symptom;
    return { reason, message, failureSource };
  }
  return null;
}

type Ruled = { readonly symptom: Symptom; readonly reason: Reason | undefined };

/**
 * The failure at the deadline. The failure names the cause if it is known, otherwise the component that is still
 * starting.
 */
function overdue(ruled: readonly Ruled[], awaited: string, { deadlineMs }: Patience): RolloutFailure {
  const named = ruled.filter(({ reason }) => reason !== undefined);
  const worst = named.find(({ symptom }) => !VAGUE.has(symptom.reason)) ?? named[0] ?? ruled[0];
  const late = `not complete within ${Math.round(deadlineMs / 1000)} s`;
  if (worst === undefined) {
    const [component = ''] = awaited.split(':');
    return {
      reason: 'RolloutDeadlineExceeded',
      message: `${awaited}; ${late}`,
      failureSource: { component },
    };
  }
  const { message, failureSource } = worst.symptom;
  return { reason: worst.reason ?? 'RolloutDeadlineExceeded', message: `${message}; ${late}`, failureSource };
}
