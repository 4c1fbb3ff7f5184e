import type { Reason } from '../domain/conditions.ts';
import { uuidv7 } from '../domain/id.ts';
import type { Reader, Transaction } from './database.ts';
import { and, desc, eq } from './drizzle.ts';
import type { Page } from './records.ts';
import { events } from './schema.ts';

/** Who did it. */
export type Actor =
  | { readonly kind: 'api_key'; readonly id: string; readonly name: string }
  | { readonly kind: 'listener'; readonly id: string; readonly name?: string }
  | { readonly kind: 'system'; readonly name?: string };

/** What happened. Messages and details never hold a value of a secret. */
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

/** An actor as the three columns of an event. */
export function actorColumns(actor: Actor) {
  return {
    actorKind: actor.kind,
    actorId: actor.kind === 'system' ? null : actor.id,
    actorName: actor.name ?? null,
  };
}

/** Appends events, in their order, in one statement. */
export async function appendEvents(transaction: Transaction, added: readonly NewEvent[]): Promise<void> {
  if (added.length === 0) return;
  await transaction.drizzle.insert(events).values(
    added.map(({ actor, details, ...event }) => ({
      id: uuidv7(),
      ...event,
      ...actorColumns(actor),
      details: details ?? {},
    })),
  );
}

/** History of a tenant, its deployments' included, or of all tenants and the platform (`null`), newest first. */
export function listTenantEvents(
  reader: Reader,
  tenantId: string | null,
  { limit, offset }: Page,
): Promise<EventRecord[]> {
  return reader.drizzle
    .select()
    .from(events)
    .where(tenantId === null ? undefined : eq(events.tenantId, tenantId))
    .orderBy(desc(events.id))
    .limit(limit)
    .offset(offset);
}

/** History of a deployment, newest first; also of one that is gone. */
export function listEvents(
  reader: Reader,
  tenantId: string,
  deploymentId: string,
  { limit, offset }: Page,
): Promise<EventRecord[]> {
  return reader.drizzle
    .select()
    .from(events)
    .where(and(eq(events.deploymentId, deploymentId), eq(events.tenantId, tenantId)))
    .orderBy(desc(events.id))
    .limit(limit)
    .offset(offset);
}
