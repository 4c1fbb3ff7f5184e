import { statement } from '../../core/statement.ts';
import { cleanWhole } from '../fragments/whole-cleaning.ts';

/**
 * Releases the images of kept workloads. The images are removed from the platform's registry, because no cluster may
 * pull them any more. Running workloads are not changed.
 */
export const forgetKeptWorkloadsStatement = statement<
  { tenantId: string; deploymentId: string },
  { id: string }
>(
  'forget_kept_workloads',
  `WITH t AS (
  UPDATE tombstones SET kept_workloads = false, purged_at = now()
  WHERE tenant_id = :tenantId AND id = :deploymentId AND kept_workloads RETURNING id, tenant_id, app_name
), cleaning AS (${cleanWhole('t')}
)
SELECT id FROM t`,
);
