import { randomUUID } from 'node:crypto';
import type { Reader, Transaction } from '../core/database.ts';
import { and, eq, notInArray, sql } from '../core/drizzle.ts';
import { changeWatchers, watchedTenants } from '../core/schema.ts';
import { changesSinceStatement, MAX_OF_TENANT, MAX_SWEPT } from '../sql/watch/changes-since.ts';
import { listenerStatesStatement } from '../sql/watch/listener-states.ts';
import { markSweepStatement } from '../sql/watch/mark-sweep.ts';
import { readEventHorizon } from './event-follow.ts';

/**
 * Finds committed changes without notifications, for streams of changes. Notifications are faster, but can be lost. Platform
 * scope. docs/decisions/0141 says why a sweep misses nothing.
 */

/** What a sweep has seen. The next sweep continues from here. */
export interface SweepPlace {
  /** A random id that the sweep has stored after everything that it saw. */
  readonly mark: string;
  /** The snapshot of PostgreSQL, as text. */
  readonly snapshot: string;
  /** Transactions at or above the oldest running one of the snapshot, whose rows were visible. */
  readonly known: readonly string[];
  /** The position up to which all events are visible in the snapshot. */
  readonly settled: number;
  /** State of the listeners, per owner. null: the platform. */
  readonly listeners: ReadonlyMap<string | null, string>;
}

export interface SweptChange {
  readonly tenantId: string;
  /** null: an event that belongs to no deployment. */
  readonly deploymentId: string | null;
  readonly generation: number | null;
  readonly transaction: string;
}

export interface Sweep {
  readonly place: SweepPlace;
  readonly changes: readonly SweptChange[];
  /**
   * false: more has changed than `changes` contains, or the database continues from an earlier state than the place, for
   * example after a failover.
   */
  readonly isComplete: boolean;
  /** Tenants of which more has changed than `changes` contains. */
  readonly fullTenants: readonly string[];
  /** Owners of listeners whose state has changed. null: the platform. */
  readonly changedListeners: readonly (string | null)[];
}

/** Time without a renewal after which a process counts as gone. */
const EXPIRY = sql`now() + interval '30 seconds'`;

/** Announces the tenants of the streams of a process, so that their changes send notifications. Removes processes that are gone. */
export async function announceWatcher(
  { drizzle }: Transaction,
  id: string,
  tenantIds: readonly string[],
): Promise<void> {
  await drizzle.delete(changeWatchers).where(sql`${changeWatchers.expiresAt} < now()`);
  await drizzle
    .insert(changeWatchers)
    .values({ id, expiresAt: EXPIRY })
    .onConflictDoUpdate({ target: changeWatchers.id, set: { expiresAt: EXPIRY } });
  await drizzle
    .delete(watchedTenants)
    .where(and(eq(watchedTenants.watcherId, id), notInArray(watchedTenants.tenantId, [...tenantIds])));
  if (tenantIds.length > 0)
    await drizzle
      .insert(watchedTenants)
      .values(tenantIds.map((tenantId) => ({ tenantId, watcherId: id })))
      .onConflictDoNothing();
}

/** Number of known transactions that are kept. Rows of others are returned again, which is harmless. */
const MAX_KNOWN = 5_000;

/** The transactions of which the next sweep needs no rows. */
function knownAfter(known: readonly string[], changes: readonly SweptChange[], oldest: string): string[] {
  const seen = new Set([...known, ...changes.map(({ transaction }) => transaction)]);
  return [...seen].filter((transaction) => BigInt(transaction) >= BigInt(oldest)).slice(-MAX_KNOWN);
}

/** Owners whose listeners have another state. */
function changedOwners(
  before: ReadonlyMap<string | null, string>,
  after: ReadonlyMap<string | null, string>,
): (string | null)[] {
  const owners = new Set([...before.keys(), ...after.keys()]);
  return [...owners].filter((owner) => before.get(owner) !== after.get(owner));
}

/** Tenants with as many changes as a sweep returns of one. */
function tenantsWithMore(changes: readonly SweptChange[]): string[] {
  const counts = new Map<string, number>();
  for (const { tenantId } of changes) counts.set(tenantId, (counts.get(tenantId) ?? 0) + 1);
  return [...counts].filter(([, count]) => count >= MAX_OF_TENANT).map(([tenantId]) => tenantId);
}

async function readChanges(
  reader: Reader,
  tenantIds: readonly string[],
  since: SweepPlace | null,
): Promise<Omit<Sweep, 'place'> & { readonly place: Omit<SweepPlace, 'mark'> }> {
  // The horizon is read before the snapshot, so that no event up to it can become visible after the snapshot.
  const { settled } = await readEventHorizon(reader);
  const rows = await reader.run(changesSinceStatement, {
    tenantIds,
    since: since?.snapshot ?? null,
    known: since?.known ?? [],
    settled: since?.settled ?? 0,
  });
  const states = await reader.run(listenerStatesStatement, {});
  const [first] = rows;
  if (first === undefined) throw new Error('failed to find changes: the statement returned no snapshot');
  const changes = rows.flatMap(({ tenantId, transaction, deploymentId, generation }) =>
    tenantId === null || transaction === null ? [] : [{ tenantId, transaction, deploymentId, generation }],
  );
  const listeners = new Map(states.map(({ tenantId, state }) => [tenantId, state]));
  const known = knownAfter(since?.known ?? [], changes, first.oldest);
  return {
    place: { snapshot: first.snapshot, known, settled, listeners },
    changes,
    isComplete: rows.length < MAX_SWEPT,
    fullTenants: tenantsWithMore(changes),
    changedListeners: since === null ? [] : changedOwners(since.listeners, listeners),
  };
}

/**
 * Reads the changes of these tenants since a place. The mark is a part of the same transaction, so it is stored after
 * everything that the sweep sees: a database that has the mark has all of it.
 * @param since null: only the place is read
 */
export async function sweepChanges(
  transaction: Transaction,
  watcherId: string,
  tenantIds: readonly string[],
  since: SweepPlace | null,
): Promise<Sweep> {
  const mark = randomUUID();
  const [row] = await transaction.run(markSweepStatement, { id: watcherId, mark });
  const isSame = since !== null && row?.previous === since.mark;
  const { place, ...found } = await readChanges(transaction, tenantIds, isSame ? since : null);
  return { ...found, isComplete: found.isComplete && (since === null || isSame), place: { ...place, mark } };
}
