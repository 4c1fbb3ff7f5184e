import type { Reason } from '../../../domain/conditions/conditions.ts';
import { UUID_PATTERN } from '../../../domain/core/id.ts';
import { MAX_GENERATION } from '../../../domain/deployment/generation.ts';
import type { Transaction } from '../core/database.ts';
import { appendEvents } from '../core/events.ts';
import { recordInventoried } from './listener-loss.ts';
import { MARK_DUE, SETTLED } from './requeue-work.ts';

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

const ENTRY = `jsonb_to_recordset($2::jsonb) AS e(id uuid, name text, namespace text, present boolean,
  generation bigint, spec_hash text, edited boolean)`;
const SAME_PLACE = (alias: string) =>
  `${alias}.id = e.id AND ${alias}.app_name = e.name AND ${alias}.namespace = e.namespace`;

const KNOWN = `
SELECT d.id FROM deployments d JOIN ${ENTRY} ON ${SAME_PLACE('d')} WHERE d.listener_id = $1
UNION ALL
SELECT t.id FROM tombstones t JOIN ${ENTRY} ON ${SAME_PLACE('t')} WHERE t.listener_id = $1`;

/** Whether the deployment is in the grace period of its deletion, and was reported as suspended. */
const SUSPENDED =
  'd.purge_after > now() AND d.next_attempt_at > now() AND d.attempts = 0 AND NOT d.handed_out';
const RETURNING = 'd.id, d.tenant_id';

/**
 * For a listener that applied a later generation than the record has, because the hub was restored from a backup. The
 * record now changes the workloads in the cluster, so its generation must be higher.
 */
const CATCH_UP = `
UPDATE deployments d SET generation = e.generation + 1, next_attempt_at = now(), attempts = 0
FROM ${ENTRY}
WHERE d.listener_id = $1 AND ${SAME_PLACE('d')} AND (d.delete_requested_at IS NULL OR d.purge_after > now())
  AND e.present AND NOT e.edited AND e.generation > d.generation AND e.generation < ${MAX_GENERATION}
RETURNING ${RETURNING}`;

/** Existing work keeps its backoff. */
const EDITED = `
UPDATE deployments d SET ${MARK_DUE}
FROM ${ENTRY}
WHERE d.listener_id = $1 AND ${SAME_PLACE('d')} AND (${SETTLED} OR ${SUSPENDED})
  AND e.present AND e.spec_hash IS DISTINCT FROM d.spec_hash
RETURNING ${RETURNING}`;

/** The observation is no longer valid. */
const MARK_MISSING = `${MARK_DUE}, data_ready = false, url = NULL,
  conditions = coalesce((SELECT jsonb_agg(c || jsonb_build_object('status', 'Unknown', 'reason', 'Reconciling',
    'message', 'The custom resource is missing in the cluster. The listener applies the resource again.',
    'lastTransitionTime', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')))
    FROM jsonb_array_elements(d.conditions) AS c), '[]')`;

/**
 * SQL: whether the hub itself wrote the condition `c`. A condition of the hub explains why the item is not done, and
 * refers to no generation of the resource.
 */
const IS_NOTE = `(c ->> 'type' = 'Ready' AND NOT c ? 'observedGeneration')`;
/**
 * Removes outdated observations of existing work, which keeps its backoff and the conditions of the hub. A row is
 * changed only once. Deployments that are being removed are excluded, because no earlier state of them is shown.
 */
const MARK_UNSEEN = `data_ready = false, url = NULL,
  conditions = coalesce((SELECT jsonb_agg(CASE WHEN ${IS_NOTE} THEN c ELSE c || jsonb_build_object('status', 'Unknown',
    'reason', 'Reconciling', 'message', 'The custom resource is missing in the cluster.',
    'lastTransitionTime', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) END)
    FROM jsonb_array_elements(d.conditions) AS c), '[]')`;
const IS_UNSEEN = `NOT (${SETTLED}) AND (d.delete_requested_at IS NULL OR d.purge_after > now())
  AND EXISTS (SELECT FROM jsonb_array_elements(d.conditions) AS c WHERE NOT ${IS_NOTE} AND c ->> 'status' <> 'Unknown')`;

/** The status before and after. */
const RETURNING_STATUS = `${RETURNING}, o.recorded_status AS from_status, d.recorded_status AS to_status`;

/** Resources that the entries report as deleted. @param which condition of the deployments `d` */
const updateDeleted = (assignments: string, which: string) => `
UPDATE deployments d SET ${assignments}
FROM ${ENTRY}, deployments o
WHERE o.id = d.id AND d.listener_id = $1 AND ${SAME_PLACE('d')} AND ${which} AND NOT e.present
RETURNING ${RETURNING_STATUS}`;

/** Resources that a complete inventory does not contain. @param which condition of the deployments `d` */
const updateMissing = (assignments: string, which: string) => `
UPDATE deployments d SET ${assignments}
FROM deployments o
WHERE o.id = d.id AND d.listener_id = $1 AND ${which} AND ($3::text[] IS NULL OR d.namespace = ANY($3))
  AND NOT EXISTS (SELECT 1 FROM ${ENTRY} WHERE ${SAME_PLACE('d')} AND e.present)
RETURNING ${RETURNING_STATUS}`;

const DELETED = updateDeleted(MARK_MISSING, SETTLED);
const MISSING = updateMissing(MARK_MISSING, SETTLED);
const UNSEEN_DELETED = updateDeleted(MARK_UNSEEN, IS_UNSEEN);
const UNSEEN_MISSING = updateMissing(MARK_UNSEEN, IS_UNSEEN);

const LEFTOVER = `
UPDATE tombstones t SET due = true, next_attempt_at = now(), attempts = 0, look_again_at = now()
FROM ${ENTRY}
WHERE t.listener_id = $1 AND ${SAME_PLACE('t')} AND e.present AND NOT t.due
RETURNING t.id, t.tenant_id`;

/**
 * Purges each deleted deployment again with the first complete inventory that arrives at least a minute after the end
 * of the deletion. A POST of a replaced or dead process may still be in flight when a deletion ends, and an object
 * without a custom resource is in no inventory. At most ten purges per second are due, because one costs ten reads, and
 * no user waits for it.
 */
const SECOND_PURGE = `
WITH again AS (
  SELECT id, row_number() OVER (ORDER BY look_again_at, id) - 1 AS place FROM tombstones
  WHERE listener_id = $1 AND NOT due AND NOT keep_workloads AND ($2::text[] IS NULL OR namespace = ANY($2))
    AND look_again_at <= now()
)
UPDATE tombstones t SET due = true, next_attempt_at = now() + again.place * interval '100 milliseconds', attempts = 0,
  look_again_at = NULL
FROM again WHERE t.id = again.id AND NOT t.due AND t.look_again_at <= now()
RETURNING t.id, t.tenant_id`;

const EVENTS: Readonly<Record<string, { reason: Reason; message: string }>> = {
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

interface MarkedRow {
  id: string;
  tenant_id: string;
  from_status?: string;
  to_status?: string;
}

async function recordEvents(
  transaction: Transaction,
  listenerId: string,
  what: 'edited' | 'missing' | 'unseen',
  rows: readonly MarkedRow[],
): Promise<void> {
  const change = EVENTS[what];
  if (change === undefined) return;
  await appendEvents(
    transaction,
    rows.map(({ id: deploymentId, tenant_id: tenantId, from_status: from, to_status: to }) => ({
      tenantId,
      deploymentId,
      actor: { kind: 'listener', id: listenerId },
      ...change,
      details: from === to ? {} : { from, to },
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

const UNKNOWN_BEFORE =
  'SELECT tenant_id, compute_id, unknown_resources AS ids FROM listeners WHERE id = $1 FOR NO KEY UPDATE';
const NOTE_UNKNOWN = 'UPDATE listeners SET unknown_resources = $2::jsonb WHERE id = $1';

/** Stores the unknown ids and records events for new ids. */
async function noteUnknown(
  transaction: Transaction,
  listenerId: string,
  complete: boolean,
  unknown: readonly string[],
): Promise<void> {
  if (!complete && unknown.length === 0) return;
  const [row] = await transaction.query<{ tenant_id: string | null; compute_id: string; ids: string[] }>(
    UNKNOWN_BEFORE,
    [listenerId],
  );
  if (row === undefined) return;
  const before = new Set(row.ids);
  const kept = [...new Set([...(complete ? [] : row.ids), ...unknown])].toSorted().slice(0, MAX_UNKNOWN);
  const added = kept.filter((id) => !before.has(id));
  if (added.length === 0 && kept.length === before.size) return;
  await transaction.query(NOTE_UNKNOWN, [listenerId, JSON.stringify(kept)]);
  const { tenant_id: tenantId, compute_id: name } = row;
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

/**
 * Compares the resources that a listener found in its cluster with the desired state, and marks differences as work:
 * changed or missing custom resources, and custom resources of deleted deployments. The caller has checked the epoch.
 */
export async function takeInventory(
  transaction: Transaction,
  listenerId: string,
  { complete, namespaces, entries }: Inventory,
): Promise<InventoryResult> {
  const identified = entries.filter(({ deploymentId }) => UUID_PATTERN.test(deploymentId));
  const rows = identified.map(
    ({ deploymentId: id, name, namespace, present, generation, specHash, edited }) => ({
      id,
      name,
      namespace,
      present,
      generation,
      spec_hash: specHash,
      edited,
    }),
  );
  // The statement locks all deployments of the listener, in their order, so it runs before any deployment is locked.
  if (complete) await recordInventoried(transaction, listenerId);
  const values = [listenerId, JSON.stringify(rows)];
  const known = new Set((await transaction.query<{ id: string }>(KNOWN, values)).map(({ id }) => id));
  const restored = await transaction.query<MarkedRow>(CATCH_UP, values);
  const edited = await transaction.query<MarkedRow>(EDITED, values);
  const missing = complete
    ? await transaction.query<MarkedRow>(MISSING, [...values, namespaces])
    : await transaction.query<MarkedRow>(DELETED, values);
  // The statement runs after the previous statements, so that work is not marked twice.
  const unseen = complete
    ? await transaction.query<MarkedRow>(UNSEEN_MISSING, [...values, namespaces])
    : await transaction.query<MarkedRow>(UNSEEN_DELETED, values);
  const leftover = await transaction.query<MarkedRow>(LEFTOVER, values);
  const again = complete ? await transaction.query<MarkedRow>(SECOND_PURGE, [listenerId, namespaces]) : [];
  await recordEvents(transaction, listenerId, 'edited', edited);
  await recordEvents(transaction, listenerId, 'missing', missing);
  const changed = unseen.filter(({ from_status: from, to_status: to }) => from !== to);
  await recordEvents(transaction, listenerId, 'unseen', changed);
  const unknown = entries.filter(
    ({ deploymentId, present }) => present && !known.has(deploymentId.toLowerCase()),
  );
  const ids = [...new Set(unknown.map(({ deploymentId }) => deploymentId))];
  await noteUnknown(transaction, listenerId, complete, ids);
  const marked = [restored, edited, missing, leftover, again];
  return { due: marked.reduce((sum, { length }) => sum + length, 0), unknown: ids };
}
