import { z } from 'zod';
import { APP_CONTAINER_NAME, isReservedMetadataKey, RESERVED_VOLUME_PREFIX } from '../deployment/reserved.ts';
import { containersSchema } from '../kubernetes/container.ts';
import { type ZeroLimit, zeroContainerLimits, zeroVolumeLimits } from '../kubernetes/limits.ts';
import { annotationsSchema, labelsSchema } from '../kubernetes/metadata.ts';
import { dnsSubdomainSchema } from '../kubernetes/names.ts';
import { rejectDuplicates } from '../kubernetes/unique.ts';
import { volumeMountsSchema, volumesSchema } from '../kubernetes/volume.ts';

/**
 * The schema of resource_spec: types and hard limits of single fields. Rules across fields are in spec-rules.ts, defaults in
 * effective-spec.ts, and stricter limits of a platform in the policy.
 */

/** Hard upper limits. The caps of a policy are lower. */
export const RESOURCE_LIMITS = {
  scale: 1000,
  cpu: 256,
  memoryMb: 4 * 1024 * 1024,
  storageGi: 64 * 1024,
  dbConnections: 100_000,
  imagePullSecrets: 20,
} as const;

const MILLI_PER_CORE = 1000;

/** Converts cores to millicores: 0.25 → 250. The result is exact for every value that the schema accepts. */
export function milliCpu(cores: number): number {
  return Math.round(cores * MILLI_PER_CORE);
}

/** Maximum rounding error of binary fractions, relative to the number. An intended digit is larger. */
const FLOAT_NOISE = 1e-9;

/**
 * Rounds cores to the nearest thousandth if the difference is a floating-point error. Other numbers are returned
 * unchanged.
 */
export function withoutFloatNoise(cores: number): number {
  const rounded = milliCpu(cores) / MILLI_PER_CORE;
  return Math.abs(cores - rounded) < FLOAT_NOISE * Math.abs(cores) ? rounded : cores;
}

const scale = () => z.int().min(0).max(RESOURCE_LIMITS.scale).nullish();
const wholeCpu = () => z.int().min(1).max(RESOURCE_LIMITS.cpu).nullish();
const memoryMb = () => z.int().min(1).max(RESOURCE_LIMITS.memoryMb).nullish();

function fractionalCpu() {
  return z
    .number()
    .min(1 / MILLI_PER_CORE)
    .max(RESOURCE_LIMITS.cpu)
    .refine((cores) => milliCpu(cores) / MILLI_PER_CORE === cores, 'must be a multiple of 0.001 cores')
    .nullish();
}

type IssueSink = Pick<z.core.$RefinementCtx, 'addIssue'>;

function rejectReservedKeys(map: Record<string, string>, ctx: IssueSink): void {
  for (const key of Object.keys(map).filter(isReservedMetadataKey)) {
    ctx.addIssue({ code: 'custom', path: [key], message: 'contains a reserved key' });
  }
}

function rejectAppName(containers: readonly { name: string }[], ctx: IssueSink): void {
  for (const [index, container] of containers.entries()) {
    if (container.name !== APP_CONTAINER_NAME) continue;
    ctx.addIssue({
      code: 'custom',
      path: [index, 'name'],
      message: `must not be '${APP_CONTAINER_NAME}', because the app container has this name`,
    });
  }
}

/**
 * The check for limits of 0 is not part of the schema of containers, because a custom resource that was stored with a
 * limit of 0 must remain readable.
 */
function rejectZeroLimits(found: readonly ZeroLimit[], ctx: IssueSink): void {
  for (const { path, message } of found) ctx.addIssue({ code: 'custom', path, message });
}

const appContainersSchema = containersSchema
  .superRefine(rejectAppName)
  .superRefine((containers, ctx) => rejectZeroLimits(zeroContainerLimits(containers), ctx));

const appVolumesSchema = volumesSchema.superRefine((volumes, ctx) => {
  rejectZeroLimits(zeroVolumeLimits(volumes), ctx);
  for (const [index, volume] of volumes.entries()) {
    if (!volume.name.startsWith(RESERVED_VOLUME_PREFIX)) continue;
    ctx.addIssue({
      code: 'custom',
      path: [index, 'name'],
      message: `must not begin with '${RESERVED_VOLUME_PREFIX}', because such names are reserved`,
    });
  }
});

const appVolumeMountsSchema = volumeMountsSchema.superRefine((mounts, ctx) => {
  for (const [index, mount] of mounts.entries()) {
    if (mount.mountPropagation !== 'Bidirectional') continue;
    ctx.addIssue({
      code: 'custom',
      path: [index, 'mountPropagation'],
      message: 'must not be Bidirectional, because the app container is never privileged',
    });
  }
});

const imagePullSecretsSchema = z
  .array(z.strictObject({ name: dnsSubdomainSchema.describe('Name of the Secret.') }))
  .max(RESOURCE_LIMITS.imagePullSecrets)
  .superRefine((secrets, ctx) => rejectDuplicates(secrets, (secret) => secret.name, 'name', ctx));

const OFF_ALL = 'If the maximum is positive, at least one pod runs.';

/** Sizes and placement of a deployment's pods, database and cache. A field that is absent or null has its default. */
export const resourceSpecSchema = z
  .strictObject({
    min_scale: scale().describe(`Minimum number of api pods. ${OFF_ALL}`),
    max_scale: scale().describe(
      'Maximum number of api pods. If max_scale is above min_scale, the component is autoscaled. 0 switches the ' +
        'whole ' +
        'deployment off.',
    ),
    cpu: fractionalCpu().describe('Cores that each api pod requests, in steps of 0.001.'),
    cpu_limit: fractionalCpu().describe(
      'CPU limit of each api pod in cores, in steps of 0.001. Default: twice the request.',
    ),
    memory_mb: memoryMb().describe('Memory that each api pod requests, in MiB.'),
    memory_limit_mb: memoryMb().describe('Memory limit of each api pod in MiB. Default: twice the request.'),
    queue_min_scale: scale().describe(`Minimum number of queue pods. ${OFF_ALL}`),
    queue_max_scale: scale().describe('Maximum number of queue pods. 0 switches the component off.'),
    queue_cpu: fractionalCpu().describe('Cores that each queue pod requests, in steps of 0.001.'),
    queue_cpu_limit: fractionalCpu().describe(
      'CPU limit of each queue pod in cores, in steps of 0.001. Default: twice the request.',
    ),
    queue_memory_mb: memoryMb().describe('Memory that each queue pod requests, in MiB.'),
    queue_memory_limit_mb: memoryMb().describe(
      'Memory limit of each queue pod in MiB. Default: twice the request.',
    ),
    orchestrator_cpu: wholeCpu().describe('Cores that each orchestrator pod requests.'),
    orchestrator_cpu_limit: wholeCpu().describe(
      'CPU limit of each orchestrator pod in cores. Default: twice the request.',
    ),
    orchestrator_memory_mb: memoryMb().describe('Memory that each orchestrator pod requests, in MiB.'),
    orchestrator_memory_limit_mb: memoryMb().describe(
      'Memory limit of each orchestrator pod in MiB. Default: twice the request.',
    ),
    orchestrator_min_scale: scale().describe(`Minimum number of orchestrator pods. ${OFF_ALL}`),
    orchestrator_max_scale: scale().describe(
      'Maximum number of orchestrator pods. 0 switches the component off.',
    ),
    executor_cpu: wholeCpu().describe('Cores that the executor pod requests.'),
    executor_cpu_limit: wholeCpu().describe(
      'CPU limit of the executor pod in cores. Default: twice the request.',
    ),
    executor_memory_mb: memoryMb().describe('Memory that the executor pod requests, in MiB.'),
    executor_memory_limit_mb: memoryMb().describe(
      'Memory limit of the executor pod in MiB. Default: twice the request.',
    ),
    cache_cpu: fractionalCpu().describe('Cores that the cache requests, in steps of 0.001.'),
    cache_cpu_limit: fractionalCpu().describe(
      'CPU limit of the cache in cores, in steps of 0.001. Default: twice the request.',
    ),
    cache_memory_mb: memoryMb().describe('Memory request and limit of the cache, in MiB.'),
    db_cpu: wholeCpu().describe('Cores that the database requests.'),
    db_cpu_limit: wholeCpu().describe('CPU limit of the database in cores. Default: twice the request.'),
    db_memory_mb: memoryMb().describe('Memory that the database requests, in MiB.'),
    db_memory_limit_mb: memoryMb().describe(
      'Memory limit of the database in MiB. Default: twice the request.',
    ),
    db_storage_gi: z
      .int()
      .min(1)
      .max(RESOURCE_LIMITS.storageGi)
      .nullish()
      .describe(
        'Size of the volume of the database, in GiB. The volume never shrinks. If the cluster rejects or does not finish an expansion, you can lower the size to the capacity of the volume.',
      ),
    db_max_connections: z
      .int()
      .min(1)
      .max(RESOURCE_LIMITS.dbConnections)
      .nullish()
      .describe(
        'Maximum number of database connections. Default: the number that the scales need, at least 100.',
      ),
    labels: labelsSchema
      .superRefine(rejectReservedKeys)
      .nullish()
      .describe('Labels for the app pods and their Deployments.'),
    annotations: annotationsSchema
      .superRefine(rejectReservedKeys)
      .nullish()
      .describe('Annotations for the app pods and their Deployments.'),
    service_account_name: dnsSubdomainSchema
      .nullish()
      .describe(
        'ServiceAccount of the app pods. The ServiceAccount must exist. Default: a ServiceAccount that Berth creates for the deployment.',
      ),
    image_pull_secrets: imagePullSecretsSchema.nullish().describe('Pull Secrets for the images.'),
    volumes: appVolumesSchema.nullish().describe('Volumes of the app pods.'),
    volume_mounts: appVolumeMountsSchema.nullish().describe('Volume mounts of the app container.'),
    init_containers: appContainersSchema.nullish().describe('Containers that run before the app, in order.'),
    sidecars: appContainersSchema.nullish().describe('Containers that run next to the app container.'),
  })
  .describe('Sizes and placement of pods, database and cache.');

/** resource_spec as it is sent and stored. A field that is absent or null has its default. */
export type ResourceSpec = z.infer<typeof resourceSpecSchema>;
export type ResourceSpecField = keyof ResourceSpec;

/** All fields of resource_spec, in the order of the contract. */
export const RESOURCE_SPEC_FIELDS = Object.keys(resourceSpecSchema.shape) as ResourceSpecField[];
