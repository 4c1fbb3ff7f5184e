import { WORK_CHANNEL } from '../core/channels.ts';

/**
 * Requeues work items without a new desired state, because their content has changed (credentials, leftover
 * environments), or because the cluster differs from it. The generation does not change, so no pod is replaced.
 * `work_version` is incremented so that a late acknowledgement of the previous item does not acknowledge this item.
 */

/** SQL: whether the desired state is acknowledged (alias `d`), so that the deployment is not yet work. */
export const SETTLED = 'd.delete_requested_at IS NULL AND d.acknowledged_generation >= d.generation';

/**
 * SQL: whether no cluster has received or reported the deployment (alias `d`). The report counts because after a
 * restore, the record may be older than the cluster.
 */
export const NEVER_HANDED_OUT = '(d.spec_hash IS NULL AND NOT d.handed_out AND d.observed_at IS NULL)';

const NEXT_VERSION =
  'acknowledged_generation = least(d.acknowledged_generation, d.generation - 1), work_version = d.work_version + 1';
/** SQL that requeues the item of a deployment (alias `d`), which is due at once. */
export const MARK_DUE = `${NEXT_VERSION}, next_attempt_at = now(), attempts = 0`;

/**
 * SQL: whether the item is done or a listener has it. Any other item is due or waits for its next attempt, and will be
 * rendered then.
 */
const IS_MADE = `(${SETTLED} OR (d.handed_out AND d.next_attempt_at > now()))`;

/**
 * SQL that requeues the items of the deployments (alias `d`) that match `which`. Rows are locked in the order of their
 * ids, as in all code that locks several deployments. Returns the number of items per listener that became due.
 * @param most maximum number of items; default: all items
 */
export const requeueWhere = (which: string, most?: number) => `
WITH chosen AS (
  SELECT d.id FROM deployments d WHERE d.delete_requested_at IS NULL AND ${which} ORDER BY d.id${most === undefined ? '' : ` LIMIT ${most}`} FOR NO KEY UPDATE
), made AS (
  UPDATE deployments d SET ${NEXT_VERSION}, next_attempt_at = CASE WHEN ${IS_MADE} THEN now() ELSE d.next_attempt_at END,
    attempts = CASE WHEN ${IS_MADE} THEN 0 ELSE d.attempts END
  FROM chosen WHERE d.id = chosen.id RETURNING d.listener_id, d.next_attempt_at = now() AS is_due
)
SELECT pg_notify('${WORK_CHANNEL}', listener_id::text), count(*)::int AS due FROM made WHERE is_due GROUP BY listener_id`;
