import type { Reader } from '../core/database.ts';

/** The owner of a repository in the platform's registry. */
export interface RepositoryOwner {
  readonly id: string;
  readonly tenantId: string;
  readonly appName: string;
}

const OWNER = `
SELECT id, tenant_id AS "tenantId", app_name AS "appName" FROM deployments
WHERE tenant_id = $1 AND id = $2 AND (delete_requested_at IS NULL OR keep_workloads AND $3::boolean)
UNION ALL
SELECT id, tenant_id, app_name FROM tombstones WHERE tenant_id = $1 AND id = $2 AND kept_workloads AND $3::boolean`;

/**
 * The deployment that owns a repository; null: the deployment is deleted, being deleted, or belongs to another tenant.
 * @param onlyPulls also finds deployments that were deleted with keep_workloads, because their pods still pull images
 */
export async function findRepositoryOwner(
  reader: Reader,
  tenantId: string,
  deploymentId: string,
  onlyPulls: boolean,
): Promise<RepositoryOwner | null> {
  const [owner] = await reader.query<RepositoryOwner>(OWNER, [tenantId, deploymentId, onlyPulls]);
  return owner ?? null;
}
