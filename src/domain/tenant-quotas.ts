import { z } from 'zod';
import { withoutFloatNoise } from './resource-spec.ts';

/** What a tenant may use: the policy's entry tenant_quotas, and what an admin sets for one tenant in place of it. */

const most = (max: number) => z.number().min(0).max(max).nullable();

/** What all deployments of a tenant may use together, by what their effective resource_spec asks for at most. */
export const tenantQuotasSchema = z.strictObject({
  deployments: z
    .int()
    .min(0)
    .max(1_000_000)
    .nullable()
    .describe(
      'Most deployments that are not being deleted; as many again, and at least 10, may be on their way out. null: any number.',
    ),
  cpu: z
    .number()
    .overwrite(withoutFloatNoise)
    .min(0)
    .max(10_000_000)
    .nullable()
    .describe('Most cores requested at full scale, data services included; null: any number.'),
  memory_mb: most(10_000_000_000).describe(
    'Most memory requested at full scale, in MiB, data services included; null: any amount.',
  ),
  storage_gi: most(10_000_000_000).describe('Most storage of databases, in GiB; null: any amount.'),
});
/** null: no limit. */
export type TenantQuotas = z.infer<typeof tenantQuotasSchema>;
export type TenantQuota = keyof TenantQuotas;

/** What is set for one tenant; an entry that is absent is the policy's. */
export const tenantQuotaChangesSchema = tenantQuotasSchema.partial();

/** Deployments that may be on their way out beside any quota; more where the quota is larger. */
const LEAST_ON_THEIR_WAY_OUT = 10;

/** Most deployments of a tenant with this quota of them that something may be in the cluster of. */
export function mostInCluster(deployments: number): number {
  return deployments + Math.max(deployments, LEAST_ON_THEIR_WAY_OUT);
}

/** The quotas in force for a tenant: its own entries in place of the policy's. */
export function quotasInForce(policy: TenantQuotas, own: Partial<TenantQuotas>): TenantQuotas {
  return { ...policy, ...own };
}

/** Whether any of them limits anything. */
export function isLimited(quotas: Partial<TenantQuotas>): boolean {
  return Object.values(quotas).some((quota) => quota !== null);
}
