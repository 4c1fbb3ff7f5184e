import type { Transaction } from '../core/database.ts';
import { and, eq, isNotNull } from '../core/drizzle.ts';
import { type Actor, appendEvents } from '../core/events.ts';
import {
  apiKeys,
  deployments,
  deploymentTagValues,
  integrations,
  listeners,
  tagKeys,
  tagValues,
  tenants,
  tombstones,
  tracingProjects,
} from '../core/schema.ts';
import { CONFIGURED_KEY_NAMES } from './api-keys.ts';
import { deleteTracingProject } from './tracing-projects.ts';

/** Objects that block the deletion of a tenant. A separate call must delete each of these objects before the tenant. */
export interface TenantObstacles {
  /**
   * Number of deployments, including deployments that are being deleted, because their objects are still in the
   * cluster.
   */
  readonly deployments: number;
  /** Number of listeners of the tenant. */
  readonly listeners: number;
  /**
   * Number of deployments that were deleted with keep_workloads and not released since then. Hosts and images of these
   * deployments are reserved for the tenant.
   */
  readonly kept: number;
}

/**
 * Objects that are deleted with the tenant. API keys and stored responses for Idempotency-Keys are deleted by cascade.
 */
const OWNED = [integrations, deploymentTagValues, tagValues, tagKeys] as const;

/**
 * Deletes a tenant with its API keys, tags, integrations and tracing projects, and notifies the tracing backend of
 * these. The history is kept, and objects of the deployments of the tenant are still recognized in clusters. Platform
 * scope.
 * @returns null when the tenant was deleted, `missing` when no tenant has this id, or the objects that block the
 * deletion, if nothing was changed
 */
export async function deleteTenant(
  transaction: Transaction,
  id: string,
  actor: Actor,
): Promise<TenantObstacles | 'missing' | null> {
  // Every object that refers to the tenant is created under a lock that conflicts with this lock.
  const { drizzle } = transaction;
  const isTenant = eq(tenants.id, id);
  const [tenant] = await drizzle.select({ name: tenants.name }).from(tenants).where(isTenant).for('update');
  if (tenant === undefined) return 'missing';
  // Deployments are counted before tombstones, because a deployment that ends meanwhile becomes a tombstone.
  const obstacles: TenantObstacles = {
    deployments: await drizzle.$count(deployments, eq(deployments.tenantId, id)),
    listeners: await drizzle.$count(listeners, eq(listeners.tenantId, id)),
    kept: await drizzle.$count(
      tombstones,
      and(eq(tombstones.tenantId, id), eq(tombstones.keptWorkloads, true)),
    ),
  };
  if (Object.values(obstacles).some((count) => count > 0)) return obstacles;
  const projects = await drizzle
    .select({ id: tracingProjects.id })
    .from(tracingProjects)
    .where(eq(tracingProjects.tenantId, id))
    .orderBy(tracingProjects.id);
  for (const project of projects) await deleteTracingProject(transaction, id, project.id, actor);
  for (const table of OWNED) await drizzle.delete(table).where(eq(table.tenantId, id));
  // Revoked keys of the settings are kept. Otherwise, the next process would create the keys again.
  await drizzle
    .update(apiKeys)
    .set({ tenantId: null })
    .where(
      and(
        eq(apiKeys.tenantId, id),
        eq(apiKeys.name, CONFIGURED_KEY_NAMES.bootstrap),
        isNotNull(apiKeys.revokedAt),
      ),
    );
  await drizzle.delete(tenants).where(isTenant);
  const message = `Tenant ${tenant.name} was deleted.`;
  const details = { name: tenant.name };
  await appendEvents(transaction, [{ tenantId: id, actor, reason: 'TenantDeleted', message, details }]);
  return null;
}
