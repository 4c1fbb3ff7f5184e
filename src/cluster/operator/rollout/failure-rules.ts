import type { Reason } from '../../../domain/conditions/conditions.ts';
import type { Symptom } from './symptoms.ts';

/**
 * Which problem is a failure, and when. The table below is the specification: the first row that matches a symptom gives
 * its reason, and how long it may last. judge-rollout.ts uses it.
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
export const HOPELESS_RESTARTS = 3;

/** The registry's trouble, not the image's: it may pass. */
const REGISTRY_TROUBLE =
  /\b(?:429|50[0234])\b|too ?many ?requests|internal server error|bad gateway|service unavailable|gateway time-?out|i\/o timeout|connection (?:refused|reset)|TLS handshake timeout|deadline exceeded|no such host|: EOF\b|unexpected EOF/i;
/** Names of images, hosts and addresses in what the registry says: a tag `:500` is no answer of it. */
const withoutNames = (text: string) => text.replace(/"[^"]*"|\S*[/:@]\S*\d\S*/g, ' ');
/** How a quota refuses. The second: it was just made, and nothing is counted yet. */
export const QUOTA = /exceeded quota|status unknown for quota/i;
/** The scheduler waits for a claim that does not exist. */
const CLAIM_MISSING = /persistentvolumeclaim "[^"]{1,253}" not found/i;
/** Refused for what the pod is; all else (a webhook that does not answer) may pass. */
const ADMISSION = /is forbidden|denied the request|denied request|is invalid/i;

/** How long trouble may last before it is a failure; a part of the patience is counted from then, not before the templates. */
export type Lasts =
  | 'not at all'
  | 'until the deadline'
  /** If there is no other problem, the deadline is extended: see rollout.ts. */
  | 'as long as it is seen'
  | {
      readonly patience: Exclude<keyof Patience, 'deadlineMs'>;
      readonly from: 'since' | 'scheduledAt';
    };

/** The part of a symptom that a rule uses. */
export type Told = Pick<Symptom, 'reason' | 'text' | 'restarts'> & {
  readonly culprit: { readonly exit_code?: number };
};

export interface Rule {
  /** Reasons as Kubernetes names them; null: any. */
  readonly when: ReadonlySet<string> | null;
  readonly and?: (symptom: Told) => boolean;
  /** The same in words, for people. */
  readonly seen: string;
  readonly reason: Reason;
  readonly lasts: Lasts;
}

const of = (...reasons: string[]): ReadonlySet<string> => new Set(reasons);

/** docs/lifecycle.md shows this table. */
export const FAILURE_RULES: readonly Rule[] = [
  // Not the revision's fault, and over as soon as the policy is changed.
  {
    when: of('FieldsChangedByCluster'),
    seen: 'an admission policy or webhook of the cluster changes the pods that Berth writes',
    reason: 'FieldsChangedByCluster',
    lasts: 'as long as it is seen',
  },
  // Nothing but another revision helps.
  {
    when: of('InvalidImageName'),
    seen: 'the name of an image is not valid',
    reason: 'InvalidImageName',
    lasts: 'not at all',
  },
  {
    when: of('ErrImageNeverPull'),
    seen: 'an image must not be pulled (`imagePullPolicy: Never`) and is not on the node',
    reason: 'ImagePullFailed',
    lasts: 'not at all',
  },
  {
    when: of('CrashLoopBackOff'),
    and: ({ restarts }) => restarts >= HOPELESS_RESTARTS,
    seen: `a container is in back-off after ${HOPELESS_RESTARTS} restarts or more`,
    reason: 'CrashLoop',
    lasts: 'not at all',
  },
  {
    when: of('InitContainerFailed'),
    and: ({ restarts }) => restarts >= HOPELESS_RESTARTS,
    seen: `an init container that does not restart (\`restartPolicy: Never\`) has failed in ${HOPELESS_RESTARTS} pods or more`,
    reason: 'CrashLoop',
    lasts: 'not at all',
  },
  // What it refers to may be made a moment later.
  {
    when: of('CreateContainerConfigError'),
    seen: 'a container refers to a Secret, ConfigMap or key that does not exist',
    reason: 'ContainerConfigInvalid',
    lasts: { patience: 'configErrorMs', from: 'since' },
  },
  // Quota may be freed, by other pods that end.
  {
    when: of('ReplicaFailure', 'PartialReplicaFailure'),
    and: ({ text }) => QUOTA.test(text),
    seen: 'a quota of the namespace allows no more pods',
    reason: 'QuotaExceeded',
    lasts: 'until the deadline',
  },
  {
    when: of('ReplicaFailure'),
    and: ({ text }) => ADMISSION.test(text),
    seen: 'the cluster rejects the pods because of their content (admission, Pod Security)',
    reason: 'AdmissionRefused',
    lasts: { patience: 'refusalMs', from: 'since' },
  },
  {
    when: of('ReplicaFailure', 'PartialReplicaFailure'),
    seen: 'the cluster rejects the pods for another reason, such as an admission webhook that does not respond',
    reason: 'AdmissionRefused',
    lasts: 'until the deadline',
  },
  {
    when: of('ErrImagePull', 'ImagePullBackOff', 'RegistryUnavailable'),
    and: ({ reason, text }) => reason === 'RegistryUnavailable' || REGISTRY_TROUBLE.test(withoutNames(text)),
    seen: 'the registry of an image responds with 429 or 5xx, or does not respond',
    reason: 'ImagePullFailed',
    lasts: 'until the deadline',
  },
  {
    when: of('ErrImagePull', 'ImagePullBackOff', 'ImageInspectError', 'SignatureValidationFailed'),
    seen: 'an image cannot be pulled for another reason: it does not exist, access is denied, or it has no valid signature',
    reason: 'ImagePullFailed',
    lasts: { patience: 'imagePullMs', from: 'scheduledAt' },
  },
  // May be temporary: reported at once, a failure at the deadline.
  {
    when: of('CreateContainerError', 'RunContainerError'),
    seen: 'a container cannot be created or started',
    reason: 'ContainerConfigInvalid',
    lasts: 'until the deadline',
  },
  {
    when: of('CreatePodSandboxError', 'ConfigPodSandboxError', 'FailedCreatePodSandBox', 'NetworkNotReady'),
    seen: 'a node cannot create the sandbox or the network of a pod',
    reason: 'ContainerConfigInvalid',
    lasts: 'until the deadline',
  },
  {
    when: of('PodsEndedByNode'),
    seen: 'nodes repeatedly reject or evict pods, outside of a rollout',
    reason: 'Unschedulable',
    lasts: 'until the deadline',
  },
  {
    when: of('Unschedulable'),
    and: ({ text }) => CLAIM_MISSING.test(text),
    seen: 'a pod refers to a volume claim that does not exist',
    reason: 'MountFailed',
    lasts: { patience: 'configErrorMs', from: 'since' },
  },
  {
    when: of('Unschedulable', 'SchedulingGated', 'SchedulerError'),
    seen: 'a pod cannot be scheduled to any node',
    reason: 'Unschedulable',
    lasts: 'until the deadline',
  },
  {
    when: of('FailedMount', 'FailedAttachVolume', 'FailedMapVolume'),
    seen: 'a volume cannot be attached or mounted',
    reason: 'MountFailed',
    lasts: 'until the deadline',
  },
  {
    when: of('NodeNotReady'),
    seen: 'the node of a pod does not respond',
    reason: 'NodeLost',
    lasts: 'until the deadline',
  },
  {
    when: null,
    and: ({ culprit }) => culprit.exit_code !== undefined && culprit.exit_code !== 0,
    seen: 'a container ended with an error, and it or its pod restarts',
    reason: 'CrashLoop',
    lasts: 'until the deadline',
  },
  {
    when: of('ContainersNotReady', 'ReadinessGatesNotReady', 'Unhealthy'),
    seen: 'a pod runs and does not become ready',
    reason: 'ReadinessFailed',
    lasts: 'until the deadline',
  },
];
