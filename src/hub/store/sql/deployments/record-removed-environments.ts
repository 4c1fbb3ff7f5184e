import { statement } from '../../core/statement.ts';

/** Records removed environments. Also filters by id, so that the plan reads few rows (see HANDED_OUT). */
export const recordRemovedEnvironmentsStatement = statement<{
  /** JSON text of objects with id and number. */
  removed: string;
  deploymentIds: readonly string[];
}>(
  'record_removed_environments',
  `UPDATE revisions r SET environment_gone = true
FROM jsonb_to_recordset(:removed::jsonb) AS gone(id uuid, number int)
WHERE r.deployment_id = gone.id AND r.deployment_id = ANY(:deploymentIds::uuid[]) AND r.number = gone.number
  AND NOT r.environment_gone`,
);
