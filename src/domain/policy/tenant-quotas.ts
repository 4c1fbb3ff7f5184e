import { z } from 'zod';
import { withoutFloatNoise } from '../resource-spec/resource-spec.ts';

/**
 * Quotas of a tenant. The quotas come from the entry tenant_quotas of the policy, or from values that an admin sets for
 * the tenant.
 */

const most = (max: number) => z.number().min(0).max(max).nullable();

/** Limits for all deployments of a tenant together, based on the maximum requests of their effective resource_spec. */
export const tenantQuotasSchema = z.strictObject({
  deployments: z
    .int()
    .min(0)
    .max(1_000_000)
    .nullable()
    .describe(
      'Maximum number of deployments that are not being deleted. The total number, including deployments that are being deleted, is limited to twice this value, or to 10 more than this value if that is higher. null: no limit.',
    ),
  cpu: z
    .number()
    .overwrite(withoutFloatNoise)
    .min(0)
    .max(10_000_000)
    .nullable()
    .describe('Maximum cores requested at full scale, including data services. null: no limit.'),
  memory_mb: most(10_000_000_000).describe(
    'Maximum memory requested at full scale in MiB, including data services. null: no limit.',
  ),
  storage_gi: most(10_000_000_000).describe('Maximum storage of databases in GiB. null: no limit.'),
  gpus: z
    .int()
    .min(0)
    .max(10_000_000)
    .nullable()
    .optional()
    .describe(
      'Maximum number of GPUs and other extended resources requested at full scale. null or absent: no limit.',
    ),
  domains: z
    .int()
    .min(0)
    .max(10_000_000)
    .nullable()
    .optional()
    .describe('Maximum number of additional hosts of all deployments. null or absent: no limit.'),
  schedules: z
    .int()
    .min(0)
    .max(10_000_000)
    .nullable()
    .optional()
    .describe('Maximum number of schedules of all deployments. null or absent: no limit.'),
  uploads_mb: z
    .int()
    .min(0)
    .max(1_000_000_000)
    .nullable()
    .optional()
    .describe(
      'Maximum size of all stored uploaded folders in MiB, as they were sent. null or absent: no limit.',
    ),
});
/** null: no limit. */
export type TenantQuotas = z.infer<typeof tenantQuotasSchema>;
export type TenantQuota = keyof TenantQuotas;

/** Values for one tenant. Absent entries have the value of the policy. */
export const tenantQuotaChangesSchema = tenantQuotasSchema.partial();

/** Minimum number of deployments that may be in deletion in addition to the quota. */
const MIN_BEING_DELETED = 10;

/** Maximum number of deployments of a tenant with objects in the cluster, for this quota. */
export function maxInCluster(deployments: number): number {
  return deployments + Math.max(deployments, MIN_BEING_DELETED);
}

/** The effective quotas of a tenant. Entries of the tenant override entries of the policy. */
export function quotasInForce(policy: TenantQuotas, own: Partial<TenantQuotas>): TenantQuotas {
  return { ...policy, ...own };
}

/** Whether any quota has a limit. */
export function isLimited(quotas: Partial<TenantQuotas>): boolean {
  return Object.values(quotas).some((quota) => quota != null);
}
