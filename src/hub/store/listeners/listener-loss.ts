import { REASONS } from '../../../domain/conditions/conditions.ts';
import { uuidv7 } from '../../../domain/core/id.ts';
import type { DeploymentStatus, RevisionStatus } from '../../../domain/revision/states.ts';
import type { Transaction } from '../core/database.ts';
import { type Actor, actorColumns, appendEvents } from '../core/events.ts';
import { OBSERVED_STATUSES } from '../deployments/status.ts';

/**
 * The rows are locked in the order of their ids, as in all code that locks several deployments. Concurrent changes of
 * the status are then made before or after.
 */
const LOCK = `
SELECT id, tenant_id, recorded_status AS status, observed_at IS NOT NULL AS observed
FROM deployments WHERE listener_id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE`;

const LAST_STATUS = `(SELECT e.details ->> 'to' FROM events e WHERE e.deployment_id = r.deployment_id
  AND e.revision_id = r.id AND e.details ? 'to' ORDER BY e.id DESC LIMIT 1)`;

/**
 * When a listener returns ($2), only deployments that are UNKNOWN in the history are selected. All other deployments
 * had a hand-out or report after the loss.
 */
const ON_THEIR_WAY = `
SELECT r.id, r.tenant_id, r.deployment_id, r.number, r.status
FROM revisions r JOIN deployments d ON d.id = r.deployment_id
WHERE d.listener_id = ANY($1::uuid[]) AND r.status IN (${OBSERVED_STATUSES})
  AND (NOT $2 OR ${LAST_STATUS} = 'UNKNOWN') ORDER BY r.id`;

/** One statement writes all events, independent of the number of deployments. */
const APPEND_EVENTS = `
INSERT INTO events (id, tenant_id, deployment_id, revision_id, actor_kind, actor_id, actor_name, reason, message, details)
SELECT id, tenant_id, deployment_id, revision_id, $2::text, $3::uuid, $4::text, $5::text, message, details
FROM jsonb_to_recordset($1::jsonb) AS e(id uuid, tenant_id uuid, deployment_id uuid, revision_id uuid, message text,
  details jsonb)`;

interface DeploymentRow {
  id: string;
  tenant_id: string;
  status: DeploymentStatus;
  observed: boolean;
}

interface RevisionRow {
  id: string;
  tenant_id: string;
  deployment_id: string;
  number: number;
  status: RevisionStatus;
}

/**
 * Writes an event for each deployment and each revision in progress, which states that the cluster is no longer
 * observed, or is observed again. UNKNOWN is derived when read (status.ts), so their rows do not change. Called once
 * per loss. The caller has locked the listeners.
 */
export async function recordObservation(
  transaction: Transaction,
  listenerIds: readonly string[],
  reason: 'ListenerLost' | 'ClusterUnreachable' | 'ListenerReturned',
  actor: Actor,
): Promise<void> {
  const moved = (status: string) =>
    reason === 'ListenerReturned' ? { from: 'UNKNOWN', to: status } : { from: status, to: 'UNKNOWN' };
  const deployments = await transaction.query<DeploymentRow>(LOCK, [listenerIds]);
  const revisions = await transaction.query<RevisionRow>(ON_THEIR_WAY, [
    listenerIds,
    reason === 'ListenerReturned',
  ]);
  const events = [
    ...deployments
      .filter(({ status, observed }) => observed && status !== 'AWAITING_DELETE')
      .map(({ id, tenant_id, status }) => {
        const details = moved(status);
        const message = `The status changed from ${details.from} to ${details.to}: ${REASONS[reason]}`;
        return { id: uuidv7(), tenant_id, deployment_id: id, revision_id: null, message, details };
      }),
    ...revisions.map(({ id, tenant_id, deployment_id, number, status }) => {
      const details = moved(status);
      const message = `Revision ${number} is ${details.to}: ${REASONS[reason]}`;
      return { id: uuidv7(), tenant_id, deployment_id, revision_id: id, message, details };
    }),
  ];
  if (events.length === 0) return;
  const { actorKind, actorId, actorName } = actorColumns(actor);
  await transaction.query(APPEND_EVENTS, [JSON.stringify(events), actorKind, actorId, actorName, reason]);
}

/** A listener, and whether it is lost according to the history. */
interface ListenerHistory {
  tenant_id: string | null;
  compute_id: string;
  loss_recorded: boolean;
}

/** Writes an event when the observation of the cluster begins or ends, if the last event states the opposite. */
export async function recordReachability(
  transaction: Transaction,
  listenerId: string,
  row: ListenerHistory,
  reachable: boolean,
): Promise<void> {
  if (reachable !== row.loss_recorded) return;
  const name = row.compute_id;
  const actor: Actor = { kind: 'listener', id: listenerId, name };
  await appendEvents(transaction, [
    {
      tenantId: row.tenant_id,
      listenerId,
      actor,
      reason: reachable ? 'ListenerReturned' : 'ClusterUnreachable',
      message: reachable
        ? `The cluster of listener ${name} is observed again.`
        : `The cluster of listener ${name} does not respond.`,
    },
  ]);
  await recordObservation(
    transaction,
    [listenerId],
    reachable ? 'ListenerReturned' : 'ClusterUnreachable',
    actor,
  );
}

const AWAITED = `
SELECT tenant_id, compute_id, loss_recorded FROM listeners WHERE id = $1 AND awaits_inventory FOR NO KEY UPDATE`;
const INVENTORIED = `
UPDATE listeners SET awaits_inventory = false, loss_recorded = NOT cluster_reachable,
  lost_at = CASE WHEN NOT cluster_reachable THEN lost_at END
WHERE id = $1 RETURNING cluster_reachable AS reachable`;

/** Called when the listener has reported its whole inventory. The cluster then counts as observed. */
export async function recordInventoried(transaction: Transaction, listenerId: string): Promise<void> {
  const [row] = await transaction.query<ListenerHistory>(AWAITED, [listenerId]);
  if (row === undefined) return;
  const [now] = await transaction.query<{ reachable: boolean }>(INVENTORIED, [listenerId]);
  if (now?.reachable === true) await recordReachability(transaction, listenerId, row, true);
}

const LOST = `
UPDATE listeners SET loss_recorded = true, lost_at = coalesce(lost_at, lease_expires_at)
WHERE ever_seen AND NOT loss_recorded AND lease_expires_at <= now()
RETURNING id, tenant_id, compute_id`;

/**
 * Writes an event for each listener whose lease has expired, once, and the status UNKNOWN of its deployments. Platform
 * scope. Called every few seconds. The status UNKNOWN in reads does not depend on this function, because reads compute
 * the status from the lease.
 * @returns the number of lost listeners
 */
export async function recordLostListeners(transaction: Transaction): Promise<number> {
  const lost = await transaction.query<{ id: string; tenant_id: string | null; compute_id: string }>(LOST);
  await appendEvents(
    transaction,
    lost.map(({ id, tenant_id: tenantId, compute_id: name }) => ({
      tenantId,
      listenerId: id,
      actor: { kind: 'system' },
      reason: 'ListenerLost',
      message: `The lease of listener ${name} expired, so its cluster cannot be observed.`,
    })),
  );
  const ids = lost.map(({ id }) => id);
  if (ids.length > 0) await recordObservation(transaction, ids, 'ListenerLost', { kind: 'system' });
  return lost.length;
}
