import { REASONS } from '../../../domain/conditions/conditions.ts';
import { SEEN_IN_CLUSTER } from '../../../domain/revision/states.ts';
import type { Transaction } from '../core/database.ts';
import { and, eq, inArray, sql } from '../core/drizzle.ts';
import { type Actor, appendEvents } from '../core/events.ts';
import { deployments, events, listeners, revisions } from '../core/schema.ts';
import type { Columns } from '../core/statement.ts';

const ofListeners = (listenerIds: readonly string[]) =>
  sql`${deployments.listenerId} = ANY(${sql.param(listenerIds)}::uuid[])`;

/**
 * The rows are locked in the order of their ids, as in all code that locks several deployments. Concurrent changes of
 * the status are then made before or after.
 */
const lockDeployments = ({ drizzle }: Transaction, listenerIds: readonly string[]) =>
  drizzle
    .select({
      id: deployments.id,
      tenantId: deployments.tenantId,
      status: deployments.recordedStatus,
      observed: sql<boolean>`${deployments.observedAt} IS NOT NULL`,
    })
    .from(deployments)
    .where(ofListeners(listenerIds))
    .orderBy(deployments.id)
    .for('no key update');

/** The status of a revision according to the history. */
const LAST_STATUS = sql`(SELECT e.details ->> 'to' FROM ${events} e WHERE e.deployment_id = ${revisions.deploymentId}
  AND e.revision_id = ${revisions.id} AND e.details ? 'to' ORDER BY e.id DESC LIMIT 1)`;

/**
 * The revisions in progress. When a listener returns, only those are selected that are UNKNOWN in the history. All
 * others had a hand-out or report after the loss.
 */
const revisionsInProgress = ({ drizzle }: Transaction, listenerIds: readonly string[], returned: boolean) =>
  drizzle
    .select({
      id: revisions.id,
      tenantId: revisions.tenantId,
      deploymentId: revisions.deploymentId,
      number: revisions.number,
      status: revisions.status,
    })
    .from(revisions)
    .innerJoin(deployments, eq(deployments.id, revisions.deploymentId))
    .where(
      and(
        ofListeners(listenerIds),
        inArray(revisions.status, [...SEEN_IN_CLUSTER]),
        returned ? sql`${LAST_STATUS} = 'UNKNOWN'` : undefined,
      ),
    )
    .orderBy(revisions.id);

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
  const locked = await lockDeployments(transaction, listenerIds);
  const inProgress = await revisionsInProgress(transaction, listenerIds, reason === 'ListenerReturned');
  await appendEvents(transaction, [
    ...locked
      .filter(({ status, observed }) => observed && status !== 'AWAITING_DELETE')
      .map(({ id: deploymentId, tenantId, status }) => {
        const details = moved(status);
        const message = `The status changed from ${details.from} to ${details.to}: ${REASONS[reason]}`;
        return { tenantId, deploymentId, actor, reason, message, details };
      }),
    ...inProgress.map(({ id: revisionId, tenantId, deploymentId, number, status }) => {
      const details = moved(status);
      const message = `Revision ${number} is ${details.to}: ${REASONS[reason]}`;
      return { tenantId, deploymentId, revisionId, actor, reason, message, details };
    }),
  ]);
}

/** A listener, and whether it is lost according to the history. */
type ListenerHistory = Columns<typeof listeners, 'tenantId' | 'computeId' | 'lossRecorded'>;

/** Writes an event when the observation of the cluster begins or ends, if the last event states the opposite. */
export async function recordReachability(
  transaction: Transaction,
  listenerId: string,
  { tenantId, computeId: name, lossRecorded }: ListenerHistory,
  reachable: boolean,
): Promise<void> {
  if (reachable !== lossRecorded) return;
  const actor: Actor = { kind: 'listener', id: listenerId, name };
  await appendEvents(transaction, [
    {
      tenantId,
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

/** Called when the listener has reported its whole inventory. The cluster then counts as observed. */
export async function recordInventoried(transaction: Transaction, listenerId: string): Promise<void> {
  const { drizzle } = transaction;
  const [row] = await drizzle
    .select({
      tenantId: listeners.tenantId,
      computeId: listeners.computeId,
      lossRecorded: listeners.lossRecorded,
    })
    .from(listeners)
    .where(and(eq(listeners.id, listenerId), listeners.awaitsInventory))
    .for('no key update');
  if (row === undefined) return;
  const [now] = await drizzle
    .update(listeners)
    .set({
      awaitsInventory: false,
      lossRecorded: sql`NOT ${listeners.clusterReachable}`,
      lostAt: sql`CASE WHEN NOT ${listeners.clusterReachable} THEN ${listeners.lostAt} END`,
    })
    .where(eq(listeners.id, listenerId))
    .returning({ reachable: listeners.clusterReachable });
  if (now?.reachable === true) await recordReachability(transaction, listenerId, row, true);
}

/**
 * Writes an event for each listener whose lease has expired, once, and the status UNKNOWN of its deployments. Platform
 * scope. Called every few seconds. The status UNKNOWN in reads does not depend on this function, because reads compute
 * the status from the lease.
 * @returns the number of lost listeners
 */
export async function recordLostListeners(transaction: Transaction): Promise<number> {
  const lost = await transaction.drizzle
    .update(listeners)
    .set({ lossRecorded: true, lostAt: sql`coalesce(${listeners.lostAt}, ${listeners.leaseExpiresAt})` })
    .where(
      and(listeners.everSeen, eq(listeners.lossRecorded, false), sql`${listeners.leaseExpiresAt} <= now()`),
    )
    .returning({ id: listeners.id, tenantId: listeners.tenantId, computeId: listeners.computeId });
  await appendEvents(
    transaction,
    lost.map(({ id, tenantId, computeId: name }) => ({
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
