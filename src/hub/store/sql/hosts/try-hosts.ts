import { statement } from '../../core/statement.ts';

/**
 * Statements that try to take a host, to find out whether another deployment has it. Rows of other tenants are not visible,
 * but their keys are unique. No deployment has the id, so a free host violates the foreign key, and no row is ever written. A
 * host of the deployment itself is not tried.
 */
interface TriedHost {
  tenantId: string;
  /** The deployment that wants the host. */
  deploymentId: string;
  host: string;
  /** An id that no deployment has. */
  unusedId: string;
}

export const tryHostInUseStatement = statement<TriedHost>(
  'try_host_in_use',
  `INSERT INTO deployment_hosts (host, tenant_id, deployment_id, extra)
SELECT :host, :tenantId, :unusedId::uuid, true
WHERE NOT EXISTS (SELECT 1 FROM deployment_hosts h WHERE h.host = :host AND h.deployment_id = :deploymentId)`,
);

export const tryLeavingHostStatement = statement<TriedHost>(
  'try_leaving_host',
  `INSERT INTO leaving_hosts (host, tenant_id, deployment_id, generation)
SELECT :host, :tenantId, :unusedId::uuid, 0
WHERE NOT EXISTS (SELECT 1 FROM leaving_hosts h WHERE h.host = :host AND h.deployment_id = :deploymentId)`,
);
