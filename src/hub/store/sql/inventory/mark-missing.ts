import { statement } from '../../core/statement.ts';
import { MARK_DUE, SETTLED } from '../../listeners/requeue-work.ts';
import {
  asUnknown,
  type CompleteParameters,
  type InventoryParameters,
  type StatusMarked,
  updateDeleted,
  updateMissing,
} from './entries.ts';

/** Requeues deployments without a custom resource. Their observation is no longer valid. */
const MARK_MISSING = `${MARK_DUE}, data_ready = false, url = NULL,
  conditions = coalesce((SELECT jsonb_agg(${asUnknown(
    'The custom resource is missing in the cluster. The listener applies the resource again.',
  )})
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
