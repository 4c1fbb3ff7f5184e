import type { Transaction } from '../core/database.ts';
import { type Actor, appendEvents } from '../core/events.ts';
import { CONFIGURED_KEY_NAMES } from './api-keys.ts';
import { deleteTracingProject } from './tracing-projects.ts';

/** What keeps a tenant from being deleted; each must be removed by its own call first. */
export interface TenantObstacles {
  /** Those that are being deleted included: their cluster is not clean yet. */
  readonly deployments: number;
  /** The tenant's own. */
  readonly listeners: number;
  /** Left with keep_workloads, and not given up since: their hosts and images are kept in its name. */
  readonly kept: number;
}

const LOCK = 'SELECT name FROM tenants WHERE id = $1 FOR UPDATE';

const OBSTACLES = `
SELECT (SELECT count(*)::int FROM deployments WHERE tenant_id = $1) AS deployments,
  (SELECT count(*)::int FROM listeners WHERE tenant_id = $1) AS listeners,
  (SELECT count(*)::int FROM tombstones WHERE tenant_id = $1 AND kept_workloads) AS kept`;

/** What means nothing without the tenant. The rest goes by cascade: API keys, answers kept for Idempotency-Keys. */
const OWNED = ['integrations', 'deployment_tag_values', 'tag_values', 'tag_keys'];

/** A key that the settings name would be made anew by the next process, as good as new, if nobody knew that it was revoked. */
const KEEP_REVOKED =
  'UPDATE api_keys SET tenant_id = NULL WHERE tenant_id = $1 AND name = $2 AND revoked_at IS NOT NULL';

/**
 * Deletes a tenant with its API keys, tags, integrations and tracing projects; the tracing backend is told of these. Its
 * history stays, and what is left of its deployments is still recognised in clusters. Platform scope.
 * @returns null when it is gone, `missing` when there is none of this id, or what is in the way: then nothing changes
 */
export async function deleteTenant(
  transaction: Transaction,
  id: string,
  actor: Actor,
): Promise<TenantObstacles | 'missing' | null> {
  // Whatever refers to the tenant is made under a lock that waits for this one, or that this one waits for.
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
