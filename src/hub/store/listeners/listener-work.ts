import type { WorkBlocked } from '../../../domain/conditions/explain-facts.ts';
import { uuidv7 } from '../../../domain/core/id.ts';
import type { Reader, Transaction } from '../core/database.ts';
import { appendEvents, type NewEvent } from '../core/events.ts';
import { type DuePurge, type DueWork, loadWork } from './listener-work-rows.ts';

/**
 * Finds and hands out due work of a listener. The state is a dirty marker instead of a queue. An item is due while
 * generation > acknowledged_generation and next_attempt_at has passed. Therefore no work is lost, however notifications
 * and commits interleave. A deletion is never acknowledged. The item of a deletion suspends the deployment during the
 * grace period, and is a purge after the grace period.
 */

/** The caller's result for a due item. */
export type HandOut<Item> =
  | {
      kind: 'item';
      item: Item;
      /** Hash of the custom resource's spec; null: a purge. */
      specHash: string | null;
      /** Whether the revision should start (it is not suspended). */
      starts: boolean;
    }
  /** The response is full. The item remains due. */
  | { kind: 'later' }
  /** The item cannot be rendered now and is due again later. The history records the reason once. */
  | ({ kind: 'failed' } & WorkBlocked);

/** Seconds after which an item without a report is handed out again. `next_attempt_at` is set to this time. */
const REDELIVER_SECONDS = 60;
/**
 * Leftovers of deleted deployments come last. If leftovers wait, one of this number of places of a response is reserved
 * for leftovers, at least one of four.
 */
const LEFTOVERS_PLACE = 8;
/**
 * Maximum number of counted items at the listener. Further items wait for another operation in the cluster and do not
 * occupy the listener.
 */
const MAX_COUNTED = 12;
/**
 * Round robin between tenants: the first item of each tenant, then the second of each, and so on. Items that the
 * listener already has count as the first. A small response therefore serves the tenants with the fewest items, not
 * tenants with thousands of items that have waited longest.
 */
const DUE = `
WITH due AS (
  SELECT id, next_attempt_at, turn FROM (
    SELECT id, next_attempt_at, next_attempt_at <= now() AS is_due, 
      row_number() OVER (PARTITION BY tenant_id ORDER BY next_attempt_at <= now(), next_attempt_at, id)
        - greatest(0, count(*) FILTER (WHERE next_attempt_at > now()) OVER (PARTITION BY tenant_id) - ${MAX_COUNTED}) AS turn
    FROM deployments
    WHERE listener_id = $1 AND generation > acknowledged_generation AND (next_attempt_at <= now() OR handed_out)
  ) AS waiting WHERE is_due
  ORDER BY turn, next_attempt_at, id LIMIT $2::int - (SELECT count(*) FROM (SELECT FROM tombstones
    WHERE listener_id = $1 AND due AND next_attempt_at <= now() LIMIT ($2::int + ${LEFTOVERS_PLACE / 2}) / ${LEFTOVERS_PLACE}) AS waiting)
), locked AS (
  SELECT d.id FROM deployments d WHERE d.id IN (SELECT id FROM due)
    AND d.generation > d.acknowledged_generation AND d.next_attempt_at <= now()
  ORDER BY d.id FOR UPDATE SKIP LOCKED
)
SELECT id, EXISTS (SELECT FROM tombstones WHERE listener_id = $1 AND due AND next_attempt_at <= now()) AS leftovers
FROM due JOIN locked USING (id) ORDER BY turn, next_attempt_at, id`;

interface DueRow {
  id: string;
  /** Whether a leftover is also due. */
  leftovers: boolean;
}

/**
 * The statement also filters the written rows by id. Without this filter, the planner would assume a hundred rows for a
 * recordset, and scan whole tables.
 */
const HANDED_OUT = `
WITH given AS (
  SELECT * FROM jsonb_to_recordset($1::jsonb) AS given(id uuid, spec_hash text, revision_id uuid, event_id uuid)
), deployment AS (
  UPDATE deployments d SET spec_hash = coalesce(given.spec_hash, d.spec_hash), attempts = d.attempts + 1,
    handed_out = true, next_attempt_at = least(now() + make_interval(secs => ${REDELIVER_SECONDS}),
      CASE WHEN d.purge_after > now() THEN d.purge_after END)
  FROM given WHERE d.id = given.id AND d.id = ANY($3::uuid[])
), revision AS (
  UPDATE revisions r SET status = 'AWAITING_DEPLOY', reason = 'Reconciling', message = 'It was handed to the listener.',
    updated_at = now()
  FROM given WHERE r.id = given.revision_id AND r.id = ANY($4::uuid[]) AND r.status = 'QUEUED'
  RETURNING r.id, r.tenant_id, r.deployment_id, r.number, given.event_id
)
INSERT INTO events (id, tenant_id, deployment_id, revision_id, actor_kind, actor_id, reason, message, details)
SELECT event_id, tenant_id, deployment_id, id, 'listener', $2::uuid, 'Reconciling',
  format('Revision %s is AWAITING_DEPLOY: it was handed to the listener.', number),
  '{"from": "QUEUED", "to": "AWAITING_DEPLOY"}'::jsonb
FROM revision`;

interface GivenRow {
  id: string;
  spec_hash: string | null;
  /** The revision that starts with the item. */
  revision_id: string | null;
  /** The event of this transition. */
  event_id: string;
}

function givenRow<Item>(work: DueWork, result: HandOut<Item>): GivenRow {
  const id = work.kind === 'apply' ? work.deployment.id : work.deploymentId;
  const starts = result.kind === 'item' && result.starts && work.kind === 'apply';
  return {
    id,
    spec_hash: result.kind === 'item' ? result.specHash : null,
    revision_id: starts ? (work.revision?.id ?? null) : null,
    event_id: uuidv7(),
  };
}

async function noteHandedOut(
  transaction: Transaction,
  listenerId: string,
  given: readonly GivenRow[],
): Promise<void> {
  if (given.length === 0) return;
  const ids = given.map(({ id }) => id);
  const revisionIds = given.flatMap(({ revision_id: id }) => id ?? []);
  await transaction.query(HANDED_OUT, [JSON.stringify(given), listenerId, ids, revisionIds]);
}

/** The reason is recorded only at the first attempt after a change, because the item is retried every minute. */
function failureEvents(work: DueWork, result: HandOut<unknown>): NewEvent[] {
  if (result.kind !== 'failed' || work.kind !== 'apply' || work.attempts > 0) return [];
  const { id: deploymentId, tenantId } = work.deployment;
  const revision = work.revision === null ? '' : `Revision ${work.revision.number} `;
  return [
    {
      tenantId,
      deploymentId,
      revisionId: work.revision?.id ?? null,
      actor: { kind: 'system' },
      reason: result.reason,
      message: `${revision}was not handed to the listener: ${result.message} Berth retries this.`,
    },
  ];
}

/** Selects leftovers, also round robin between tenants. */
const DUE_TOMBSTONES = `
WITH waiting AS (
  SELECT id, next_attempt_at, row_number() OVER (PARTITION BY tenant_id ORDER BY next_attempt_at, id) AS turn
  FROM tombstones WHERE listener_id = $1 AND due AND next_attempt_at <= now()
  ORDER BY turn, next_attempt_at, id LIMIT $2
), locked AS (
  SELECT id FROM tombstones WHERE id IN (SELECT id FROM waiting) AND due AND next_attempt_at <= now()
  FOR UPDATE SKIP LOCKED
)
UPDATE tombstones SET attempts = greatest(attempts, 1), next_attempt_at = now() + make_interval(secs => ${REDELIVER_SECONDS})
WHERE id IN (SELECT id FROM locked)
RETURNING id, tenant_id, generation, app_name, namespace, env_revisions, keep_workloads`;

async function leftovers(transaction: Transaction, listenerId: string, limit: number): Promise<DuePurge[]> {
  const rows = await transaction.query<{
    id: string;
    tenant_id: string;
    generation: number;
    app_name: string;
    namespace: string;
    env_revisions: number[];
    keep_workloads: boolean;
  }>(DUE_TOMBSTONES, [listenerId, limit]);
  return rows.map((row) => ({
    kind: 'purge',
    deploymentId: row.id,
    tenantId: row.tenant_id,
    generation: row.generation,
    appName: row.app_name,
    namespace: row.namespace,
    revisions: row.env_revisions,
    keepWorkloads: row.keep_workloads,
  }));
}

/**
 * Hands out due work: calls `handOut` for each item in a fair order and records the result, in one transaction.
 * `handOut` must have no side effects, because the transaction may run again.
 */
export async function takeWork<Item>(
  transaction: Transaction,
  listenerId: string,
  limit: number,
  handOut: (due: DueWork) => HandOut<Item>,
): Promise<Item[]> {
  const due = await transaction.query<DueRow>(DUE, [listenerId, limit]);
  const items: Item[] = [];
  const given: GivenRow[] = [];
  const failures: NewEvent[] = [];
  for (const work of await loadWork(
    transaction,
    due.map(({ id }) => id),
  )) {
    const result = handOut(work);
    if (result.kind === 'later') break;
    given.push(givenRow(work, result));
    failures.push(...failureEvents(work, result));
    if (result.kind === 'item') items.push(result.item);
  }
  await noteHandedOut(transaction, listenerId, given);
  await appendEvents(transaction, failures);
  // Leftovers are queried only if a leftover is due, because each statement delays a waiting change.
  if (due[0]?.leftovers === false) return items;
  for (const purge of await leftovers(transaction, listenerId, limit - given.length)) {
    const result = handOut(purge);
    if (result.kind === 'item') items.push(result.item);
  }
  return items;
}

const NEXT_DUE = `
SELECT l.lease_epoch, extract(epoch FROM least(
  (SELECT min(next_attempt_at) FROM deployments WHERE listener_id = $1 AND generation > acknowledged_generation),
  (SELECT min(next_attempt_at) FROM tombstones WHERE listener_id = $1 AND due)) - now())::float8 * 1000 AS in_ms
FROM listeners l WHERE l.id = $1`;

/**
 * Time until the next item is due, in milliseconds (≤ 0: now; null: no item waits), and the current epoch. The query is
 * cheap and writes nothing. null when the scope contains no listener with this id.
 */
export async function checkForWork(
  reader: Reader,
  listenerId: string,
): Promise<{ epoch: number; dueInMs: number | null } | null> {
  const [row] = await reader.query<{ lease_epoch: number; in_ms: number | null }>(NEXT_DUE, [listenerId]);
  return row === undefined ? null : { epoch: row.lease_epoch, dueInMs: row.in_ms };
}
