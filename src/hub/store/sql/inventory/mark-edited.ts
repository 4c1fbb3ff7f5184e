import { statement } from '../../core/statement.ts';
import { MARK_DUE, SETTLED } from '../../listeners/requeue-work.ts';
import { ENTRIES, type InventoryParameters, isSamePlace, MARKED_COLUMNS, type Marked } from './entries.ts';

/** Whether the deployment is in the grace period of its deletion, and was reported as suspended. */
const SUSPENDED =
  'd.purge_after > now() AND d.next_attempt_at > now() AND d.attempts = 0 AND NOT d.handed_out';

/** Requeues deployments whose custom resource differs. Existing work keeps its backoff. */
export const markEditedStatement = statement<InventoryParameters, Marked>(
  'mark_edited',
  `UPDATE deployments d SET ${MARK_DUE}
FROM ${ENTRIES}
WHERE d.listener_id = :listenerId AND ${isSamePlace('d')} AND (${SETTLED} OR ${SUSPENDED})
  AND e.present AND e."specHash" IS DISTINCT FROM d.spec_hash
RETURNING ${MARKED_COLUMNS}`,
);
