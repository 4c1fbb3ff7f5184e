import { BUILD_FAILURES } from '../builds/build.ts';
import type { Reason } from '../conditions/conditions.ts';

/**
 * The state machines of deployments and revisions, as data.
 * Everything that moves a state asks `canMove`; docs and tests are made from these tables.
 */

/** Deployment.status of the contract, in the order of precedence: the first that applies wins. */
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

/** Who moves a revision. */
export const MOVERS = {
  build: 'The observed build of a git_host revision (build-steps.ts).',
  'hand-out': 'The hub, when it sends the work item to the listener (store/listener-work.ts).',
  report:
    'The observed state of the cluster (revision-steps.ts), or a rejection by the cluster (report-outcome.ts).',
  reading:
    'The lease: the status is derived from it on each read (store/status.ts), and one event is written.',
} as const;
export type Mover = keyof typeof MOVERS;

/** One way from a state to another. */
export interface RevisionTransition {
  readonly from: RevisionStatus;
  readonly to: RevisionStatus;
  readonly by: readonly Mover[];
  /** Reasons that the event row may carry. */
  readonly reasons: readonly Reason[];
}

/** Reasons of a work item that the cluster does not take, whatever of it. */
const REFUSALS = ['ApplyRefused', 'NamespaceNotAllowed', 'Refused'] as const satisfies readonly Reason[];

/** Reasons of a revision that the cluster did not bring up. */
const FAILURES = [
  'RolloutFailed',
  'RolloutDeadlineExceeded',
  'InvalidImageName',
  'ImageNotFound',
  'ImagePullFailed',
  'ContainerConfigInvalid',
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

function way(
  from: RevisionStatus,
  to: RevisionStatus,
  by: Mover | readonly Mover[],
  reasons: readonly Reason[],
): RevisionTransition {
  return { from, to, by: typeof by === 'string' ? [by] : by, reasons };
}

/** Every transition there is. What is not in here does not happen. */
export const REVISION_WAYS: readonly RevisionTransition[] = [
  way('CREATING', 'AWAITING_BUILD', 'build', ['AwaitingBuild']),
  way('CREATING', 'QUEUED', ['build'], ['ImageResolved']),
  way('CREATING', 'CREATE_FAILED', 'build', ['RecordInvalid']),
  way('CREATING', 'SKIPPED', 'report', ['Superseded']),
  way('AWAITING_BUILD', 'BUILDING', 'build', ['Building']),
  // The start of the build was not reported in time.
  way('AWAITING_BUILD', 'QUEUED', 'build', ['ImageBuilt']),
  way('AWAITING_BUILD', 'BUILD_FAILED', ['build', 'report'], [...BUILD_FAILURES, ...REFUSALS]),
  way('AWAITING_BUILD', 'SKIPPED', 'report', ['Superseded']),
  way('BUILDING', 'QUEUED', 'build', ['ImageBuilt']),
  way('BUILDING', 'BUILD_FAILED', ['build', 'report'], [...BUILD_FAILURES, ...REFUSALS]),
  way('BUILDING', 'SKIPPED', 'report', ['Superseded']),
  way('BUILDING', 'UNKNOWN', 'reading', ['ListenerLost', 'ClusterUnreachable']),
  way('QUEUED', 'AWAITING_DEPLOY', ['hand-out', 'report'], ['Reconciling', 'AwaitingDataServices']),
  way('QUEUED', 'DEPLOYING', 'report', ['RolloutInProgress']),
  way('QUEUED', 'DEPLOYED', 'report', ['RolloutComplete']),
  way('QUEUED', 'DEPLOY_FAILED', 'report', FAILURES),
  way('QUEUED', 'SKIPPED', 'report', ['Superseded']),
  // It had begun to roll before it was switched off.
  way('QUEUED', 'INTERRUPTED', 'report', ['Interrupted']),
  way('AWAITING_DEPLOY', 'DEPLOYING', 'report', ['RolloutInProgress']),
  way('AWAITING_DEPLOY', 'DEPLOYED', 'report', ['RolloutComplete']),
  way('AWAITING_DEPLOY', 'DEPLOY_FAILED', 'report', FAILURES),
  way('AWAITING_DEPLOY', 'QUEUED', 'report', ['SwitchedOff']),
  way('AWAITING_DEPLOY', 'SKIPPED', 'report', ['Superseded']),
  way('AWAITING_DEPLOY', 'INTERRUPTED', 'report', ['Interrupted']),
  way('AWAITING_DEPLOY', 'UNKNOWN', 'reading', ['ListenerLost', 'ClusterUnreachable']),
  way('DEPLOYING', 'DEPLOYED', 'report', ['RolloutComplete']),
  way('DEPLOYING', 'DEPLOY_FAILED', 'report', FAILURES),
  way('DEPLOYING', 'INTERRUPTED', 'report', ['Interrupted']),
  way('DEPLOYING', 'QUEUED', 'report', ['SwitchedOff']),
  way('DEPLOYING', 'UNKNOWN', 'reading', ['ListenerLost', 'ClusterUnreachable']),
  way('UNKNOWN', 'BUILDING', 'reading', ['ListenerReturned']),
  way('UNKNOWN', 'AWAITING_DEPLOY', 'reading', ['ListenerReturned']),
  way('UNKNOWN', 'DEPLOYING', 'reading', ['ListenerReturned']),
];

/**
 * Statuses that only the cluster reports. They are read as UNKNOWN while the cluster is not observed. AWAITING_BUILD and QUEUED
 * are known to the hub itself, even for a cluster that was never observed, because no start was reported.
 */
export const SEEN_IN_CLUSTER: readonly RevisionStatus[] = REVISION_WAYS.filter(
  ({ to }) => to === 'UNKNOWN',
).map(({ from }) => from);

const WAYS_FROM = Map.groupBy(REVISION_WAYS, ({ from }) => from);

/** The states that may follow. */
export function followersOf(status: RevisionStatus): RevisionStatus[] {
  return WAYS_FROM.get(status)?.map(({ to }) => to) ?? [];
}

/** What each state means. */
export const REVISION_MEANINGS: Readonly<Record<RevisionStatus, string>> = {
  CREATING: 'Recorded. The source of its image is not determined yet.',
  CREATE_FAILED: 'The revision could not be prepared.',
  AWAITING_BUILD: 'Its image waits to be built.',
  BUILDING: 'Its image is being built.',
  BUILD_FAILED: 'Its image could not be built.',
  QUEUED: 'It waits until the listener receives it, or until the deployment is switched on.',
  AWAITING_DEPLOY: 'The listener has received it. Its rollout has not started.',
  DEPLOYING: 'Components are being updated to this revision.',
  DEPLOYED: 'Every component was observed to run it.',
  DEPLOY_FAILED: 'Its rollout failed. Berth does not retry it.',
  SKIPPED: 'A newer revision replaced it before it started.',
  INTERRUPTED: 'A newer revision replaced it after its rollout had started.',
  UNKNOWN: 'It is in progress, but its cluster is not observed, so its progress is not known.',
};

/** A terminal revision never changes its state again. */
export function isTerminal(status: RevisionStatus): boolean {
  return !WAYS_FROM.has(status);
}

export const TERMINAL_STATUSES: readonly RevisionStatus[] = REVISION_STATUSES.filter(isTerminal);

/** May a revision go from `from` to `to`? Staying is always allowed. */
export function canMove(from: RevisionStatus, to: RevisionStatus): boolean {
  return from === to || followersOf(from).includes(to);
}

/** What the hub knows about a deployment when it derives the status; all from the record and the last observation. */
export interface StatusFacts {
  /** Deletion was asked for. */
  readonly deleting: boolean;
  /** There is a revision that could run (internal_image without image_uri has none). */
  readonly hasRunnableRevision: boolean;
  /** The listener holds a live lease, and sees the cluster and the deployment's namespace. */
  readonly watched: boolean;
  /** Something of this deployment was reported at least once. */
  readonly observed: boolean;
  /** The cluster was last seen with everything of it switched off. */
  readonly observedOff: boolean;
  /** Database and cache were last seen ready (or are external). */
  readonly dataReady: boolean;
}

/** One line of the table of Deployment.status. */
export interface StatusRule {
  readonly status: DeploymentStatus;
  readonly applies: (facts: StatusFacts) => boolean;
  /** The same in words. */
  readonly when: string;
  readonly meaning: string;
  /** Reasons that the event row may carry when a deployment comes to be so. */
  readonly reasons: readonly Reason[];
}

/** Deployment.status, in the order of precedence: the first that applies wins. */
export const DEPLOYMENT_STATUS_RULES: readonly StatusRule[] = [
  {
    status: 'AWAITING_DELETE',
    applies: ({ deleting }) => deleting,
    when: 'deletion was requested',
    meaning:
      'It is removed when no object of it remains in the cluster. Within the grace period it can be restored.',
    reasons: ['DeletionRequested'],
  },
  {
    status: 'UNKNOWN',
    applies: ({ observed, watched }) => observed && !watched,
    when: 'it was observed before, and its cluster or its namespace is not observed now',
    meaning: 'The cluster is not reporting. The last known status is not shown as current.',
    reasons: ['ListenerLost', 'ClusterUnreachable'],
  },
  {
    status: 'UNUSED',
    applies: ({ hasRunnableRevision, observedOff }) => !hasRunnableRevision || observedOff,
    when: 'no revision can run, or all its pods were observed to be switched off',
    meaning: 'No pods are desired. Its data is kept.',
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
      'Its data services start or restart, or no listener has received it yet. The active revision keeps serving.',
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
    when: 'none of the above',
    meaning:
      'Database and cache are ready, so revisions can run. A rollout does not change this status, even if it fails.',
    reasons: [
      'DatabaseAvailable',
      'ExternalDatabase',
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
 * Deployment.status from the facts. The store computes the same in SQL (the list filters by it);
 * a test holds the two against each other over all combinations.
 */
export function deploymentStatus(facts: StatusFacts): DeploymentStatus {
  return DEPLOYMENT_STATUS_RULES.find(({ applies }) => applies(facts))?.status ?? 'READY';
}

/** Whether a listener is there. All from its lease and what it said with it; the store computes it in SQL. */
export const LISTENER_STATUSES = ['NEVER_SEEN', 'CONNECTED', 'CLUSTER_UNREACHABLE', 'LOST'] as const;
export type ListenerStatus = (typeof LISTENER_STATUSES)[number];
