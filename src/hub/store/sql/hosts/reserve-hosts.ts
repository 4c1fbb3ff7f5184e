import { statement } from '../../core/statement.ts';

/** Reserves the given host, or the current host of each deployment. A host that no cluster has received is available. */
export const reserveHostsStatement = statement<{
  tenantId: string;
  deploymentIds: readonly string[];
  /** null: the current host of each deployment. */
  host: string | null;
}>(
  'reserve_hosts',
  `INSERT INTO leaving_hosts (host, tenant_id, deployment_id, generation)
SELECT h.host, d.tenant_id, d.id, d.generation FROM deployments d
  CROSS JOIN LATERAL (SELECT coalesce(:host::text, d.route_host) AS host) h
WHERE d.tenant_id = :tenantId AND d.id = ANY(:deploymentIds::uuid[]) AND d.spec_hash IS NOT NULL AND h.host IS NOT NULL
ON CONFLICT (host) DO NOTHING`,
);
