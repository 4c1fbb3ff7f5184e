import { statement } from '../../core/statement.ts';

/**
 * Keeps a host, which fails if another tenant keeps it. If the same tenant has already kept the host, no second row is
 * added.
 */
export const tryKeptHostStatement = statement<{ tenantId: string; deploymentId: string; host: string }>(
  'try_kept_host',
  `INSERT INTO kept_hosts (host, tenant_id, deployment_ids) SELECT :host, :tenantId, ARRAY[:deploymentId::uuid]
WHERE NOT EXISTS (SELECT 1 FROM kept_hosts WHERE host = :host AND tenant_id = :tenantId)`,
);
