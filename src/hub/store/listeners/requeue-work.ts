import { WORK_CHANNEL } from '../deployments/deployment-write.ts';

/**
 * Items that are to be made anew although nothing new is wanted: what goes with them has changed (credentials, which
 * environments are left over), or the cluster is not as it was told to be. No generation is raised, so no pod is
 * replaced. The version of the item is, so that the word that another one was applied does not acknowledge this one.
 */

/** SQL: acknowledged and wanted (alias `d`), so not work already. */
export const SETTLED = 'd.delete_requested_at IS NULL AND d.acknowledged_generation >= d.generation';

/** SQL: no cluster was told of it (alias `d`), and none has told of it: after a restore the record may know less than a cluster. */
export const NEVER_HANDED_OUT = '(d.spec_hash IS NULL AND NOT d.handed_out AND d.observed_at IS NULL)';

const ANEW =
  'acknowledged_generation = least(d.acknowledged_generation, d.generation - 1), work_version = d.work_version + 1';
/** SQL: makes the item of a deployment (alias `d`) anew, and due at once. */
export const MARK_DUE = `${ANEW}, next_attempt_at = now(), attempts = 0`;

/** Done, or with a listener: what is neither is due, or waits for its next attempt, and is made by then. */
const IS_MADE = `(${SETTLED} OR (d.handed_out AND d.next_attempt_at > now()))`;

/**
 * SQL that has the items of those deployments (alias `d`) made anew for which `which` holds. Rows are locked in the order
 * in which everybody locks deployments. Answers per listener how many have become due by it.
 * @param most of so many at once; default: all
 */
export const makeAnew = (which: string, most?: number) => `
WITH chosen AS (
  SELECT d.id FROM deployments d WHERE d.delete_requested_at IS NULL AND ${which} ORDER BY d.id${most === undefined ? '' : ` LIMIT ${most}`} FOR NO KEY UPDATE
), made AS (
  UPDATE deployments d SET ${ANEW}, next_attempt_at = CASE WHEN ${IS_MADE} THEN now() ELSE d.next_attempt_at END,
    attempts = CASE WHEN ${IS_MADE} THEN 0 ELSE d.attempts END
  FROM chosen WHERE d.id = chosen.id RETURNING d.listener_id, d.next_attempt_at = now() AS is_due
)
SELECT pg_notify('${WORK_CHANNEL}', listener_id::text), count(*)::int AS due FROM made WHERE is_due GROUP BY listener_id`;
