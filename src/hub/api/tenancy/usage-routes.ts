import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import {
  quotasInForce,
  type TenantQuotas,
  tenantQuotasSchema,
} from '../../../domain/policy/tenant-quotas.ts';
import { MEBIBYTE } from '../../../domain/uploads/archive-limits.ts';
import { uploadedBytes } from '../../store/builds/uploads.ts';
import { findTenant } from '../../store/tenancy/tenants.ts';
import { tenantOf } from '../core/auth.ts';
import type { ApiDeps } from '../core/deps.ts';
import { notFound } from '../core/errors.ts';
import { noQuery } from '../core/query.ts';
import { tenantUsage } from '../deployments/deployment-quota.ts';
import { errorAnswers } from '../openapi/error-schema.ts';

const usageSchema = z
  .object({
    quotas: tenantQuotasSchema.describe('Quotas. null: no limit.'),
    usage: z
      .object({
        deployments: z.int().describe('Number of deployments that are not being deleted.'),
        being_deleted: z
          .int()
          .describe(
            'Deployments that are being deleted. Volumes of these deployments count until the deletion ends.',
          ),
        cpu: z.number().describe('Requested cores at full scale, including databases and caches.'),
        memory_mb: z.int().describe('Requested memory at full scale in MiB, including databases and caches.'),
        storage_gi: z.int().describe('Storage of databases in GiB, for every existing or requested volume.'),
        kept_storage_gi: z
          .int()
          .optional()
          .describe(
            'The part of storage_gi that volumes of databases use that are switched off with database.enabled. Absent: none.',
          ),
        gpus: z
          .int()
          .optional()
          .describe(
            'GPUs and other extended resources requested at full scale. Absent: none are requested, and no quota limits them.',
          ),
        domains: z
          .int()
          .optional()
          .describe(
            'Additional hosts of deployments that are not being deleted. Absent: there are no hosts, and no quota limits them.',
          ),
        schedules: z
          .int()
          .optional()
          .describe(
            'Schedules of deployments that are not being deleted. Absent: there are no schedules, and no quota limits them.',
          ),
        uploads_mb: z
          .int()
          .optional()
          .describe(
            'Size of all stored uploaded folders in MiB. Absent: no folder is stored, and no quota limits them.',
          ),
      })
      .meta({
        id: 'UsageAmounts',
        description:
          'Usage. For a deployment that is switched off, only its storage, its hosts and its schedules count.',
      }),
  })
  .meta({ id: 'Usage', description: 'Usage and quotas of a tenant.' });

/** An amount that is shown only if it is used or limited. @param used undefined: nothing is used */
function usedOrLimited<Name extends 'gpus' | 'domains' | 'schedules' | 'uploads_mb'>(
  name: Name,
  used: number | undefined,
  quotas: TenantQuotas,
) {
  const isShown = used !== undefined || quotas[name] != null;
  return (isShown ? { [name]: used ?? 0 } : {}) as { [N in Name]?: number };
}

/** `/v2/usage`. */
export function usageRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/v2/usage',
    {
      config: { access: { scopes: ['deployments:read'] } },
      schema: {
        tags: ['tenants'],
        summary: 'Get the usage of the tenant',
        description: 'Returns the quotas of the tenant, and the total usage of its deployments.',
        querystring: noQuery,
        response: { 200: usageSchema, ...errorAnswers() },
      },
    },
    async (request) => {
      const tenantId = tenantOf(request);
      // A transaction is needed, because the usage of deployments of an older version is measured once and stored.
      return deps.database.forTenant(tenantId).transaction(async (transaction) => {
        const tenant = await findTenant(transaction, tenantId);
        if (tenant === null) throw notFound('tenant');
        const used = await tenantUsage(deps, transaction, tenantId);
        const { deployments, beingDeleted, cpuM, memoryMb, storageGi, keptGi, gpus, domains, schedules } =
          used;
        const uploadsMb = Math.ceil((await uploadedBytes(transaction, tenantId)) / MEBIBYTE);
        const quotas = quotasInForce(deps.policy.tenant_quotas, tenant.quotas);
        return {
          quotas,
          usage: {
            deployments,
            being_deleted: beingDeleted,
            cpu: cpuM / 1000,
            memory_mb: memoryMb,
            storage_gi: storageGi,
            ...(keptGi === undefined ? {} : { kept_storage_gi: keptGi }),
            ...usedOrLimited('gpus', gpus, quotas),
            ...usedOrLimited('domains', domains, quotas),
            ...usedOrLimited('schedules', schedules, quotas),
            ...usedOrLimited('uploads_mb', uploadsMb > 0 ? uploadsMb : undefined, quotas),
          },
        };
      });
    },
  );
}
