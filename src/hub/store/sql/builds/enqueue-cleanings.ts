import { statement } from '../../core/statement.ts';

/** Requests a cleanup for each of these deployments, which got another image. Their earlier images may be unused. */
export const enqueueCleaningsStatement = statement<{ deploymentIds: readonly string[] }>(
  'enqueue_cleanings',
  `INSERT INTO repository_cleanings (deployment_id, tenant_id, app_name)
SELECT id, tenant_id, app_name FROM deployments WHERE id = ANY(:deploymentIds::uuid[]) ORDER BY id
ON CONFLICT (deployment_id) DO UPDATE SET attempts = repository_cleanings.attempts + 1, next_attempt_at = now()`,
);
