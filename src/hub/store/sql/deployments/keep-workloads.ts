import type { deployments } from '../../core/schema.ts';
import { type Columns, statement } from '../../core/statement.ts';
import { WITHIN_GRACE } from '../fragments/grace-period.ts';

/**
 * Keeps the workloads of deployments in their grace period, at once. After the grace period, the purge may be in
 * progress, so the request is rejected unless the workloads are already kept. Returns the deployments whose workloads
 * were not kept before.
 */
export const keepWorkloadsStatement = statement<
  { tenantId: string; deploymentIds: readonly string[] },
  Columns<typeof deployments, 'id' | 'name'> & { kept: boolean }
>(
  'keep_workloads',
  `WITH kept AS (
  UPDATE deployments SET keep_workloads = true, purge_after = now(), next_attempt_at = now()
  WHERE tenant_id = :tenantId AND id = ANY(:deploymentIds::uuid[]) AND ${WITHIN_GRACE} AND NOT keep_workloads
  RETURNING id, name
)
SELECT id, name, true AS kept FROM kept
UNION ALL
SELECT id, name, false FROM deployments
WHERE tenant_id = :tenantId AND id = ANY(:deploymentIds::uuid[]) AND NOT keep_workloads
  AND id NOT IN (SELECT id FROM kept)`,
);
