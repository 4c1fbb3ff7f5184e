import type { Reason } from '../../../domain/conditions/conditions.ts';
import { uuidv7 } from '../../../domain/core/id.ts';
import type { Reader, Transaction } from './database.ts';
import { and, desc, eq } from './drizzle.ts';
import type { Page } from './records.ts';
import { events } from './schema.ts';

/** The author of an event. */
export type Actor =
  | { readonly kind: 'api_key'; readonly id: string; readonly name: string }
  | { readonly kind: 'listener'; readonly id: string; readonly name?: string }
  | { readonly kind: 'system'; readonly name?: string };

/** An event to append. Messages and details never contain the value of a secret. */
export interface NewEvent {
  tenantId: string | null;
  deploymentId?: string | null;
  revisionId?: string | null;
  listenerId?: string | null;
  actor: Actor;
  reason: Reason;
  message: string;
  details?: Record<string, unknown>;
}

export type EventRecord = typeof events.$inferSelect;

/** Events of earlier versions name the source of a failure `culprit`. */
function withCurrentNames(event: EventRecord): EventRecord {
  const { culprit, ...details } = event.details;
  return culprit === undefined ? event : { ...event, details: { ...details, failure_source: culprit } };
}

/** An actor as the three columns of an event. */
export function actorColumns(actor: Actor) {
  return {
    actorKind: actor.kind,
    actorId: actor.kind === 'system' ? null : actor.id,
    actorName: actor.name ?? null,
  };
}

const APPEND = `
INSERT INTO events (id, tenant_id, deployment_id, revision_id, listener_id, actor_kind, actor_id, actor_name, reason, message, details)
SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[], $6::text[], $7::uuid[], $8::text[], $9::text[],
  $10::text[], $11::jsonb[])`;

/**
 * Appends events in their order. One prepared statement is used, because each hand-out and most reports have events.
 */
export async function appendEvents(transaction: Transaction, added: readonly NewEvent[]): Promise<void> {
  if (added.length === 0) return;
  const actors = added.map(({ actor }) => actorColumns(actor));
  await transaction.query(APPEND, [
    added.map(() => uuidv7()),
    added.map(({ tenantId }) => tenantId),
    added.map(({ deploymentId }) => deploymentId ?? null),
    added.map(({ revisionId }) => revisionId ?? null),
    added.map(({ listenerId }) => listenerId ?? null),
    actors.map(({ actorKind }) => actorKind),
    actors.map(({ actorId }) => actorId),
    actors.map(({ actorName }) => actorName),
    added.map(({ reason }) => reason),
    added.map(({ message }) => message),
    added.map(({ details }) => JSON.stringify(details ?? {})),
  ]);
}

/** History of a tenant and its deployments, or of all tenants and the platform (`null`), newest first. */
export async function listTenantEvents(
  reader: Reader,
  tenantId: string | null,
  { limit, offset }: Page,
): Promise<EventRecord[]> {
  const found = await reader.drizzle
    .select()
    .from(events)
    .where(tenantId === null ? undefined : eq(events.tenantId, tenantId))
    .orderBy(desc(events.id))
    .limit(limit)
    .offset(offset);
  return found.map(withCurrentNames);
}

/** History of a deployment, newest first. Also works for deleted deployments. */
export async function listEvents(
  reader: Reader,
  tenantId: string,
  deploymentId: string,
  { limit, offset }: Page,
): Promise<EventRecord[]> {
  const found = await reader.drizzle
    .select()
    .from(events)
    .where(and(eq(events.deploymentId, deploymentId), eq(events.tenantId, tenantId)))
    .orderBy(desc(events.id))
    .limit(limit)
    .offset(offset);
  return found.map(withCurrentNames);
}
