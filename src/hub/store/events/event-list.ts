import type { Reader } from '../core/database.ts';
import { and, desc, lt } from '../core/drizzle.ts';
import { type EventRecord, withCurrentNames } from '../core/events.ts';
import type { Page } from '../core/records.ts';
import { events } from '../core/schema.ts';
import { type EventFilter, filterConditions } from './event-filter.ts';

/** A page of events. `before`: only events that are older than the event with this id. */
export interface EventPage extends Page {
  readonly before?: string | undefined;
}

/** The query of a list. */
export const eventListQuery = (
  reader: Reader,
  tenantId: string | null,
  filter: EventFilter,
  { limit, offset, before }: EventPage,
) =>
  reader.drizzle
    .select()
    .from(events)
    .where(
      and(...filterConditions(tenantId, filter), before === undefined ? undefined : lt(events.id, before)),
    )
    .orderBy(desc(events.id))
    .limit(limit)
    .offset(offset);

/**
 * History of a tenant and its deployments, or of all tenants and the platform (`null`), newest first. Also contains the
 * events of deleted deployments.
 */
export async function listEvents(
  reader: Reader,
  tenantId: string | null,
  filter: EventFilter,
  page: EventPage,
): Promise<EventRecord[]> {
  return (await eventListQuery(reader, tenantId, filter, page)).map(withCurrentNames);
}
