import type { Transaction } from '../core/database.ts';
import { type Actor, appendEvents } from '../core/events.ts';
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

const LOCK = 'SELECT name FROM tenants WHERE id = $1 FOR UPDATE';

const OBSTACLES = `
SELECT (SELECT count(*)::int FROM deployments WHERE tenant_id = $1) AS deployments,
  (SELECT count(*)::int FROM listeners WHERE tenant_id = $1) AS listeners,
  (SELECT count(*)::int FROM tombstones WHERE tenant_id = $1 AND kept_workloads) AS kept`;

/**
 * Objects that are deleted with the tenant. API keys and stored responses for Idempotency-Keys are deleted by cascade.
 */
const OWNED = ['integrations', 'deployment_tag_values', 'tag_values', 'tag_keys'];

/** Stores revoked keys of the settings. Without this record, the next process would create the keys again. */
const KEEP_REVOKED =
  'UPDATE api_keys SET tenant_id = NULL WHERE tenant_id = $1 AND name = $2 AND revoked_at IS NOT NULL';

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
  const [tenant] = await transaction.query<{ name: string }>(LOCK, [id]);
  if (tenant === undefined) return 'missing';
  const [obstacles] = await transaction.query<TenantObstacles>(OBSTACLES, [id]);
  if (obstacles !== undefined && Object.values(obstacles).some((count) => count > 0)) return obstacles;
  const projects = await transaction.query<{ id: string }>(
    'SELECT id FROM tracing_projects WHERE tenant_id = $1 ORDER BY id',
    [id],
  );
  for (const project of projects) await deleteTracingProject(transaction, id, project.id, actor);
  for (const table of OWNED) await transaction.query(`DELETE FROM ${table} WHERE tenant_id = $1`, [id]);
  await transaction.query(KEEP_REVOKED, [id, CONFIGURED_KEY_NAMES.bootstrap]);
  await transaction.query('DELETE FROM tenants WHERE id = $1', [id]);
  const message = `Tenant ${tenant.name} was deleted.`;
  const details = { name: tenant.name };
  await appendEvents(transaction, [{ tenantId: id, actor, reason: 'TenantDeleted', message, details }]);
  return null;
}
