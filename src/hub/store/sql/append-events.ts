import { statement } from '../core/statement.ts';

type Nullable = readonly (string | null)[];

/** Appends events. Each parameter has one value per event. Each hand-out and most reports append events. */
export const appendEventsStatement = statement<{
  ids: readonly string[];
  tenantIds: Nullable;
  deploymentIds: Nullable;
  revisionIds: Nullable;
  listenerIds: Nullable;
  actorKinds: readonly string[];
  actorIds: Nullable;
  actorNames: Nullable;
  reasons: readonly string[];
  messages: readonly string[];
  /** JSON texts. */
  details: readonly string[];
}>(
  'append_events',
  `INSERT INTO events (id, tenant_id, deployment_id, revision_id, listener_id, actor_kind, actor_id, actor_name, reason,
  message, details)
SELECT * FROM unnest(:ids::uuid[], :tenantIds::uuid[], :deploymentIds::uuid[], :revisionIds::uuid[], :listenerIds::uuid[],
  :actorKinds::text[], :actorIds::uuid[], :actorNames::text[], :reasons::text[], :messages::text[], :details::jsonb[])`,
);
