import { z } from 'zod';
import { withoutFloatNoise } from '../resource-spec/resource-spec.ts';

/** Quotas of a tenant: the entry tenant_quotas of the policy, and values that an admin sets for one tenant instead. */

const most = (max: number) => z.number().min(0).max(max).nullable();

/** What all deployments of a tenant may use together, by what their effective resource_spec asks for at most. */
export const tenantQuotasSchema = z.strictObject({
  deployments: z
    .int()
    .min(0)
    .max(1_000_000)
    .nullable()
    .describe(
      'Maximum number of deployments that are not being deleted. Including those that are being deleted, twice as many are allowed, or 10 more if that is more. null: no limit.',
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
});
/** null: no limit. */
export type TenantQuotas = z.infer<typeof tenantQuotasSchema>;
export type TenantQuota = keyof TenantQuotas;

/** What is set for one tenant; an entry that is absent is the policy's. */
export const tenantQuotaChangesSchema = tenantQuotasSchema.partial();

/** Deployments that may be on their way out beside any quota; more where the quota is larger. */
const MIN_BEING_DELETED = 10;

/** Most deployments of a tenant with this quota of them that something may be in the cluster of. */
export function maxInCluster(deployments: number): number {
  return deployments + Math.max(deployments, MIN_BEING_DELETED);
}

/** The quotas in force for a tenant: its own entries in place of the policy's. */
export function quotasInForce(policy: TenantQuotas, own: Partial<TenantQuotas>): TenantQuotas {
  return { ...policy, ...own };
}

/** Whether any of them limits anything. */
export function isLimited(quotas: Partial<TenantQuotas>): boolean {
  return Object.values(quotas).some((quota) => quota !== null);
}
