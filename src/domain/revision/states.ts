import { BUILD_FAILURES } from '../builds/build.ts';
import type { Reason } from '../conditions/conditions.ts';

/**
 * The state machines of deployments and revisions, as data.
 * Every change of a state is checked by `canMove`. Docs and tests are generated from these tables.
 */

/** The values of Deployment.status, in order of precedence. The first value that applies is used. */
export const DEPLOYMENT_STATUSES = [
  'AWAITING_DELETE',
  'UNKNOWN',
  'UNUSED',
  'AWAITING_DATABASE',
  'READY',
] as const;
export type DeploymentStatus = (typeof DEPLOYMENT_STATUSES)[number];

export const REVISION_STATUSES = [
  'CREATING',
  'CREATE_FAILED',
  'AWAITING_BUILD',
  'BUILDING',
  'BUILD_FAILED',
  'QUEUED',
  'AWAITING_DEPLOY',
  'DEPLOYING',
  'DEPLOYED',
  'DEPLOY_FAILED',
  'SKIPPED',
  'INTERRUPTED',
  'UNKNOWN',
] as const;
export type RevisionStatus = (typeof REVISION_STATUSES)[number];

/** The possible sources of a transition of a revision. */
export const MOVERS = {
  build: 'The observed build of a git_host revision (src/domain/builds/build-transitions.ts).',
  'hand-out':
    'The hub, when it sends the work item to the listener (src/hub/store/listeners/listener-work.ts).',
  report:
    'The observed state of the cluster (src/domain/revision/revision-transitions.ts), or a rejection by the cluster (src/domain/revision/report-outcome.ts).',
  reading:
    'The lease. The hub derives the status from the lease on each read (src/hub/store/deployments/status.ts), and writes one event.',
} as const;
export type Mover = keyof typeof MOVERS;

/** A transition from one state to another. */
export interface RevisionTransition {
  readonly from: RevisionStatus;
  readonly to: RevisionStatus;
  readonly by: readonly Mover[];
  /** Reasons that the event of the transition may have. */
  readonly reasons: readonly Reason[];
}

/** Reasons of a rejected work item. */
const REFUSALS = ['ApplyRefused', 'NamespaceNotAllowed', 'Refused'] as const satisfies readonly Reason[];

/** Reasons of a failed rollout. */
const FAILURES = [
  'RolloutFailed',
  'RolloutDeadlineExceeded',
  'InvalidImageName',
  'ImageNotFound',
  'ImagePullFailed',
  'ContainerConfigInvalid',
  'SecretReferenceMissing',
  'ReleaseFailed',
  'ReleaseLost',
  'CrashLoop',
  'Unschedulable',
  'QuotaExceeded',
  'AdmissionRefused',
  'MountFailed',
  'ReadinessFailed',
  'NodeLost',
  'FieldsChangedByCluster',
  ...REFUSALS,
] as const satisfies readonly Reason[];

function transition(
  from: RevisionStatus,
  to: RevisionStatus,
  by: Mover | readonly Mover[],
  reasons: readonly Reason[],
): RevisionTransition {
  return { from, to, by: typeof by === 'string' ? [by] : by, reasons };
}

/** All valid transitions. */
export const REVISION_TRANSITIONS: readonly RevisionTransition[] = [
  transition('CREATING', 'AWAITING_BUILD', 'build', ['AwaitingBuild']),
  transition('CREATING', 'QUEUED', ['build'], ['ImageResolved']),
  transition('CREATING', 'CREATE_FAILED', 'build', ['RecordInvalid']),
  transition('CREATING', 'SKIPPED', 'report', ['Superseded']),
  transition('AWAITING_BUILD', 'BUILDING', 'build', ['Building']),
  // The start of the build was not reported in time.
  transition('AWAITING_BUILD', 'QUEUED', 'build', ['ImageBuilt']),
  transition('AWAITING_BUILD', 'BUILD_FAILED', ['build', 'report'], [...BUILD_FAILURES, ...REFUSALS]),
  transition('AWAITING_BUILD', 'SKIPPED', 'report', ['Superseded']),
  transition('BUILDING', 'QUEUED', 'build', ['ImageBuilt']),
  transition('BUILDING', 'BUILD_FAILED', ['build', 'report'], [...BUILD_FAILURES, ...REFUSALS]),
  transition('BUILDING', 'SKIPPED', 'report', ['Superseded']),
  transition('BUILDING', 'UNKNOWN', 'reading', ['ListenerLost', 'ClusterUnreachable']),
  transition('QUEUED', 'AWAITING_DEPLOY', ['hand-out', 'report'], ['Reconciling', 'AwaitingDataServices']),
  transition('QUEUED', 'DEPLOYING', 'report', ['RolloutInProgress']),
  transition('QUEUED', 'DEPLOYED', 'report', ['RolloutComplete']),
  transition('QUEUED', 'DEPLOY_FAILED', 'report', FAILURES),
  transition('QUEUED', 'SKIPPED', 'report', ['Superseded']),
  // The rollout of the revision had started before the deployment was switched off.
  transition('QUEUED', 'INTERRUPTED', 'report', ['Interrupted']),
  transition('AWAITING_DEPLOY', 'DEPLOYING', 'report', ['RolloutInProgress']),
  transition('AWAITING_DEPLOY', 'DEPLOYED', 'report', ['RolloutComplete']),
  transition('AWAITING_DEPLOY', 'DEPLOY_FAILED', 'report', FAILURES),
  transition('AWAITING_DEPLOY', 'QUEUED', 'report', ['SwitchedOff']),
  transition('AWAITING_DEPLOY', 'SKIPPED', 'report', ['Superseded']),
  transition('AWAITING_DEPLOY', 'INTERRUPTED', 'report', ['Interrupted']),
  transition('AWAITING_DEPLOY', 'UNKNOWN', 'reading', ['ListenerLost', 'ClusterUnreachable']),
  transition('DEPLOYING', 'DEPLOYED', 'report', ['RolloutComplete']),
  transition('DEPLOYING', 'DEPLOY_FAILED', 'report', FAILURES),
  transition('DEPLOYING', 'INTERRUPTED', 'report', ['Interrupted']),
  transition('DEPLOYING', 'QUEUED', 'report', ['SwitchedOff']),
  transition('DEPLOYING', 'UNKNOWN', 'reading', ['ListenerLost', 'ClusterUnreachable']),
  transition('UNKNOWN', 'BUILDING', 'reading', ['ListenerReturned']),
  transition('UNKNOWN', 'AWAITING_DEPLOY', 'reading', ['ListenerReturned']),
  transition('UNKNOWN', 'DEPLOYING', 'reading', ['ListenerReturned']),
];

/**
 * Statuses that only the cluster reports, and that the API shows as UNKNOWN while the cluster is not observed.
 * AWAITING_BUILD and QUEUED are known to the hub itself, even for a cluster that was never observed, because no start
 * was reported.
 */
export const SEEN_IN_CLUSTER: readonly RevisionStatus[] = REVISION_TRANSITIONS.filter(
  ({ to }) => to === 'UNKNOWN',
).map(({ from }) => from);

const TRANSITIONS_FROM = Map.groupBy(REVISION_TRANSITIONS, ({ from }) => from);

/** The possible next states of a state. */
export function followersOf(status: RevisionStatus): RevisionStatus[] {
  return TRANSITIONS_FROM.get(status)?.map(({ to }) => to) ?? [];
}

/** What each state means. */
export const REVISION_MEANINGS: Readonly<Record<RevisionStatus, string>> = {
  CREATING: 'Recorded. The source of the image is not determined yet.',
  CREATE_FAILED: 'The revision could not be prepared.',
  AWAITING_BUILD: 'The image of the revision waits to be built.',
  BUILDING: 'The image of the revision is being built.',
  BUILD_FAILED: 'The image of the revision could not be built.',
  QUEUED: 'The revision waits until the listener receives it, or until the deployment is switched on.',
  AWAITING_DEPLOY: 'The listener has received the revision. The rollout has not started.',
  DEPLOYING: 'Components are being updated to this revision.',
  DEPLOYED: 'Every component was observed to run the revision.',
  DEPLOY_FAILED: 'The rollout of the revision failed. Berth does not retry the rollout.',
  SKIPPED: 'A newer revision replaced this revision before it started.',
  INTERRUPTED: 'A newer revision replaced this revision after its rollout had started.',
  UNKNOWN: 'The revision is in progress, but the cluster is not observed, so the progress is not known.',
};

/** A terminal revision never changes its state again. */
export function isTerminalStatus(status: RevisionStatus): boolean {
  return !TRANSITIONS_FROM.has(status);
}

export const TERMINAL_STATUSES: readonly RevisionStatus[] = REVISION_STATUSES.filter(isTerminalStatus);

/** Whether a revision may change from the state `from` to the state `to`. A revision may always remain in its state. */
export function canMove(from: RevisionStatus, to: RevisionStatus): boolean {
  return from === to || followersOf(from).includes(to);
}

/** The facts from which the hub derives the status: from the record and the last observation. */
export interface StatusFacts {
  /** Whether the deletion was requested. */
  readonly deleting: boolean;
  /** Whether a revision exists that can run (internal_image without image_uri has none). */
  readonly hasRunnableRevision: boolean;
  /** Whether the listener holds a valid lease and can read the cluster and the namespace of the deployment. */
  readonly watched: boolean;
  /** Whether the deployment was reported at least once. */
  readonly observed: boolean;
  /** Whether no pods run, according to the last report. */
  readonly observedOff: boolean;
  /** Whether database and cache are ready (or external), according to the last report. */
  readonly dataReady: boolean;
}

/** One row of the table of Deployment.status. */
export interface StatusRule {
  readonly status: DeploymentStatus;
  readonly applies: (facts: StatusFacts) => boolean;
  /** The condition in words. */
  readonly when: string;
  readonly meaning: string;
  /** Reasons that the event of a change to this status may have. */
  readonly reasons: readonly Reason[];
}

/** The rules of Deployment.status, in order of precedence. The first rule that applies determines the status. */
export const DEPLOYMENT_STATUS_RULES: readonly StatusRule[] = [
  {
    status: 'AWAITING_DELETE',
    applies: ({ deleting }) => deleting,
    when: 'deletion was requested',
    meaning:
      'The deployment is removed when none of its objects remains in the cluster. The deployment can be restored ' +
      'within the grace period.',
    reasons: ['DeletionRequested'],
  },
  {
    status: 'UNKNOWN',
    applies: ({ observed, watched }) => observed && !watched,
    when: 'the deployment was observed before, and its cluster or its namespace is not observed now',
    meaning: 'The cluster is not reporting. The last known status is not shown as current.',
    reasons: ['ListenerLost', 'ClusterUnreachable'],
  },
  {
    status: 'UNUSED',
    applies: ({ hasRunnableRevision, observedOff }) => !hasRunnableRevision || observedOff,
    when: 'no revision can run, or all its pods were observed to be switched off',
    meaning: 'No pods are desired. The data is kept.',
    reasons: [
      'Created',
      'Restored',
      'ListenerReturned',
      'SwitchedOff',
      'NoRevision',
      ...BUILD_FAILURES,
      ...REFUSALS,
      'RecordInvalid',
    ],
  },
  {
    status: 'AWAITING_DATABASE',
    applies: ({ dataReady }) => !dataReady,
    when: 'database or cache was not observed to be ready',
    meaning:
      'The data services start or restart, or no listener has received the deployment yet. The active revision keeps ' +
      'serving.',
    reasons: [
      'Created',
      'Patched',
      'Restored',
      'ListenerReturned',
      'DatabaseStarting',
      'DatabaseUnavailable',
      'CacheStarting',
      'CacheUnavailable',
      'SwitchedOff',
      'ObjectRecreated',
      'Reconciling',
      'BeingDeleted',
      'FinalizerBlocks',
    ],
  },
  {
    status: 'READY',
    applies: () => true,
    when: 'no other rule applies',
    meaning:
      'Database and cache are ready, so revisions can run. A rollout does not change this status, even if it fails.',
    reasons: [
      'DatabaseAvailable',
      'ExternalDatabase',
      'DatabaseDisabled',
      'VolumeResizing',
      'VolumeNotExpandable',
      'VolumeBeingDeleted',
      'VolumeLost',
      'Patched',
      'Restored',
      'ListenerReturned',
    ],
  },
];

/**
 * Derives Deployment.status from the facts. The store computes the same status in SQL, because lists filter by it. A
 * test compares both for all combinations.
 */
export function deploymentStatus(facts: StatusFacts): DeploymentStatus {
  return DEPLOYMENT_STATUS_RULES.find(({ applies }) => applies(facts))?.status ?? 'READY';
}

/**
 * Statuses of a listener, derived from its lease and the data sent with the lease. The store computes the status of a
 * listener in SQL.
 */
export const LISTENER_STATUSES = ['NEVER_SEEN', 'CONNECTED', 'CLUSTER_UNREACHABLE', 'LOST'] as const;
export type ListenerStatus = (typeof LISTENER_STATUSES)[number];
