import { uuidv7 } from '../../../domain/core/id.ts';
import type { Reader, Transaction } from '../core/database.ts';
import { and, desc, eq } from '../core/drizzle.ts';
import { type Actor, actorColumns } from '../core/events.ts';
import type { Page } from '../core/records.ts';
import { tracingProjects } from '../core/schema.ts';
import { OUTBOX_CHANNEL } from './outbox.ts';

export type TracingProject = typeof tracingProjects.$inferSelect;

/**
 * The tenant's tracing project with this name. The project is created if it does not exist. (A POST of a deployment
 * creates the project within the statement of the POST.)
 */
export async function ensureTracingProject(
  transaction: Transaction,
  tenantId: string,
  name: string,
): Promise<TracingProject> {
  const [project] = await transaction.drizzle
    .insert(tracingProjects)
    .values({ id: uuidv7(), tenantId, name })
    .onConflictDoUpdate({ target: [tracingProjects.tenantId, tracingProjects.name], set: { name } })
    .returning();
  if (project === undefined)
    throw new Error('failed to ensure a tracing project: the statement returned no row');
  return project;
}

const own = (tenantId: string, id: string) =>
  and(eq(tracingProjects.id, id), eq(tracingProjects.tenantId, tenantId));

export async function findTracingProject(
  reader: Reader,
  tenantId: string,
  id: string,
): Promise<TracingProject | null> {
  const [project] = await reader.drizzle.select().from(tracingProjects).where(own(tenantId, id));
  return project ?? null;
}

/** Newest first. */
export function listTracingProjects(
  reader: Reader,
  tenantId: string,
  { limit, offset }: Page,
): Promise<TracingProject[]> {
  return reader.drizzle
    .select()
    .from(tracingProjects)
    .where(eq(tracingProjects.tenantId, tenantId))
    .orderBy(desc(tracingProjects.id))
    .limit(limit)
    .offset(offset);
}

/** The lock is a separate statement, so that the next statement sees changes that were committed during the wait. */
const LOCK = 'SELECT 1 FROM tracing_projects WHERE id = $2 AND tenant_id = $1 FOR UPDATE';

/** The tracing backend is notified only of projects that it may know. */
const deletion = (more: string) => `
WITH gone AS (
  DELETE FROM tracing_projects p WHERE p.id = $2 AND p.tenant_id = $1 ${more}
  RETURNING id, tenant_id, name, backend_id, backend_synced_at
), message AS (
  INSERT INTO outbox (id, tenant_id, kind, subject_id, payload)
  SELECT $3::uuid, tenant_id, 'tracing_project.deleted', id,
    jsonb_build_object('name', name, 'backend_id', backend_id)
  FROM gone
  WHERE backend_synced_at IS NOT NULL OR EXISTS (SELECT 1 FROM outbox o WHERE o.subject_id = gone.id)
), event AS (
  INSERT INTO events (id, tenant_id, actor_kind, actor_id, actor_name, reason, message, details)
  SELECT $4::uuid, tenant_id, $5::text, $6::uuid, $7::text, 'TracingProjectDeleted',
    'Tracing project ' || name || ' was deleted.', jsonb_build_object('tracing_project_id', id)
  FROM gone
)
SELECT id, pg_notify('${OUTBOX_CHANNEL}', '') FROM gone`;

const DELETE = deletion('');
const DELETE_UNUSED = deletion(
  'AND NOT EXISTS (SELECT 1 FROM deployments d WHERE d.tracing_project_id = p.id)',
);

async function remove(
  transaction: Transaction,
  statement: string,
  { tenantId, id, actor }: { tenantId: string; id: string; actor: Actor },
): Promise<boolean> {
  const { actorKind, actorId, actorName } = actorColumns(actor);
  await transaction.query(LOCK, [tenantId, id]);
  const deleted = await transaction.query(statement, [
    tenantId,
    id,
    uuidv7(),
    uuidv7(),
    actorKind,
    actorId,
    actorName,
  ]);
  return deleted.length > 0;
}

/**
 * Deletes a tracing project, with its event and the message to the tracing backend; false when the tenant has no
 * project with this id.
 * @throws ReferenceViolation while a deployment uses it
 */
export function deleteTracingProject(
  transaction: Transaction,
  tenantId: string,
  id: string,
  actor: Actor,
): Promise<boolean> {
  return remove(transaction, DELETE, { tenantId, id, actor });
}

/**
 * Deletes a tracing project like `deleteTracingProject`, but has no effect and returns false while a deployment uses
 * it.
 */
export function deleteUnusedTracingProject(
  transaction: Transaction,
  tenantId: string,
  id: string,
  actor: Actor,
): Promise<boolean> {
  return remove(transaction, DELETE_UNUSED, { tenantId, id, actor });
}
