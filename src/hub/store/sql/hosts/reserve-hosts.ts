import { statement } from '../../core/statement.ts';

/** Reserves the given hosts, or the current hosts of each deployment. A host that no cluster has received is available. */
export const reserveHostsStatement = statement<{
  tenantId: string;
  deploymentIds: readonly string[];
  /** null: the current hosts of each deployment. */
  hosts: readonly string[] | null;
}>(
  'reserve_hosts',
  `INSERT INTO leaving_hosts (host, tenant_id, deployment_id, generation)
SELECT h.host, d.tenant_id, d.id, d.generation FROM deployments d
  CROSS JOIN LATERAL (
    SELECT unnest(coalesce(:hosts::text[], array_append(
      ARRAY(SELECT jsonb_array_elements_text(d.source_config -> 'domains')), d.route_host))) AS host
  ) h
WHERE d.tenant_id = :tenantId AND d.id = ANY(:deploymentIds::uuid[]) AND d.spec_hash IS NOT NULL AND h.host IS NOT NULL
ORDER BY h.host
ON CONFLICT (host) DO NOTHING`,
);
