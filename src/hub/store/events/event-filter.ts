import type { Reason } from '../../../domain/conditions/conditions.ts';
import { uuidv7At } from '../../../domain/core/id.ts';
import { and, eq, inArray, type SQL, sql } from '../core/drizzle.ts';
import { events } from '../core/schema.ts';
import type { EventFilterParameters } from '../sql/events/events-after.ts';

/** Which events of a tenant are meant. Absent filters have no effect. */
export interface EventFilter {
  readonly deploymentId?: string | undefined;
  readonly reasons?: readonly Reason[] | undefined;
  /** Events of this time or later. */
  readonly since?: Date | undefined;
  /** Events before this time. */
  readonly until?: Date | undefined;
}

/** The filter as parameters of a statement. */
export const filterParameters = (filter: EventFilter): EventFilterParameters => ({
  deploymentId: filter.deploymentId ?? null,
  reasons: filter.reasons ?? null,
  since: filter.since ?? null,
  until: filter.until ?? null,
});

/**
 * Maximum difference between the clocks of a hub and of PostgreSQL. Ids contain the time of the hub, and `at` is the time
 * of PostgreSQL.
 */
const MAX_CLOCK_DIFFERENCE_MS = 24 * 3_600_000;

/** The lowest id of events since a time. */
export const oldestIdSince = (since: Date): string => uuidv7At(since.getTime() - MAX_CLOCK_DIFFERENCE_MS);

/** The events of a tenant. null: of all tenants and of the platform. */
export const ofTenant = (tenantId: string | null): SQL | undefined =>
  tenantId === null ? undefined : eq(events.tenantId, tenantId);

/**
 * Conditions of the tenant and the filter. Lists are read in the order of ids, so bounds of the id let the index skip events that are
 * much older or newer.
 */
export function filterConditions(
  tenantId: string | null,
  { deploymentId, reasons, since, until }: EventFilter,
): (SQL | undefined)[] {
  const oldest = since && oldestIdSince(since);
  const newest = until && uuidv7At(until.getTime() + MAX_CLOCK_DIFFERENCE_MS);
  return [
    ofTenant(tenantId),
    deploymentId === undefined ? undefined : eq(events.deploymentId, deploymentId),
    reasons === undefined ? undefined : inArray(events.reason, [...reasons]),
    since && and(sql`${events.at} >= ${since}`, sql`${events.id} >= ${oldest}`),
    until && and(sql`${events.at} < ${until}`, sql`${events.id} < ${newest}`),
  ];
}
