import { NIL_UUID } from '../../../domain/core/id.ts';
import type { Reader } from '../core/database.ts';
import { and, desc, eq, sql } from '../core/drizzle.ts';
import { type EventRecord, withCurrentNames } from '../core/events.ts';
import { events } from '../core/schema.ts';
import { eventHorizonStatement } from '../sql/events/event-horizon.ts';
import { eventTenantsStatement } from '../sql/events/event-tenants.ts';
import {
  type EventAfter,
  platformEventsAfterStatement,
  SCANNED_EVENTS,
  tenantEventsAfterStatement,
} from '../sql/events/events-after.ts';
import {
  type EventFilter,
  filterConditions,
  filterParameters,
  ofTenant,
  oldestIdSince,
} from './event-filter.ts';

/**
 * Reads events in the order of their positions, so that a follower misses none (docs/decisions/0080). Ids have another
 * order than commits: a transaction can commit an event with a lower id after a follower has read a higher one.
 */

/** The place of an event in the order of followers. */
export interface EventPlace {
  readonly position: number;
  readonly id: string;
}

/** The place before all events. */
export const BEFORE_ALL: EventPlace = { position: 0, id: NIL_UUID };

/** How far the history can be read at a time. */
export interface EventHorizon {
  /** The newest position, whether its transaction is open or not. */
  readonly newest: number;
  /** The position up to which no open transaction can still commit an event. */
  readonly settled: number;
  /** The time of PostgreSQL. */
  readonly at: Date;
}

/** The horizon of all tenants. Events must be read in a later statement. */
export async function readEventHorizon(reader: Reader): Promise<EventHorizon> {
  const [horizon] = await reader.run(eventHorizonStatement, {});
  if (horizon === undefined) throw new Error('failed to read the positions of events: no row was returned');
  return horizon;
}

/** Maximum number of positions whose tenants are read. The limit bounds the time of the statement. */
const MAX_NAMED_POSITIONS = 1000;

/** A horizon, and who has events since the previous one. */
export interface EventProgress {
  readonly horizon: EventHorizon;
  /** The tenants with events between both settled positions; null in the set: the platform. null: any tenant can have. */
  readonly tenants: ReadonlySet<string | null> | null;
}

/** The horizon of all tenants, and the tenants with events after the position `after`. */
export async function readEventProgress(reader: Reader, after: number): Promise<EventProgress> {
  const horizon = await readEventHorizon(reader);
  const { settled } = horizon;
  if (settled <= after) return { horizon, tenants: new Set() };
  if (settled - after > MAX_NAMED_POSITIONS) return { horizon, tenants: null };
  const rows = await reader.run(eventTenantsStatement, { after, settled });
  return { horizon, tenants: new Set(rows.map(({ tenantId }) => tenantId)) };
}

/** Events after a place. */
export interface EventsAfter {
  readonly events: readonly EventRecord[];
  /** The place up to which events were read. */
  readonly place: EventPlace;
  /** Whether more events may follow up to the horizon. */
  readonly more: boolean;
}

const isEvent = (row: EventAfter): row is EventAfter & EventRecord => row.id !== null;

/** Removes the columns that describe the scan. */
function toRecord({ scanned: _, lastPosition: _p, lastId: _i, ...event }: EventAfter & EventRecord) {
  return withCurrentNames(event);
}

/**
 * Reads the next matching events up to the settled position, oldest first. The number of events that are examined is
 * limited, so the result can have no events although more follow.
 * @param tenantId null: all tenants and the platform
 */
export async function readEventsAfter(
  reader: Reader,
  tenantId: string | null,
  filter: EventFilter,
  { place, settled }: { readonly place: EventPlace; readonly settled: number },
): Promise<EventsAfter> {
  const values = { ...filterParameters(filter), ...place, settled };
  const rows =
    tenantId === null
      ? await reader.run(platformEventsAfterStatement, values)
      : await reader.run(tenantEventsAfterStatement, { ...values, tenantId });
  const [first] = rows;
  if (first === undefined) return { events: [], place, more: false };
  return {
    events: rows.filter(isEvent).map(toRecord),
    place: { position: first.lastPosition, id: first.lastId },
    more: first.scanned === SCANNED_EVENTS,
  };
}

/** Whether an event has this place. A crash or a restored backup can remove events that a client has read. */
export async function hasEventAt(
  reader: Reader,
  tenantId: string | null,
  { position, id }: EventPlace,
): Promise<boolean> {
  if (position === BEFORE_ALL.position && id === BEFORE_ALL.id) return true;
  const found = await reader.drizzle
    .select({ id: events.id })
    .from(events)
    .where(and(ofTenant(tenantId), eq(events.id, id), eq(events.position, position)));
  return found.length > 0;
}

/**
 * Maximum time between the start of a transaction and its last position. The timeouts of statements and transactions are
 * much shorter.
 */
const MAX_TRANSACTION_MS = 3_600_000;

/**
 * A place before all events since a time: an event of a transaction that ended before. Events at or before its position
 * are older than the time, because a transaction takes its positions after it has started.
 */
export async function placeBefore(
  reader: Reader,
  tenantId: string | null,
  since: Date | undefined,
  settled: number,
): Promise<EventPlace> {
  if (since === undefined) return BEFORE_ALL;
  const [place] = await reader.drizzle
    .select({ position: events.position, id: events.id })
    .from(events)
    .where(
      and(
        ofTenant(tenantId),
        // The index finds such an event by its id, and its time decides, because ids have the time of a hub.
        sql`${events.id} < ${oldestIdSince(since)}`,
        sql`${events.at} < ${new Date(since.getTime() - MAX_TRANSACTION_MS)}`,
        sql`${events.position} <= ${settled}`,
      ),
    )
    .orderBy(desc(events.id))
    .limit(1);
  return place ?? BEFORE_ALL;
}

/** The query of `placeBeforeNewest`. `after`: a place before all matching events. */
export const newestPlaceQuery = (
  reader: Reader,
  tenantId: string | null,
  filter: EventFilter,
  { after, count, settled }: { readonly after: EventPlace; readonly count: number; readonly settled: number },
) =>
  reader.drizzle
    .select({ position: events.position, id: events.id })
    .from(events)
    .where(
      and(
        ...filterConditions(tenantId, filter),
        sql`(${events.position}, ${events.id}) > (${after.position}, ${after.id}::uuid)`,
        sql`${events.position} <= ${settled}`,
      ),
    )
    .orderBy(desc(events.position), desc(events.id))
    .limit(1)
    .offset(count);

/** The place before the newest `count` matching events up to the settled position. */
export async function placeBeforeNewest(
  reader: Reader,
  tenantId: string | null,
  filter: EventFilter,
  { count, settled }: { readonly count: number; readonly settled: number },
): Promise<EventPlace> {
  const after = await placeBefore(reader, tenantId, filter.since, settled);
  const [place] = await newestPlaceQuery(reader, tenantId, filter, { after, count, settled });
  return place ?? after;
}
