import { statement } from '../../core/statement.ts';
import { MARK_DUE, SETTLED } from '../../listeners/requeue-work.ts';
import {
  type CompleteParameters,
  type InventoryParameters,
  type StatusMarked,
  updateDeleted,
  updateMissing,
} from './entries.ts';

/** Requeues deployments without a custom resource. Their observation is no longer valid. */
const MARK_MISSING = `${MARK_DUE}, data_ready = false, url = NULL,
  conditions = coalesce((SELECT jsonb_agg(c || jsonb_build_object('status', 'Unknown', 'reason', 'Reconciling',
    'message', 'The custom resource is missing in the cluster. The listener applies the resource again.',
    'lastTransitionTime', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')))
    FROM jsonb_array_elements(d.conditions) AS c), '[]')`;

/** For an inventory of changes. */
export const markDeletedStatement = statement<InventoryParameters, StatusMarked>(
  'mark_deleted',
  updateDeleted(MARK_MISSING, SETTLED),
);

/** For a complete inventory. */
export const markMissingStatement = statement<CompleteParameters, StatusMarked>(
  'mark_missing',
  updateMissing(MARK_MISSING, SETTLED),
);
