import type { Reason } from '../../../domain/conditions/conditions.ts';
import type { Symptom } from './symptoms.ts';

/**
 * Which symptom fails a rollout, and when. The table below is the specification. The first row that matches a symptom
 * determines its reason and how long it may last. judge-rollout.ts applies the table.
 */

/** How long each kind of symptom may last, in milliseconds. */
export interface Patience {
  /** The deadline of the whole rollout, counted from its start. */
  readonly deadlineMs: number;
  /** A reference to an object that does not exist, or does not exist yet. */
  readonly configErrorMs: number;
  /** An image that cannot be pulled, counted from when a node took the pod. */
  readonly imagePullMs: number;
  /** A rejection of pods. At first, the condition may still describe the former templates. */
  readonly refusalMs: number;
}

export const DEFAULT_PATIENCE: Omit<Patience, 'deadlineMs'> = {
  configErrorMs: 15_000,
  imagePullMs: 60_000,
  refusalMs: 2_000,
};

/** A container in back-off that has restarted this often is not expected to start. */
export const CRASH_LOOP_RESTARTS = 3;

/** Errors of the registry, not of the image. Errors of a registry may be temporary. */
const REGISTRY_TROUBLE =
  /\b(?:429|50[0234])\b|too ?many ?requests|internal server error|bad gateway|service unavailable|gateway time-?out|i\/o timeout|connection (?:refused|reset)|TLS handshake timeout|deadline exceeded|no such host|: EOF\b|unexpected EOF/i;
/** Removes names of images, hosts and addresses, because a tag such as `:500` is not a response of the registry. */
const withoutNames = (text: string) => text.replace(/"[^"]*"|\S*[/:@]\S*\d\S*/g, ' ');
/**
 * Messages with which a quota rejects a request. The second message comes from a new quota that has not counted the
 * usage yet.
 */
export const QUOTA = /exceeded quota|status unknown for quota/i;
/** The scheduler waits for a claim that does not exist. */
const CLAIM_MISSING = /persistentvolumeclaim "[^"]{1,253}" not found/i;
/**
 * A rejection because of the pod's content. All other rejections, such as a webhook that does not respond, may be
 * temporary.
 */
const ADMISSION = /is forbidden|denied the request|denied request|is invalid/i;

/**
 * How long a symptom may last before it fails the rollout. `from`: the start of this time, never earlier than the start
 * of the templates.
 */
export type Lasts =
  | 'not at all'
  | 'until the deadline'
  /** Without another symptom, the deadline is extended; see rollout.ts. */
  | 'as long as it is seen'
  | {
      readonly patience: Exclude<keyof Patience, 'deadlineMs'>;
      readonly from: 'since' | 'scheduledAt';
    };

/** The part of a symptom that a rule uses. */
export type RuleInput = Pick<Symptom, 'reason' | 'text' | 'restarts'> & {
  readonly failureSource: { readonly exitCode?: number };
};

export interface Rule {
  /** Reasons of Kubernetes that match; null: any. */
  readonly when: ReadonlySet<string> | null;
  readonly and?: (symptom: RuleInput) => boolean;
  /** The condition in words, for the documentation. */
  readonly seen: string;
  readonly reason: Reason;
  readonly lasts: Lasts;
}

const of = (...reasons: string[]): ReadonlySet<string> => new Set(reasons);

/** docs/lifecycle.md shows this table. */
export const FAILURE_RULES: readonly Rule[] = [
  // The revision does not cause this symptom. The symptom disappears as soon as the policy is changed.
  {
    when: of('FieldsChangedByCluster'),
    seen: 'an admission policy or webhook of the cluster changes the pods that Berth writes',
    reason: 'FieldsChangedByCluster',
    lasts: 'as long as it is seen',
  },
  // Only another revision can resolve the following symptoms.
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
    and: ({ restarts }) => restarts >= CRASH_LOOP_RESTARTS,
    seen: `a container is in back-off after ${CRASH_LOOP_RESTARTS} restarts or more`,
    reason: 'CrashLoop',
    lasts: 'not at all',
  },
  {
    when: of('InitContainerFailed'),
    and: ({ restarts }) => restarts >= CRASH_LOOP_RESTARTS,
    seen: `an init container that does not restart (\`restartPolicy: Never\`) has failed in ${CRASH_LOOP_RESTARTS} pods or more`,
    reason: 'CrashLoop',
    lasts: 'not at all',
  },
  // The referenced object may be created shortly afterwards.
  {
    when: of('CreateContainerConfigError'),
    seen: 'a container refers to a Secret, ConfigMap or key that does not exist',
    reason: 'ContainerConfigInvalid',
    lasts: { patience: 'configErrorMs', from: 'since' },
  },
  // Other pods may end and free the quota.
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
  // The following symptoms may be temporary. A symptom of this kind is reported at once, and is a failure at the
  // deadline.
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
    and: ({ failureSource }) => failureSource.exitCode !== undefined && failureSource.exitCode !== 0,
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
