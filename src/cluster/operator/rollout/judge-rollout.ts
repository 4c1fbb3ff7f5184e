import type { Reason } from '../../../domain/conditions/conditions.ts';
import type { Culprit } from '../../../domain/conditions/failure-source.ts';
import { FAILURE_RULES, type Patience, type Rule, type Told } from './failure-rules.ts';
import type { Symptom } from './symptoms.ts';

/** When a rollout has failed. Pure: what was seen, when the rollout began and what time it is decide. */

/** Only that it takes its time: worth a word where nothing else is known. */
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
  readonly culprit: Culprit;
}

export interface Judgement {
  readonly failure: RolloutFailure | null;
  /** What keeps it meanwhile and has a name: it may pass, but who waits can see to it now. */
  readonly trouble: RolloutFailure | null;
  /** When the next rule turns, in ms since the epoch, if nothing changes before. */
  readonly turnsAt: number;
}

export interface Evidence {
  readonly symptoms: readonly Symptom[];
  /** What the rollout waits for, as a sentence that begins with the component. */
  readonly awaited: string;
  /** When the rollout began, in ms since the epoch: the deadline counts from here. */
  readonly startedAt: number;
  /** When it began with these templates: nothing of them is older. Default: `startedAt`. */
  readonly templatesAt?: number;
  readonly now: number;
  readonly patience: Patience;
}

/** When it turns into a failure, in ms since the epoch; null: at the deadline. */
function turningPoint(
  { lasts }: Rule,
  symptom: Symptom,
  patience: Patience,
  templatesAt: number,
): number | null {
  if (lasts === 'until the deadline' || lasts === 'as long as it is seen') return null;
  if (lasts === 'not at all') return Number.NEGATIVE_INFINITY;
  return Math.max(symptom[lasts.from] ?? templatesAt, templatesAt) + patience[lasts.patience];
}

function ruleOf(symptom: Told): Rule | undefined {
  return FAILURE_RULES.find(({ when, and }) => {
    return (when === null || when.has(symptom.reason)) && (and === undefined || and(symptom));
  });
}

/** What trouble of any pod, or of a workload that gets none, is called; null: it only takes its time. */
export function reasonOfTrouble(trouble: {
  readonly reason: string;
  readonly text: string;
  readonly restarts?: number;
  readonly exitCode?: number;
}): Reason | null {
  const { reason, text, restarts = 0, exitCode } = trouble;
  if (VAGUE.has(reason)) return null;
  const culprit = exitCode === undefined ? {} : { exit_code: exitCode };
  return ruleOf({ reason, text, restarts, culprit })?.reason ?? null;
}

/** Whether a rollout that is not complete has failed. */
export function judgeRollout(evidence: Evidence): Judgement {
  const { symptoms, awaited, startedAt, templatesAt = startedAt, now, patience } = evidence;
  const deadline = startedAt + patience.deadlineMs;
  const ruled = symptoms.map((symptom) => {
    const rule = ruleOf(symptom);
    const turnsAt = (rule && turningPoint(rule, symptom, patience, templatesAt)) ?? deadline;
    return { symptom, reason: rule?.reason, turnsAt: Math.min(turnsAt, deadline) };
  });
  const turned = ruled.find(({ turnsAt }) => turnsAt <= now && turnsAt < deadline);
  if (turned?.reason !== undefined) {
    const { message, culprit } = turned.symptom;
    return { failure: { reason: turned.reason, message, culprit }, trouble: null, turnsAt: now };
  }
  if (now >= deadline) return { failure: overdue(ruled, awaited, patience), trouble: null, turnsAt: now };
  const next = Math.min(deadline, ...ruled.map(({ turnsAt }) => turnsAt));
  return { failure: null, trouble: nameable(ruled), turnsAt: next };
}

/** The first that says more than that it takes its time. */
function nameable(ruled: readonly Ruled[]): RolloutFailure | null {
  for (const { symptom, reason } of ruled) {
    if (reason === undefined || VAGUE.has(symptom.reason)) continue;
    const { message, culprit } = symptom;
    return { reason, message, culprit };
  }
  return null;
}

type Ruled = { readonly symptom: Symptom; readonly reason: Reason | undefined };

/** The deadline names what says most: rather why than that it takes its time. */
function overdue(ruled: readonly Ruled[], awaited: string, { deadlineMs }: Patience): RolloutFailure {
  const named = ruled.filter(({ reason }) => reason !== undefined);
  const worst = named.find(({ symptom }) => !VAGUE.has(symptom.reason)) ?? named[0] ?? ruled[0];
  const late = `not done within ${Math.round(deadlineMs / 1000)} s`;
  if (worst === undefined) {
    const [component = ''] = awaited.split(':');
    return { reason: 'RolloutDeadlineExceeded', message: `${awaited}; ${late}`, culprit: { component } };
  }
  const { message, culprit } = worst.symptom;
  return { reason: worst.reason ?? 'RolloutDeadlineExceeded', message: `${message}; ${late}`, culprit };
}
