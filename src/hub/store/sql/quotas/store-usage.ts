import { statement } from '../../core/statement.ts';

/**
 * Stores measured usage. Each parameter has one value per deployment. Locked rows are skipped, because a transaction
 * that changes the deployment of a locked row may wait for the tenant lock of this transaction.
 */
export const storeUsageStatement = statement<{
  tenantId: string;
  deploymentIds: readonly string[];
  generations: readonly number[];
  cpuM: readonly number[];
  memoryMb: readonly number[];
  storageGi: readonly number[];
  gpus: readonly number[];
}>(
  'store_usage',
  `WITH free AS (
  SELECT id FROM deployments WHERE tenant_id = :tenantId AND id = ANY(:deploymentIds::uuid[])
  FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE deployments d SET quota_cpu_m = m.cpu_m, quota_memory_mb = m.memory_mb, quota_storage_gi = m.storage_gi,
  quota_gpus = m.gpus, quota_gpus_generation = m.generation
FROM unnest(:deploymentIds::uuid[], :generations::int[], :cpuM::bigint[], :memoryMb::bigint[], :storageGi::bigint[],
    :gpus::bigint[]) AS m(id, generation, cpu_m, memory_mb, storage_gi, gpus) JOIN free ON free.id = m.id
WHERE d.id = m.id AND d.generation = m.generation AND 
  (d.quota_cpu_m IS NULL OR d.quota_gpus_generation IS DISTINCT FROM d.generation)`,
);
