import type { EventReason } from '../../../domain/conditions/event-reasons.ts';
import { uuidv7 } from '../../../domain/core/id.ts';
import { PLATFORM_LISTENER_ID } from '../../../domain/deployment/source.ts';
import type { ListenerStatus } from '../../../domain/revision/states.ts';
import type { Reader, Transaction } from '../core/database.ts';
import { and, desc, eq, getTableColumns, inArray, isNull, or, sql } from '../core/drizzle.ts';
import { StoreError } from '../core/errors.ts';
import { type Actor, appendEvents } from '../core/events.ts';
import type { ListenerRecord, Page } from '../core/records.ts';
import { deployments, listeners } from '../core/schema.ts';
import { named, rejectSameName } from '../deployments/same-name.ts';
import type { ComputeConfig } from '../schema/listeners.ts';
import { chooseListenerStatement, chooseOwnListenerStatement } from '../sql/listeners/choose-listener.ts';

const {
  leaseHolder: _holder,
  leaseEpoch: _epoch,
  leaseExpiresAt: _expiry,
  reportSeq: _seq,
  lossRecorded: _loss,
  lostAt: _lostAt,
  ...shown
} = getTableColumns(listeners);

/** ListenerStatus, derived from the lease and its data. */
const STATUS = sql<ListenerStatus>`CASE WHEN NOT ${listeners.everSeen} THEN 'NEVER_SEEN'
  WHEN coalesce(${listeners.leaseExpiresAt} <= now(), true) THEN 'LOST'
  WHEN ${listeners.clusterReachable} THEN 'CONNECTED' ELSE 'CLUSTER_UNREACHABLE' END`;

const COLUMNS = {
  ...shown,
  status: STATUS,
  // A missing inventory of a reconnected listener affects only the status of its deployments (LISTENER_ALIVE in
  // status.ts).
  alive: sql<boolean>`(${listeners.clusterReachable} AND coalesce(${listeners.leaseExpiresAt} > now(), false))`,
};

/** The listeners that a tenant can read: its own listeners and those of the platform. */
const visible = (tenantId: string) => or(eq(listeners.tenantId, tenantId), isNull(listeners.tenantId));

export interface NewListener {
  /** null: a listener of the platform, which needs the platform's scope. */
  tenantId: string | null;
  computeType: 'k8s';
  computeId: string;
  computeConfig: ComputeConfig;
}

/** The default actor: the program itself. */
const SYSTEM: Actor = { kind: 'system' };

function recordEvent(
  transaction: Transaction,
  { id, tenantId, computeId }: ListenerRecord,
  actor: Actor,
  [reason, what]: readonly [EventReason, string],
  details: Record<string, unknown> = {},
): Promise<void> {
  const message = `Listener ${computeId} was ${what}.`;
  return appendEvents(transaction, [{ tenantId, listenerId: id, actor, reason, message, details }]);
}

/** @throws UniqueViolation `listeners_compute_id` or `listeners_platform_compute_id` */
export async function createListener(
  transaction: Transaction,
  added: NewListener,
  actor: Actor = SYSTEM,
): Promise<ListenerRecord> {
  if (added.tenantId !== null) {
    const unique = { owner: added.tenantId, name: added.computeId };
    await rejectSameName(transaction, 'listeners_compute_id', unique);
  }
  const [listener] = await transaction.drizzle
    .insert(listeners)
    .values({ id: uuidv7(), ...added })
    .returning(COLUMNS);
  if (listener === undefined) throw new Error('failed to create a listener: the statement returned no row');
  await recordEvent(transaction, listener, actor, ['ListenerCreated', 'registered']);
  return listener;
}

/** A listener that the tenant may use: its own, or that of the platform. */
export async function findListener(
  reader: Reader,
  tenantId: string,
  id: string,
): Promise<ListenerRecord | null> {
  const [listener] = await reader.drizzle
    .select(COLUMNS)
    .from(listeners)
    .where(and(eq(listeners.id, id), visible(tenantId)));
  return listener ?? null;
}

/** Filters of the list; absent: all listeners. */
export interface ListenerFilter {
  /** The exact name, in any of its spellings. */
  readonly computeId?: string | undefined;
  readonly computeType?: string | undefined;
  /** Statuses, one of which must match. */
  readonly statuses?: readonly ListenerStatus[] | undefined;
}

/** Listeners that this tenant may use, newest first. */
export function listListeners(
  reader: Reader,
  tenantId: string,
  { limit, offset }: Page,
  { computeId, computeType, statuses }: ListenerFilter = {},
): Promise<ListenerRecord[]> {
  return reader.drizzle
    .select(COLUMNS)
    .from(listeners)
    .where(
      and(
        visible(tenantId),
        computeId === undefined ? undefined : named('listeners.compute_id', computeId),
        computeType === undefined ? undefined : eq(listeners.computeType, computeType),
        statuses === undefined ? undefined : inArray(STATUS, [...statuses]),
      ),
    )
    .orderBy(desc(listeners.id))
    .limit(limit)
    .offset(offset);
}

/** The properties of a listener that a new deployment needs. */
export type ServingListener = Pick<ListenerRecord, 'id' | 'computeConfig' | 'rendering'>;

/**
 * The listener of a new deployment, which is the requested listener or that of the platform. null: the tenant may not
 * use the listener. A listener of the tenant is locked against change and deletion until the transaction ends.
 */
export async function chooseListener(
  reader: Reader,
  tenantId: string,
  listenerId: string | null,
): Promise<ServingListener | null> {
  const choice = { tenantId, listenerId: listenerId ?? PLATFORM_LISTENER_ID };
  const [own] = listenerId === null ? [] : await reader.run(chooseOwnListenerStatement, choice);
  if (own !== undefined) return own;
  const [found] = await reader.run(chooseListenerStatement, choice);
  return found ?? null;
}

const own = (tenantId: string | null, id: string) =>
  and(
    eq(listeners.id, id),
    tenantId === null ? isNull(listeners.tenantId) : eq(listeners.tenantId, tenantId),
  );

/** The changes. Absent fields do not change. */
export interface ListenerChange {
  readonly computeId?: string | undefined;
  readonly computeConfig?: ComputeConfig | undefined;
  /** null: remove the cluster of the listener. */
  readonly clusterId?: null | undefined;
}

/** The change would remove namespaces that contain deployments. */
export class NamespacesInUse extends StoreError {
  /** Number of deployments per namespace. */
  readonly namespaces: readonly { readonly namespace: string; readonly deployments: number }[];
  constructor(namespaces: NamespacesInUse['namespaces']) {
    super('failed to change a listener: it would lose namespaces that contain deployments', {
      retryable: false,
    });
    this.namespaces = namespaces;
  }
}

/**
 * An empty list allows every namespace. Deployments that are being deleted count, because their objects must still be
 * removed from the namespace.
 */
async function checkNamespaces(transaction: Transaction, id: string, listed: readonly string[]) {
  if (listed.length === 0) return;
  const { namespace } = deployments;
  const lost = await transaction.drizzle
    .select({ namespace, deployments: sql<number>`count(*)::int` })
    .from(deployments)
    .where(and(eq(deployments.listenerId, id), sql`${namespace} <> ALL(${sql.param(listed)}::text[])`))
    .groupBy(namespace)
    .orderBy(namespace);
  if (lost.length > 0) throw new NamespacesInUse(lost);
}

/**
 * Changes a listener of a tenant; null when the tenant has no listener with this id.
 * @param tenantId null: a listener of the platform, which needs the platform's scope
 * @param options.keepNamespaces whether to reject a list that lacks a namespace with deployments
 * @throws NamespacesInUse; UniqueViolation `listeners_compute_id`
 */
export async function updateListener(
  transaction: Transaction,
  tenantId: string | null,
  id: string,
  change: ListenerChange,
  { actor = SYSTEM, keepNamespaces = true }: { actor?: Actor; keepNamespaces?: boolean } = {},
): Promise<ListenerRecord | null> {
  // The lock waits for deployments that are being placed with the old list (chooseListener), so that the count includes
  // them.
  const [before] = await transaction.drizzle
    .select(COLUMNS)
    .from(listeners)
    .where(own(tenantId, id))
    .for('update');
  if (before === undefined) return null;
  const {
    computeId = before.computeId,
    computeConfig = before.computeConfig,
    clusterId = before.clusterId,
  } = change;
  const namespaces = computeConfig.k8s_namespaces;
  const changed = [
    ...(computeId === before.computeId ? [] : ['compute_id']),
    ...(namespaces.join() === before.computeConfig.k8s_namespaces.join() ? [] : ['compute_config']),
    ...(clusterId === before.clusterId ? [] : ['cluster_id']),
  ];
  if (changed.length === 0) return before;
  if (keepNamespaces && changed.includes('compute_config')) {
    await checkNamespaces(transaction, id, namespaces);
  }
  if (tenantId !== null && changed.includes('compute_id')) {
    await rejectSameName(transaction, 'listeners_compute_id', {
      owner: tenantId,
      name: computeId,
      ownId: id,
    });
  }
  const [listener] = await transaction.drizzle
    .update(listeners)
    .set({ computeId, computeConfig, clusterId, updatedAt: sql`now()` })
    .where(own(tenantId, id))
    .returning(COLUMNS);
  if (listener === undefined) throw new Error('failed to change a listener: the statement returned no row');
  const what = `changed: ${changed.join(', ')}`;
  await recordEvent(transaction, listener, actor, ['ListenerChanged', what], { changed });
  return listener;
}

/**
 * Deletes a listener of a tenant; false when the tenant has no listener with this id.
 * @throws ReferenceViolation while the listener has a deployment, including one that is being deleted
 */
export async function deleteListener(
  transaction: Transaction,
  tenantId: string,
  id: string,
  actor: Actor = SYSTEM,
): Promise<boolean> {
  const [deleted] = await transaction.drizzle.delete(listeners).where(own(tenantId, id)).returning(COLUMNS);
  if (deleted === undefined) return false;
  await recordEvent(transaction, deleted, actor, ['ListenerDeleted', 'deleted']);
  return true;
}
