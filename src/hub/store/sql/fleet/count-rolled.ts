import { statement } from '../../core/statement.ts';

/**
 * Counts deployments whose newest revision with a final status was created after `since`, and their tenants. Revision
 * ids are ordered by time, so this is a range of the primary key.
 */
export const countRolledStatement = statement<
  { /** An id of that time. */ since: string },
  { deployments: number; failedDeployments: number; tenants: number; failedTenants: number }
>(
  'count_rolled',
  `WITH ended AS (
  SELECT DISTINCT ON (r.deployment_id) r.tenant_id, r.status = 'DEPLOY_FAILED' AS failed FROM revisions r
  WHERE r.id >= :since AND r.status IN ('DEPLOYED', 'DEPLOY_FAILED') ORDER BY r.deployment_id, r.number DESC)
SELECT count(*)::int AS deployments, count(*) FILTER (WHERE failed)::int AS "failedDeployments",
  count(DISTINCT tenant_id)::int AS tenants, count(DISTINCT tenant_id) FILTER (WHERE failed)::int AS "failedTenants"
FROM ended`,
);
