import { and, desc, eq, getTableColumns, isNull, or, sql } from 'drizzle-orm';
import { uuidv7 } from '../domain/id.ts';
import { PLATFORM_LISTENER_ID } from '../domain/source.ts';
import type { Reader, Transaction } from './database.ts';
import type { ListenerRecord, Page } from './records.ts';
import type { ComputeConfig } from './schema/listeners.ts';
import { listeners } from './schema.ts';

const {
  leaseHolder: _holder,
  leaseEpoch: _epoch,
  leaseExpiresAt: _expiry,
  reportSeq: _seq,
  lossRecorded: _loss,
  ...shown
} = getTableColumns(listeners);
const COLUMNS = {
  ...shown,
  // As status.ts LISTENER_ALIVE.
  alive: sql<boolean>`(${listeners.clusterReachable} AND coalesce(${listeners.leaseExpiresAt} > now(), false))`,
};

/** A tenant sees its own listeners and the platform's. */
const visible = (tenantId: string) => or(eq(listeners.tenantId, tenantId), isNull(listeners.tenantId));

export interface NewListener {
  /** null: a listener of the platform; needs the platform's scope. */
  tenantId: string | null;
  computeType: 'k8s';
  computeId: string;
  computeConfig: ComputeConfig;
}

/** @throws UniqueViolation `listeners_compute_id` or `listeners_platform_compute_id` */
export async function createListener(transaction: Transaction, added: NewListener): Promise<ListenerRecord> {
  const [listener] = await transaction.drizzle
    .insert(listeners)
    .values({ id: uuidv7(), ...added })
    .returning(COLUMNS);
  if (listener === undefined) throw new Error('failed to create a listener: no row came back');
  return listener;
}

/** A listener that this tenant may use: its own, or the platform's. */
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

/** Listeners that this tenant may use, newest first. */
export function listListeners(
  reader: Reader,
  tenantId: string,
  { limit, offset }: Page,
): Promise<ListenerRecord[]> {
  return reader.drizzle
    .select(COLUMNS)
    .from(listeners)
    .where(visible(tenantId))
    .orderBy(desc(listeners.id))
    .limit(limit)
    .offset(offset);
}

/** The listener that serves a new deployment: the one named, else the platform's. null: none that this tenant may use. */
export function chooseListener(
  reader: Reader,
  tenantId: string,
  listenerId: string | null,
): Promise<ListenerRecord | null> {
  return findListener(reader, tenantId, listenerId ?? PLATFORM_LISTENER_ID);
}

/** Changes the configuration of a tenant's own listener; null when it has none of this id. */
export async function updateListener(
  transaction: Transaction,
  tenantId: string,
  id: string,
  computeConfig: ComputeConfig,
): Promise<ListenerRecord | null> {
  const [listener] = await transaction.drizzle
    .update(listeners)
    .set({ computeConfig, updatedAt: sql`now()` })
    .where(and(eq(listeners.id, id), eq(listeners.tenantId, tenantId)))
    .returning(COLUMNS);
  return listener ?? null;
}

/**
 * Deletes a tenant's own listener; false when it has none of this id.
 * @throws ReferenceViolation while a deployment runs there
 */
export async function deleteListener(
  transaction: Transaction,
  tenantId: string,
  id: string,
): Promise<boolean> {
  const deleted = await transaction.drizzle
    .delete(listeners)
    .where(and(eq(listeners.id, id), eq(listeners.tenantId, tenantId)))
    .returning({ id: listeners.id });
  return deleted.length > 0;
}
