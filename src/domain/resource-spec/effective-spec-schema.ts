import { z } from 'zod';
import { containerSchema } from '../kubernetes/container.ts';
import { volumeMountSchema, volumeSchema } from '../kubernetes/volume.ts';

const whole = () => z.int();
const cores = () => z.number();

/**
 * resource_spec with its defaults. Fields of a component that does not exist are null. The values have the units of
 * resource_spec.
 */
export const effectiveResourceSpecSchema = z
  .strictObject({
    min_scale: whole(),
    max_scale: whole(),
    cpu: cores(),
    cpu_limit: cores(),
    memory_mb: whole(),
    memory_limit_mb: whole(),
    queue_min_scale: whole().nullable(),
    queue_max_scale: whole().nullable(),
    queue_cpu: cores().nullable(),
    queue_cpu_limit: cores().nullable(),
    queue_memory_mb: whole().nullable(),
    queue_memory_limit_mb: whole().nullable(),
    orchestrator_cpu: whole().nullable(),
    orchestrator_cpu_limit: whole().nullable(),
    orchestrator_memory_mb: whole().nullable(),
    orchestrator_memory_limit_mb: whole().nullable(),
    orchestrator_min_scale: whole().nullable(),
    orchestrator_max_scale: whole().nullable(),
    executor_cpu: whole().nullable(),
    executor_cpu_limit: whole().nullable(),
    executor_memory_mb: whole().nullable(),
    executor_memory_limit_mb: whole().nullable(),
    cache_cpu: cores(),
    cache_cpu_limit: cores(),
    cache_memory_mb: whole(),
    db_cpu: whole(),
    db_cpu_limit: whole(),
    db_memory_mb: whole(),
    db_memory_limit_mb: whole(),
    db_storage_gi: whole(),
    db_max_connections: whole(),
    db_pool_size: whole().describe('DATABASE_POOL_SIZE: maximum number of connections of each pod.'),
    labels: z.record(z.string(), z.string()),
    annotations: z.record(z.string(), z.string()),
    service_account_name: z.string().nullable(),
    image_pull_secrets: z.array(z.strictObject({ name: z.string() })),
    volumes: z.array(volumeSchema),
    volume_mounts: z.array(volumeMountSchema),
    init_containers: z.array(containerSchema),
    sidecars: z.array(containerSchema),
  })
  .describe('resource_spec with all defaults. The deployment runs with these values.');
export type EffectiveResourceSpec = z.infer<typeof effectiveResourceSpecSchema>;
