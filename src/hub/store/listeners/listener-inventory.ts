import type { EventReason } from '../../../domain/conditions/event-reasons.ts';
import { UUID_PATTERN } from '../../../domain/core/id.ts';
import type { Transaction } from '../core/database.ts';
import { eq } from '../core/drizzle.ts';
import { appendEvents } from '../core/events.ts';
import { listeners } from '../core/schema.ts';
import { catchUpStatement } from '../sql/inventory/catch-up.ts';
import type { ListedResource, Marked, StatusMarked } from '../sql/inventory/entries.ts';
import { knownEntriesStatement } from '../sql/inventory/known-entries.ts';
import { markEditedStatement } from '../sql/inventory/mark-edited.ts';
import { markLeftoversStatement } from '../sql/inventory/mark-leftovers.ts';
import { markDeletedStatement, markMissingStatement } from '../sql/inventory/mark-missing.ts';
import { markUnseenDeletedStatement, markUnseenMissingStatement } from '../sql/inventory/mark-unseen.ts';
import { secondPurgeStatement } from '../sql/inventory/second-purge.ts';
import { recordInventoried } from './listener-loss.ts';

/** One custom resource in its state in the cluster. */
export interface InventoryEntry {
  /** The value comes from the custom resource, so it can be any text. */
  deploymentId: string;
  name: string;
  namespace: string;
  /** false: the resource was deleted. */
  present: boolean;
  generation: number;
  specHash: string;
  /** Whether the last writer was a client other than a listener. */
  edited: boolean;
}

export interface Inventory {
  /** Whether the inventory contains all resources. */
  complete: boolean;
  /** The namespaces that the inventory covers completely. null: the whole cluster. */
  namespaces: readonly string[] | null;
  entries: readonly InventoryEntry[];
}

export interface InventoryResult {
  /** Number of deployments and tombstones that became work. */
  due: number;
  /** Ids that belong to no deployment and no tombstone of this listener in their namespace. */
  unknown: string[];
}

const EVENTS: Readonly<Record<string, { reason: EventReason; message: string }>> = {
  edited: {
    reason: 'ObjectCorrected',
    message:
      'The custom resource differs from the desired state, or lacks its environment or the credentials of its build. ' +
      'The listener applies the resource again.',
  },
  missing: {
    reason: 'ObjectRecreated',
    message: 'The custom resource is missing in the cluster. The listener applies the resource again.',
  },
  unseen: { reason: 'Reconciling', message: 'The custom resource is missing in the cluster.' },
};

/** The change of the status, if it changed. */
function changeOf(marked: Marked | StatusMarked): Record<string, unknown> {
  if (!('fromStatus' in marked) || marked.fromStatus === marked.toStatus) return {};
  return { from: marked.fromStatus, to: marked.toStatus };
}

async function recordEvents(
  transaction: Transaction,
  listenerId: string,
  what: 'edited' | 'missing' | 'unseen',
  marked: readonly (Marked | StatusMarked)[],
): Promise<void> {
  const change = EVENTS[what];
  if (change === undefined) return;
  await appendEvents(
    transaction,
    marked.map((deployment) => ({
      tenantId: deployment.tenantId,
      deploymentId: deployment.id,
      actor: { kind: 'listener', id: listenerId },
      ...change,
      details: changeOf(deployment),
    })),
  );
}

/** Maximum number of unknown ids that are stored per listener. */
const MAX_UNKNOWN = 1000;
/**
 * Maximum number of new ids with a separate event. One more event counts the remaining ids. The number is limited,
 * because the owner of the cluster controls the ids.
 */
const MAX_UNKNOWN_EVENTS = 20;

/** Stores the unknown ids and records events for new ids. */
async function noteUnknown(
  transaction: Transaction,
  listenerId: string,
  complete: boolean,
  unknown: readonly string[],
): Promise<void> {
  if (!complete && unknown.length === 0) return;
  const isListener = eq(listeners.id, listenerId);
  const [row] = await transaction.drizzle
    .select({
      tenantId: listeners.tenantId,
      name: listeners.computeId,
      ids: listeners.unknownResources,
    })
    .from(listeners)
    .where(isListener)
    .for('no key update');
  if (row === undefined) return;
  const { tenantId, name } = row;
  const before = new Set(row.ids);
  const kept = [...new Set([...(complete ? [] : row.ids), ...unknown])].toSorted().slice(0, MAX_UNKNOWN);
  const added = kept.filter((id) => !before.has(id));
  if (added.length === 0 && kept.length === before.size) return;
  await transaction.drizzle.update(listeners).set({ unknownResources: kept }).where(isListener);
  const event = (what: string, details: Record<string, unknown>) => ({
    tenantId,
    listenerId,
    actor: { kind: 'listener', id: listenerId, name } as const,
    reason: 'UnknownResource' as const,
    message: `The cluster of listener ${name} contains ${what}`,
    details,
  });
  const more = added.length - MAX_UNKNOWN_EVENTS;
  await appendEvents(transaction, [
    ...added.slice(0, MAX_UNKNOWN_EVENTS).map((id) =>
      event(
        `a ManagedDeployment with the id ${id}, which the hub does not know. Berth does not change this ` +
          `resource.`,
        {
          deployment_id: id,
        },
      ),
    ),
    ...(more > 0
      ? [
          event(
            `${more} more ManagedDeployments that the hub does not know. Berth does not change these resources.`,
            {
              more,
            },
          ),
        ]
      : []),
  ]);
}

/** The entries whose ids can be those of a deployment. */
const listed = (entries: readonly InventoryEntry[]): ListedResource[] =>
  entries
    .filter(({ deploymentId }) => UUID_PATTERN.test(deploymentId))
    .map(({ deploymentId: id, name, namespace, present, generation, specHash, edited }) => ({
      id,
      name,
      namespace,
      present,
      generation,
      specHash,
      edited,
    }));

/**
 * Compares the resources that a listener found in its cluster with the desired state, and marks differences as work:
 * changed or missing custom resources, and custom resources of deleted deployments. The caller has checked the epoch.
 */
export async function takeInventory(
  transaction: Transaction,
  listenerId: string,
  { complete, namespaces, entries }: Inventory,
): Promise<InventoryResult> {
  // The statement locks all deployments of the listener, in their order, so it runs before any deployment is locked.
  if (complete) await recordInventoried(transaction, listenerId);
  const values = { listenerId, entries: JSON.stringify(listed(entries)) };
  const known = new Set((await transaction.run(knownEntriesStatement, values)).map(({ id }) => id));
  const restored = await transaction.run(catchUpStatement, values);
  const edited = await transaction.run(markEditedStatement, values);
  const missing = complete
    ? await transaction.run(markMissingStatement, { ...values, namespaces })
    : await transaction.run(markDeletedStatement, values);
  // The statement runs after the previous statements, so that work is not marked twice.
  const unseen = complete
    ? await transaction.run(markUnseenMissingStatement, { ...values, namespaces })
    : await transaction.run(markUnseenDeletedStatement, values);
  const leftover = await transaction.run(markLeftoversStatement, values);
  const again = complete ? await transaction.run(secondPurgeStatement, { listenerId, namespaces }) : [];
  await recordEvents(transaction, listenerId, 'edited', edited);
  await recordEvents(transaction, listenerId, 'missing', missing);
  const changed = unseen.filter(({ fromStatus, toStatus }) => fromStatus !== toStatus);
  await recordEvents(transaction, listenerId, 'unseen', changed);
  const unknown = entries.filter(
    ({ deploymentId, present }) => present && !known.has(deploymentId.toLowerCase()),
  );
  const ids = [...new Set(unknown.map(({ deploymentId }) => deploymentId))];
  await noteUnknown(transaction, listenerId, complete, ids);
  const marked = [restored, edited, missing, leftover, again];
  return { due: marked.reduce((sum, { length }) => sum + length, 0), unknown: ids };
}
