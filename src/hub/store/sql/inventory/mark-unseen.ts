import { statement } from '../../core/statement.ts';
import { SETTLED } from '../../listeners/requeue-work.ts';
import {
  asUnknown,
  type CompleteParameters,
  type InventoryParameters,
  type StatusMarked,
  updateDeleted,
  updateMissing,
} from './entries.ts';

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
  conditions = coalesce((SELECT jsonb_agg(CASE WHEN ${IS_NOTE} THEN c
    ELSE ${asUnknown('The custom resource is missing in the cluster.')} END)
    FROM jsonb_array_elements(d.conditions) AS c), '[]')`;
const IS_UNSEEN = `NOT (${SETTLED}) AND (d.delete_requested_at IS NULL OR d.purge_after > now())
  AND EXISTS (SELECT FROM jsonb_array_elements(d.conditions) AS c WHERE NOT ${IS_NOTE} AND c ->> 'status' <> 'Unknown')`;

/** For an inventory of changes. */
export const markUnseenDeletedStatement = statement<InventoryParameters, StatusMarked>(
  'mark_unseen_deleted',
  updateDeleted(MARK_UNSEEN, IS_UNSEEN),
);

/** For a complete inventory. */
export const markUnseenMissingStatement = statement<CompleteParameters, StatusMarked>(
  'mark_unseen_missing',
  updateMissing(MARK_UNSEEN, IS_UNSEEN),
);
