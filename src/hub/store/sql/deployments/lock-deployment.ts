import { statement } from '../../core/statement.ts';

/** Locks the row of a deployment. No row: the tenant has no deployment with this id. */
export const lockDeploymentStatement = statement<{ tenantId: string; deploymentId: string }, { id: string }>(
  'lock_deployment',
  `SELECT id FROM deployments WHERE id = :deploymentId AND tenant_id = :tenantId
-- guard: lock-of-changes
FOR UPDATE
`,
);
