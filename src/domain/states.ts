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

/** From each revision state, the states that may follow. A state without followers is terminal. */
export const REVISION_TRANSITIONS: Readonly<Record<RevisionStatus, readonly RevisionStatus[]>> = {
  CREATING: ['AWAITING_BUILD', 'QUEUED', 'CREATE_FAILED', 'SKIPPED'],
  AWAITING_BUILD: ['BUILDING', 'SKIPPED', 'BUILD_FAILED'],
  BUILDING: ['QUEUED', 'BUILD_FAILED', 'SKIPPED'],
  QUEUED: ['AWAITING_DEPLOY', 'DEPLOYING', 'DEPLOYED', 'DEPLOY_FAILED', 'SKIPPED'],
  AWAITING_DEPLOY: ['DEPLOYING', 'DEPLOYED', 'DEPLOY_FAILED', 'QUEUED', 'SKIPPED', 'UNKNOWN'],
  DEPLOYING: ['DEPLOYED', 'DEPLOY_FAILED', 'INTERRUPTED', 'QUEUED', 'AWAITING_DEPLOY', 'UNKNOWN'],
  UNKNOWN: ['AWAITING_DEPLOY', 'DEPLOYING', 'DEPLOYED', 'DEPLOY_FAILED', 'SKIPPED', 'INTERRUPTED', 'QUEUED'],
  DEPLOYED: [],
  CREATE_FAILED: [],
  BUILD_FAILED: [],
  DEPLOY_FAILED: [],
  SKIPPED: [],
  INTERRUPTED: [],
};

/** A terminal revision never changes its state again. */
export function isTerminal(status: RevisionStatus): boolean {
  return REVISION_TRANSITIONS[status].length === 0;
}

/** May a revision go from `from` to `to`? Staying is always allowed. */
export function canMove(from: RevisionStatus, to: RevisionStatus): boolean {
  return from === to || REVISION_TRANSITIONS[from].includes(to);
}

/** What the hub knows about a deployment when it derives the status; all from the record and the last observation. */
export interface StatusFacts {
  /** Deletion was asked for. */
  readonly deleting: boolean;
  /** There is a revision that could run (internal_image without image_uri has none). */
  readonly hasRunnableRevision: boolean;
  /** The listener holds a live lease. */
  readonly listenerAlive: boolean;
  /** Something of this deployment was reported at least once. */
  readonly observed: boolean;
  /** The cluster was last seen with everything of it switched off. */
  readonly observedOff: boolean;
  /** Database and cache were last seen ready (or are external). */
  readonly dataReady: boolean;
}

/**
 * Deployment.status from the facts. The store computes the same in SQL (the list filters by it);
 * a test holds the two against each other over all combinations.
 */
export function deploymentStatus(facts: StatusFacts): DeploymentStatus {
  if (facts.deleting) return 'AWAITING_DELETE';
  if (facts.observed && !facts.listenerAlive) return 'UNKNOWN';
  if (!facts.hasRunnableRevision || facts.observedOff) return 'UNUSED';
  if (!facts.dataReady) return 'AWAITING_DATABASE';
  return 'READY';
}

/** Whether a listener is there. All from its lease and what it said with it; the store computes it in SQL. */
export const LISTENER_STATUSES = ['NEVER_SEEN', 'CONNECTED', 'CLUSTER_UNREACHABLE', 'LOST'] as const;
export type ListenerStatus = (typeof LISTENER_STATUSES)[number];
