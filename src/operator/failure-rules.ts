import type { Reason } from '../domain/conditions.ts';
import type { Culprit } from '../domain/culprit.ts';
import type { Symptom } from './symptoms.ts';

/**
 * When a rollout has failed. The table below is the specification: the first row that fits a symptom tells what it is
 * called, and how long it may last. Pure: what was seen, when the rollout began and what time it is decide.
 */

/** How long each kind of trouble may last, in milliseconds. */
export interface Patience {
  /** Of the whole rollout, counted from its start. */
  readonly deadlineMs: number;
  /** A reference to something that does not exist (yet). */
  readonly configErrorMs: number;
  /** An image that cannot be pulled, counted from when a node took the pod. */
  readonly imagePullMs: number;
  /** A refusal of pods: the condition may still speak of the templates before. */
  readonly refusalMs: number;
}

export const DEFAULT_PATIENCE: Omit<Patience, 'deadlineMs'> = {
  configErrorMs: 15_000,
  imagePullMs: 60_000,
  refusalMs: 2_000,
};

/** Restarts after which a container that is in back-off will not come up by itself. */
const HOPELESS_RESTARTS = 3;

/** The registry's trouble, not the image's: it may pass. */
const REGISTRY_TROUBLE =
  /\b(?:429|50[0234])\b|too ?many ?requests|internal server error|bad gateway|service unavailable|gateway time-?out|i\/o timeout|connection (?:refused|reset)|TLS handshake timeout|deadline exceeded|no such host|: EOF\b|unexpected EOF/i;
/** Names of images, hosts and addresses in what the registry says: a tag `:500` is no answer of it. */
const withoutNames = (text: string) => text.replace(/"[^"]*"|\S*[/:@]\S*\d\S*/g, ' ');
/** The second: the quota was just made, and nothing is counted yet. */
const QUOTA = /exceeded quota|status unknown for quota/i;
/** The scheduler waits for a claim that nobody has made. */
const CLAIM_MISSING = /persistentvolumeclaim "[^"]{1,253}" not found/i;
/** Refused for what the pod is; all else (a webhook that does not answer) may pass. */
const ADMISSION = /is forbidden|denied the request|denied request|is invalid/i;

interface Rule {
  /** Reasons as Kubernetes names them; null: any. */
  readonly when: ReadonlySet<string> | null;
  readonly and?: (symptom: Told) => boolean;
  readonly reason: Reason;
  /** When it turns into a failure, in ms since the epoch; null: at the deadline. */
  readonly turnsAt: ((symptom: Symptom, patience: Patience, startedAt: number) => number) | null;
}

const of = (...reasons: string[]): ReadonlySet<string> => new Set(reasons);
const atOnce = () => Number.NEGATIVE_INFINITY;
const sinceOr = (time: number | undefined, startedAt: number) => Math.max(time ?? startedAt, startedAt);

const RULES: readonly Rule[] = [
  // Nothing but another revision helps.
  { when: of('InvalidImageName'), reason: 'InvalidImageName', turnsAt: atOnce },
  { when: of('ErrImageNeverPull'), reason: 'ImagePullFailed', turnsAt: atOnce },
  {
    when: of('CrashLoopBackOff'),
    and: ({ restarts }) => restarts >= HOPELESS_RESTARTS,
    reason: 'CrashLoop',
    turnsAt: atOnce,
  },
  // What it refers to may be made a moment later.
  {
    when: of('CreateContainerConfigError'),
    reason: 'ContainerConfigInvalid',
    turnsAt: ({ since }, { configErrorMs }, startedAt) => sinceOr(since, startedAt) + configErrorMs,
  },
  // Quota may be freed, by other pods that end.
  {
    when: of('ReplicaFailure', 'PartialReplicaFailure'),
    and: ({ text }) => QUOTA.test(text),
    reason: 'QuotaExceeded',
    turnsAt: null,
  },
  {
    when: of('ReplicaFailure'),
    and: ({ text }) => ADMISSION.test(text),
    reason: 'AdmissionRefused',
    turnsAt: ({ since }, { refusalMs }, startedAt) => sinceOr(since, startedAt) + refusalMs,
  },
  { when: of('ReplicaFailure', 'PartialReplicaFailure'), reason: 'AdmissionRefused', turnsAt: null },
  {
    when: of('ErrImagePull', 'ImagePullBackOff', 'RegistryUnavailable'),
    and: ({ reason, text }) => reason === 'RegistryUnavailable' || REGISTRY_TROUBLE.test(withoutNames(text)),
    reason: 'ImagePullFailed',
    turnsAt: null,
  },
  {
    when: of('ErrImagePull', 'ImagePullBackOff', 'ImageInspectError'),
    reason: 'ImagePullFailed',
    turnsAt: ({ scheduledAt }, { imagePullMs }, startedAt) => sinceOr(scheduledAt, startedAt) + imagePullMs,
  },
  // May pass: told at once, a failure at the deadline.
  {
    when: of('CreateContainerError', 'RunContainerError'),
    reason: 'ContainerConfigInvalid',
    turnsAt: null,
  },
  {
    when: of('Unschedulable'),
    and: ({ text }) => CLAIM_MISSING.test(text),
    reason: 'MountFailed',
    turnsAt: ({ since }, { configErrorMs }, startedAt) => sinceOr(since, startedAt) + configErrorMs,
  },
  {
    when: of('Unschedulable', 'SchedulingGated', 'SchedulerError'),
    reason: 'Unschedulable',
    turnsAt: null,
  },
  { when: of('FailedMount', 'FailedAttachVolume'), reason: 'MountFailed', turnsAt: null },
  {
    when: null,
    and: ({ culprit }) => culprit.exit_code !== undefined && culprit.exit_code !== 0,
    reason: 'CrashLoop',
    turnsAt: null,
  },
  {
    when: of('ContainersNotReady', 'ReadinessGatesNotReady', 'Unhealthy'),
    reason: 'ReadinessFailed',
    turnsAt: null,
  },
];

/** Only that it takes its time: worth a word where nothing else is known. */
const VAGUE = of(
  'ContainerCreating',
  'PodInitializing',
  'ContainersNotInitialized',
  'ContainersNotReady',
  'Pending',
);

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
  /** ms since the epoch. */
  readonly startedAt: number;
  readonly now: number;
  readonly patience: Patience;
}

type Told = Pick<Symptom, 'reason' | 'text' | 'restarts'> & {
  readonly culprit: { readonly exit_code?: number };
};

function ruleOf(symptom: Told): Rule | undefined {
  return RULES.find(({ when, and }) => {
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
export function judgeRollout({ symptoms, awaited, startedAt, now, patience }: Evidence): Judgement {
  const deadline = startedAt + patience.deadlineMs;
  const ruled = symptoms.map((symptom) => {
    const rule = ruleOf(symptom);
    const turnsAt = rule?.turnsAt?.(symptom, patience, startedAt) ?? deadline;
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
