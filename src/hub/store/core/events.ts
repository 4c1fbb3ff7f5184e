import type { EventReason } from '../../../domain/conditions/event-reasons.ts';
import { uuidv7 } from '../../../domain/core/id.ts';
import { appendEventsStatement } from '../sql/append-events.ts';
import type { Transaction } from './database.ts';
import type { events } from './schema.ts';

/** The author of an event. */
export type Actor =
  | { readonly kind: 'api_key'; readonly id: string; readonly name: string }
  | { readonly kind: 'person'; readonly id: string; readonly name: string }
  | { readonly kind: 'workload'; readonly id: string; readonly name: string }
  | { readonly kind: 'listener'; readonly id: string; readonly name?: string }
  | { readonly kind: 'system'; readonly name?: string };

/** An event to append. Messages and details never contain the value of a secret. */
export interface NewEvent {
  tenantId: string | null;
  deploymentId?: string | null;
  revisionId?: string | null;
  listenerId?: string | null;
  actor: Actor;
  reason: EventReason;
  message: string;
  details?: Record<string, unknown>;
}

export type EventRecord = typeof events.$inferSelect;

/** Events of earlier versions name the source of a failure `culprit`. */
export function withCurrentNames(event: EventRecord): EventRecord {
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

/** Appends events in their order. */
export async function appendEvents(transaction: Transaction, added: readonly NewEvent[]): Promise<void> {
  if (added.length === 0) return;
  const actors = added.map(({ actor }) => actorColumns(actor));
  await transaction.run(appendEventsStatement, {
    ids: added.map(() => uuidv7()),
    tenantIds: added.map(({ tenantId }) => tenantId),
    deploymentIds: added.map(({ deploymentId }) => deploymentId ?? null),
    revisionIds: added.map(({ revisionId }) => revisionId ?? null),
    listenerIds: added.map(({ listenerId }) => listenerId ?? null),
    actorKinds: actors.map(({ actorKind }) => actorKind),
    actorIds: actors.map(({ actorId }) => actorId),
    actorNames: actors.map(({ actorName }) => actorName),
    reasons: added.map(({ reason }) => reason),
    messages: added.map(({ message }) => message),
    details: added.map(({ details }) => JSON.stringify(details ?? {})),
  });
}
