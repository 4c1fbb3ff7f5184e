import { z } from 'zod';

const most = z.number().min(0);

/** What all deployments of a tenant may use together, by what their effective resource_spec asks for at most. */
export const tenantQuotasSchema = z.strictObject({
  deployments: z.int().min(0).max(1_000_000).describe('Most deployments that are not being deleted.'),
  cpu: most.max(10_000_000).describe('Most cores requested at full scale, data services included.'),
  memory_mb: most.max(10_000_000_000).describe('Most memory requested at full scale, in MiB.'),
  storage_gi: most.max(10_000_000_000).describe('Most storage of databases, in GiB.'),
});
export type TenantQuotas = z.infer<typeof tenantQuotasSchema>;
