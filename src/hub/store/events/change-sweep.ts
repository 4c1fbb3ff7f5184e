import type { Reader, Transaction } from '../core/database.ts';
import { sql } from '../core/drizzle.ts';
import { changeWatchers } from '../core/schema.ts';
import { changesSinceStatement, MAX_SWEPT } from '../sql/watch/changes-since.ts';
import { listenerDigestsStatement } from '../sql/watch/listener-digests.ts';
import { readEventHorizon } from './event-follow.ts';

/**
 * Finds committed changes without notifications, for streams of changes. Notifications are faster, but can be lost. Platform
 * scope.
 */

/** What a sweep has seen. The next sweep continues from here. */
export interface SweepPlace {
  /** The snapshot of PostgreSQL, as text. */
  readonly snapshot: string;
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
  /** false: more has changed than `changes` contains. */
  readonly isComplete: boolean;
  /** Owners of listeners whose state has changed. null: the platform. */
  readonly changedListeners: readonly (string | null)[];
}

/** Time without a renewal after which a process counts as gone. */
const EXPIRY = sql`now() + interval '30 seconds'`;

/** Announces that a process has streams, so that changes send notifications. Removes processes that are gone. */
export async function announceWatcher({ drizzle }: Transaction, id: string): Promise<void> {
  await drizzle.delete(changeWatchers).where(sql`${changeWatchers.expiresAt} < now()`);
  await drizzle
    .insert(changeWatchers)
    .values({ id, expiresAt: EXPIRY })
    .onConflictDoUpdate({ target: changeWatchers.id, set: { expiresAt: EXPIRY } });
}

/** @param since null: only the place is read */
export async function sweepChanges(
  reader: Reader,
  tenantIds: readonly string[],
  since: SweepPlace | null,
): Promise<Sweep> {
  // The horizon is read before the snapshot, so that no event up to it can become visible after the snapshot.
  const { settled } = await readEventHorizon(reader);
  const rows = await reader.run(changesSinceStatement, {
    tenantIds,
    since: since?.snapshot ?? null,
    settled: since?.settled ?? 0,
  });
  const digests = await reader.run(listenerDigestsStatement, { tenantIds });
  const [first] = rows;
  if (first === undefined) throw new Error('failed to find changes: the statement returned no snapshot');
  const listeners = new Map(digests.map(({ tenantId, digest }) => [tenantId, digest]));
  const changed = (owner: string | null) =>
    since?.listeners.has(owner) === true && since.listeners.get(owner) !== listeners.get(owner);
  return {
    place: { snapshot: first.snapshot, settled, listeners },
    changes: rows.flatMap(({ tenantId, transaction, deploymentId, generation }) =>
      tenantId === null || transaction === null ? [] : [{ tenantId, transaction, deploymentId, generation }],
    ),
    isComplete: rows.length < MAX_SWEPT,
    changedListeners: [...listeners.keys()].filter(changed),
  };
}
