import { uuidv7 } from '../../../domain/core/id.ts';
import type { Reader, Transaction } from '../core/database.ts';
import { and, desc, eq } from '../core/drizzle.ts';
import { type Actor, actorColumns } from '../core/events.ts';
import type { Page } from '../core/records.ts';
import { tracingProjects } from '../core/schema.ts';
import { deleteProjectStatement, deleteUnusedProjectStatement } from '../sql/tenancy/delete-project.ts';

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

async function remove(
  transaction: Transaction,
  statement: typeof deleteProjectStatement,
  { tenantId, id, actor }: { tenantId: string; id: string; actor: Actor },
): Promise<boolean> {
  // The lock is a separate statement, so that the next statement sees changes that were committed during the wait.
  await transaction.drizzle
    .select({ id: tracingProjects.id })
    .from(tracingProjects)
    .where(own(tenantId, id))
    .for('update');
  const deleted = await transaction.run(statement, {
    tenantId,
    projectId: id,
    messageId: uuidv7(),
    eventId: uuidv7(),
    ...actorColumns(actor),
  });
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
  return remove(transaction, deleteProjectStatement, { tenantId, id, actor });
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
  return remove(transaction, deleteUnusedProjectStatement, { tenantId, id, actor });
}
