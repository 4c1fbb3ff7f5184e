import { type DeploymentStatus, SEEN_IN_CLUSTER } from '../../../domain/revision/states.ts';

/**
 * Deployment.status and the listener's liveness in SQL: the one place of both.
 * The same as domain/revision/states.ts deploymentStatus (held against it by a test), split in two: the generated column
 * `recorded_status` knows all but the listener; UNKNOWN is added here, at reading, from the lease's expiry and from the
 * namespaces that the listener can read.
 * Table aliases: `d` deployments, `l` its listener.
 */

/** Whether the listener holds a live lease, sees its cluster, and has told what it found there since it was away. */
export const LISTENER_ALIVE = `(l.cluster_reachable AND NOT l.awaits_inventory AND coalesce(l.lease_expires_at > now(), false))`;

/**
 * Why the listener does not see the deployment's namespace: '' where its list lacks it, else the listener's own words.
 * NULL: it does. The list places nobody in the namespace of a tenant.
 */
export const UNSEEN = `CASE WHEN l.unreadable ? d.namespace THEN l.unreadable ->> d.namespace
  WHEN jsonb_array_length(l.compute_config -> 'k8s_namespaces') > 0 AND NOT l.compute_config -> 'k8s_namespaces' ? d.namespace
    AND d.namespace <> 'berth-' || d.tenant_id THEN '' END`;

/** Whether the listener looks at the deployment. */
const WATCHED = `(${LISTENER_ALIVE} AND (${UNSEEN}) IS NULL)`;

const unknownIf = (unwatched: string) =>
  `(d.recorded_status <> 'AWAITING_DELETE' AND d.observed_at IS NOT NULL AND ${unwatched})`;

/** Deployment.status. */
export const DEPLOYMENT_STATUS = `CASE WHEN ${unknownIf(`NOT ${WATCHED}`)} THEN 'UNKNOWN' ELSE d.recorded_status END`;

/**
 * Deployment.status as the history has it: UNKNOWN from when the loss of the listener was written there, which is a few
 * seconds after it can be read. A namespace that cannot be read is no event. So the events of a deployment form a chain:
 * each begins where the one before ended.
 */
export const TOLD_STATUS = `CASE WHEN ${unknownIf('l.loss_recorded')} THEN 'UNKNOWN' ELSE d.recorded_status END`;

const LOST_LISTENERS = `SELECT l.id FROM listeners l WHERE NOT ${LISTENER_ALIVE}`;
/** Those of which some namespace may be UNSEEN. */
const PARTLY_BLIND = `SELECT l.id FROM listeners l
  WHERE l.unreadable <> '{}' OR jsonb_array_length(l.compute_config -> 'k8s_namespaces') > 0`;
const UNKNOWN = unknownIf(`(d.listener_id IN (${LOST_LISTENERS}) OR d.listener_id IN (${PARTLY_BLIND})
  AND EXISTS (SELECT FROM listeners l WHERE l.id = d.listener_id AND (${UNSEEN}) IS NOT NULL))`);

/**
 * Condition that Deployment.status is `status`; needs `d` only. The few listeners that are lost, or see a part of their
 * cluster, are looked up once, so that the index by recorded_status serves, and UNKNOWN costs nothing while there is none.
 */
export function statusIs(status: DeploymentStatus): string {
  if (status === 'UNKNOWN') return `(EXISTS (${LOST_LISTENERS}) OR EXISTS (${PARTLY_BLIND})) AND ${UNKNOWN}`;
  // From a closed list, so safe as a literal; a literal lets the planner see how rare a status is.
  return `d.recorded_status = '${status}' AND NOT ${UNKNOWN}`;
}

/** The cluster runs the wanted generation, as far as was seen. */
export const REMOTE_RECONCILED = `(d.observed_generation IS NOT DISTINCT FROM d.generation)`;

/** SQL of the states that only the cluster tells, from a closed list. */
export const SEEN_STATUSES = SEEN_IN_CLUSTER.map((status) => `'${status}'`).join(', ');

/** Revision.status: a revision on its way cannot be observed while nobody looks. Alias `r`: revisions. */
export const REVISION_STATUS = `CASE WHEN r.status IN (${SEEN_STATUSES}) AND NOT ${WATCHED} THEN 'UNKNOWN' ELSE r.status END`;
