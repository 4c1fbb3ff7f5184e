import type { deployments } from '../../core/schema.ts';
import { type Columns, statement } from '../../core/statement.ts';

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
 * Locks the deployments that are due, in a fair order. Round robin between tenants: the first item of each tenant, then
 * the second of each, and so on. Items that the listener already has count as the first. A small response therefore
 * serves the tenants with the fewest items, not tenants with thousands of items that have waited longest.
 */
export const dueWorkStatement = statement<
  { listenerId: string; limit: number },
  Columns<typeof deployments, 'id'> & {
    /** Whether a leftover is also due. */
    leftovers: boolean;
  }
>(
  'due_work',
  `WITH due AS (
  SELECT id, next_attempt_at, turn FROM (
    SELECT id, next_attempt_at, next_attempt_at <= now() AS is_due,
      row_number() OVER (PARTITION BY tenant_id ORDER BY next_attempt_at <= now(), next_attempt_at, id)
        - greatest(0, count(*) FILTER (WHERE next_attempt_at > now()) OVER (PARTITION BY tenant_id) - ${MAX_COUNTED}) AS turn
    FROM deployments
    WHERE listener_id = :listenerId AND generation > acknowledged_generation AND (next_attempt_at <= now() OR handed_out)
  ) AS waiting WHERE is_due
  ORDER BY turn, next_attempt_at, id LIMIT :limit::int - (SELECT count(*) FROM (SELECT FROM tombstones
    WHERE listener_id = :listenerId AND due AND next_attempt_at <= now()
    LIMIT (:limit::int + ${LEFTOVERS_PLACE / 2}) / ${LEFTOVERS_PLACE}) AS waiting)
), locked AS (
  SELECT d.id FROM deployments d WHERE d.id IN (SELECT id FROM due)
    AND d.generation > d.acknowledged_generation AND d.next_attempt_at <= now()
  ORDER BY d.id FOR UPDATE SKIP LOCKED
)
SELECT id, EXISTS (SELECT FROM tombstones WHERE listener_id = :listenerId AND due AND next_attempt_at <= now()) AS leftovers
FROM due JOIN locked USING (id) ORDER BY turn, next_attempt_at, id`,
);
