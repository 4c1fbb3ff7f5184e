import type { events } from '../../core/schema.ts';
import { statement } from '../../core/statement.ts';

/** Values of the filters. null: no filter. */
export interface EventFilterParameters {
  readonly deploymentId: string | null;
  readonly reasons: readonly string[] | null;
  readonly since: Date | null;
  readonly until: Date | null;
}

export interface EventsAfterParameters extends EventFilterParameters {
  /** The last event that was read. */
  readonly position: number;
  readonly id: string;
  /** The position up to which events are read. */
  readonly settled: number;
}

type Event = typeof events.$inferSelect;

/** A matching event, or one row of nulls if none of the scanned events matches. */
export type EventAfter = { readonly [Column in keyof Event]: Event[Column] | null } & {
  /** Number of scanned events, and the last of them. */
  readonly scanned: number;
  readonly lastPosition: number;
  readonly lastId: string;
};

/**
 * Maximum number of events that one execution reads. The limit bounds the time of a filter that matches few events, and
 * the memory of a reader. The limit is a literal in the text, because the planner must know it.
 */
export const SCANNED_EVENTS = 200;

const textFor = (ofTenant: string) => `
WITH scanned AS (
  SELECT * FROM events e
  WHERE ${ofTenant} (e.position, e.id) > (:position::bigint, :id::uuid) AND e.position <= :settled::bigint
  ORDER BY e.position, e.id LIMIT ${SCANNED_EVENTS}
), last AS (
  SELECT position, id, (SELECT count(*)::int FROM scanned) AS scanned
  FROM scanned ORDER BY position DESC, id DESC LIMIT 1
)
SELECT last.scanned, last.position AS "lastPosition", last.id AS "lastId",
  e.id, e.tenant_id AS "tenantId", e.deployment_id AS "deploymentId", e.revision_id AS "revisionId",
  e.listener_id AS "listenerId", e.at, e.actor_kind AS "actorKind", e.actor_id AS "actorId", e.actor_name AS "actorName",
  e.reason, e.message, e.details, e.position
FROM last LEFT JOIN scanned e ON (:deploymentId::uuid IS NULL OR e.deployment_id = :deploymentId::uuid)
  AND (:reasons::text[] IS NULL OR e.reason = ANY(:reasons::text[]))
  AND (:since::timestamptz IS NULL OR e.at >= :since::timestamptz)
  AND (:until::timestamptz IS NULL OR e.at < :until::timestamptz)
ORDER BY e.position, e.id`;

/** Events of a tenant after another event, in the order of followers. Each poll of a follower runs this statement. */
export const tenantEventsAfterStatement = statement<EventsAfterParameters & { tenantId: string }, EventAfter>(
  'tenant_events_after',
  textFor('e.tenant_id = :tenantId::uuid AND'),
);

/** Events of all tenants and of the platform after another event, in the order of followers. */
export const platformEventsAfterStatement = statement<EventsAfterParameters, EventAfter>(
  'platform_events_after',
  textFor(''),
);
