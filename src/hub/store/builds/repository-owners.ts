import type { Reader } from '../core/database.ts';
import { and, eq, isNull, or } from '../core/drizzle.ts';
import { deployments, tombstones } from '../core/schema.ts';

/** The owner of a repository in the platform's registry. */
export interface RepositoryOwner {
  readonly id: string;
  readonly tenantId: string;
  readonly appName: string;
}

/**
 * The deployment that owns a repository; null: the deployment is deleted, being deleted, or belongs to another tenant.
 * @param onlyPulls also finds deployments that were deleted with keep_workloads, because their pods still pull images
 */
export async function findRepositoryOwner(
  reader: Reader,
  tenantId: string,
  deploymentId: string,
  onlyPulls: boolean,
): Promise<RepositoryOwner | null> {
  const { drizzle } = reader;
  const owner = drizzle
    .select({ id: deployments.id, tenantId: deployments.tenantId, appName: deployments.appName })
    .from(deployments)
    .where(
      and(
        eq(deployments.tenantId, tenantId),
        eq(deployments.id, deploymentId),
        or(
          isNull(deployments.deleteRequestedAt),
          onlyPulls ? eq(deployments.keepWorkloads, true) : undefined,
        ),
      ),
    );
  const formerOwner = drizzle
    .select({ id: tombstones.id, tenantId: tombstones.tenantId, appName: tombstones.appName })
    .from(tombstones)
    .where(
      and(
        eq(tombstones.tenantId, tenantId),
        eq(tombstones.id, deploymentId),
        eq(tombstones.keptWorkloads, true),
      ),
    );
  const [found] = await (onlyPulls ? owner.unionAll(formerOwner) : owner);
  return found ?? null;
}
