import type { TenantUsage } from '../../../../domain/policy/quota-usage.ts';
import { statement } from '../../core/statement.ts';

/**
 * The sums of one deployment and of all others, and the deployments that are not included in the sums. The sums are
 * exact up to 2^53. A volume that is larger than requested, such as after an expansion that was reverted too late,
 * counts with its actual size.
 */
export const sumUsageStatement = statement<
  { tenantId: string; deploymentId: string },
  TenantUsage & { own: boolean; unmeasured: string[] }
>(
  'sum_usage',
  `WITH hosts AS (
  SELECT deployment_id = :deploymentId AS own, count(*) AS number FROM deployment_hosts
  WHERE tenant_id = :tenantId AND extra GROUP BY 1
)
SELECT d.id = :deploymentId AS own,
  count(*) FILTER (WHERE d.delete_requested_at IS NULL)::int AS deployments,
  count(d.delete_requested_at)::int AS "beingDeleted",
  coalesce(sum(d.quota_cpu_m) FILTER (WHERE d.runs AND d.measured), 0)::bigint AS "cpuM",
  coalesce(sum(d.quota_memory_mb) FILTER (WHERE d.runs AND d.measured), 0)::bigint AS "memoryMb",
  coalesce(sum(greatest(d.quota_storage_gi, d.volume_gi)) FILTER (WHERE d.measured), 0)::bigint AS "storageGi",
  coalesce(sum(greatest(d.quota_storage_gi, d.volume_gi))
    FILTER (WHERE d.measured AND d.source_config->'database'->>'enabled' = 'false'), 0)::bigint AS "keptGi",
  coalesce(sum(d.quota_gpus) FILTER (WHERE d.runs AND d.measured), 0)::bigint AS gpus,
  coalesce(max(h.number), 0)::int AS domains,
  coalesce(sum(jsonb_array_length(d.source_config->'schedules')) FILTER (WHERE d.runs), 0)::int AS schedules,
  coalesce(array_agg(d.id) FILTER (WHERE NOT d.measured), '{}') AS unmeasured
FROM (
  SELECT *, delete_requested_at IS NULL AS runs,
    quota_cpu_m IS NOT NULL AND quota_gpus_generation IS NOT DISTINCT FROM generation AS measured
  FROM deployments WHERE tenant_id = :tenantId
) d LEFT JOIN hosts h ON h.own = (d.id = :deploymentId)
GROUP BY 1`,
);
