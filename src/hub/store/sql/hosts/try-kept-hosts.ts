import { statement } from '../../core/statement.ts';

/**
 * Keeps hosts, which fails if another tenant keeps one of them. If the same tenant has already kept a host, no second row is
 * added.
 */
export const tryKeptHostsStatement = statement<{
  tenantId: string;
  deploymentId: string;
  hosts: readonly string[];
}>(
  'try_kept_hosts',
  `INSERT INTO kept_hosts (host, tenant_id, deployment_ids)
SELECT h.host, :tenantId, ARRAY[:deploymentId::uuid] FROM unnest(:hosts::text[]) AS h(host)
WHERE NOT EXISTS (SELECT 1 FROM kept_hosts k WHERE k.host = h.host AND k.tenant_id = :tenantId)
ORDER BY h.host`,
);
