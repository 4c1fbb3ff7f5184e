import { type DeploymentStatus, SEEN_IN_CLUSTER } from '../../../domain/revision/states.ts';

/**
 * Deployment.status and the liveness of the listener in SQL, defined only here. The result equals that of
 * deploymentStatus in domain/revision/states.ts (a test compares them), but has two parts. The generated column
 * `recorded_status` covers all facts except the facts of the listener. UNKNOWN is added on reads, from the expiry of
 * the lease and the namespaces that the listener can read. Table aliases: `d` deployments, `l` the listener.
 */

/**
 * Whether the listener holds a valid lease, reaches its cluster, and has reported its inventory since it reconnected.
 */
export const LISTENER_ALIVE = `(l.cluster_reachable AND NOT l.awaits_inventory AND coalesce(l.lease_expires_at > now(), false))`;

/**
 * Why the listener does not observe the deployment's namespace. '': the namespace is not in the list of the listener,
 * otherwise the message of the listener. NULL: the listener observes it. Namespaces of tenants do not depend on the
 * list.
 */
export const UNOBSERVED_REASON = `CASE WHEN l.unreadable ? d.namespace THEN l.unreadable ->> d.namespace
  WHEN jsonb_array_length(l.compute_config -> 'k8s_namespaces') > 0 AND NOT l.compute_config -> 'k8s_namespaces' ? d.namespace
    AND d.namespace <> 'berth-' || d.tenant_id THEN '' END`;

/** Whether the listener observes the deployment. */
const WATCHED = `(${LISTENER_ALIVE} AND (${UNOBSERVED_REASON}) IS NULL)`;

const unknownIf = (unwatched: string) =>
  `(d.recorded_status <> 'AWAITING_DELETE' AND d.observed_at IS NOT NULL AND ${unwatched})`;

/** Deployment.status. */
export const DEPLOYMENT_STATUS = `CASE WHEN ${unknownIf(`NOT ${WATCHED}`)} THEN 'UNKNOWN' ELSE d.recorded_status END`;

/**
 * Deployment.status according to the history. In the history, UNKNOWN begins when the loss of the listener is written,
 * a few seconds after reads show it. A namespace that cannot be read causes no event. The events of a deployment
 * therefore form a chain, in which each event begins with the status in which the previous event ended.
 */
export const HISTORY_STATUS = `CASE WHEN ${unknownIf('l.loss_recorded')} THEN 'UNKNOWN' ELSE d.recorded_status END`;

const LOST_LISTENERS = `SELECT l.id FROM listeners l WHERE NOT ${LISTENER_ALIVE}`;
/** Listeners that may not observe some of their namespaces. */
const PARTLY_BLIND = `SELECT l.id FROM listeners l
  WHERE l.unreadable <> '{}' OR jsonb_array_length(l.compute_config -> 'k8s_namespaces') > 0`;
const UNKNOWN = unknownIf(`(d.listener_id IN (${LOST_LISTENERS}) OR d.listener_id IN (${PARTLY_BLIND})
  AND EXISTS (SELECT FROM listeners l WHERE l.id = d.listener_id AND (${UNOBSERVED_REASON}) IS NOT NULL))`);

/**
 * The condition that Deployment.status is `status`. The condition needs only the table alias `d`. The few listeners
 * that are lost or cannot read some namespaces are looked up once, so that the index on recorded_status applies, and
 * UNKNOWN costs nothing without such listeners.
 */
export function statusIs(status: DeploymentStatus): string {
  if (status === 'UNKNOWN') return `(EXISTS (${LOST_LISTENERS}) OR EXISTS (${PARTLY_BLIND})) AND ${UNKNOWN}`;
  // The status is from a closed list, so it is safe as a literal. With a literal, the planner knows how rare a status
  // is.
  return `d.recorded_status = '${status}' AND NOT ${UNKNOWN}`;
}

/** Whether the cluster is observed to run the desired generation. */
export const REMOTE_RECONCILED = `(d.observed_generation IS NOT DISTINCT FROM d.generation)`;

/** SQL of the statuses that only the cluster can report, from a closed list. */
export const OBSERVED_STATUSES = SEEN_IN_CLUSTER.map((status) => `'${status}'`).join(', ');

/** Revision.status. A revision in progress is UNKNOWN while its cluster is not observed. Alias `r`: revisions. */
export const REVISION_STATUS = `CASE WHEN r.status IN (${OBSERVED_STATUSES}) AND NOT ${WATCHED} THEN 'UNKNOWN' ELSE r.status END`;
