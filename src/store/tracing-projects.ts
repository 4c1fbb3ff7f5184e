import { and, desc, eq } from 'drizzle-orm';
import { uuidv7 } from '../domain/id.ts';
import type { Reader, Transaction } from './database.ts';
import type { Page } from './records.ts';
import { tracingProjects } from './schema.ts';

export type TracingProject = typeof tracingProjects.$inferSelect;

/** The tenant's tracing project of this name, made if there is none. (A POST does this within its own statement.) */
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
  if (project === undefined) throw new Error('failed to ensure a tracing project: no row came back');
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

/**
 * Deletes a tracing project; false when this tenant has none of this id.
 * @throws ReferenceViolation while a deployment uses it
 */
export async function deleteTracingProject(
  transaction: Transaction,
  tenantId: string,
  id: string,
): Promise<boolean> {
  const deleted = await transaction.drizzle
    .delete(tracingProjects)
    .where(own(tenantId, id))
    .returning({ id: tracingProjects.id });
  return deleted.length > 0;
}
