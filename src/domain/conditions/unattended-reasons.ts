import type { Reason } from './conditions.ts';
import { remedyOf } from './remedies.ts';

const PODS =
  'Kubernetes keeps restarting the pods, and the cause may end. A rollout fails at its deadline, and is then Stalled.';
const DELETION =
  'The kubelet, the garbage collector or the controller of a finalizer may complete the deletion.';
const REVISION = 'Only a revision has the reason.';
const HUB = 'Only the hub reports the reason.';
const NOTHING_RUNS = 'While Ready is False, workloads are being stopped. Afterwards Ready is True.';
const TRUE = 'The reason never makes Ready False.';

/**
 * Reasons that have a remedy for a person, but do not mean that the custom resource is Stalled, each with the
 * explanation.
 */
export const UNATTENDED: Readonly<Partial<Record<Reason, string>>> = {
  InvalidImageName: PODS,
  ImagePullFailed: PODS,
  ContainerConfigInvalid: PODS,
  CrashLoop: PODS,
  Unschedulable: PODS,
  QuotaExceeded: 'Others may release the quota. A rollout fails at its deadline, and is then Stalled.',
  AdmissionRefused: PODS,
  MountFailed: PODS,
  ReadinessFailed: PODS,
  NodeLost: PODS,
  FinalizerBlocks: DELETION,
  VolumeInUse: DELETION,
  PodNotEnding: DELETION,
  DependentsLeft: DELETION,
  DeletionRefused: DELETION,
  DeletionForbidden: DELETION,
  DeletionRequested: 'The grace period ends, and the resource is then deleted.',
  NamespaceTerminating: 'The deletion of the namespace includes the resource.',
  SwitchedOff: NOTHING_RUNS,
  NoRevision: NOTHING_RUNS,
  ImageUnresolved: TRUE,
  Paused: 'A paused resource is neither in progress nor failed.',
  Interrupted: REVISION,
  Superseded: REVISION,
  ListenerNeverSeen: HUB,
  ListenerLost: HUB,
  ClusterUnreachable: HUB,
  SecretsUnreadable: HUB,
  TokenUnreadable: HUB,
  RecordInvalid: HUB,
  ApplyRefused: HUB,
  NamespaceNotAllowed: HUB,
};

/**
 * Whether a custom resource that is not ready for this reason remains so until a person changes the spec or the cluster.
 * This is true of every reason with a remedy for a person, except for those in the list above.
 */
export function waitsForPerson(reason: Reason): boolean {
  return remedyOf(reason)?.kind === 'act' && !Object.hasOwn(UNATTENDED, reason);
}
