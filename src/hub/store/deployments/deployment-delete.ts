import { uuidv7 } from '../../../domain/core/id.ts';
import type { Transaction } from '../core/database.ts';
import { and, eq, inArray, isNotNull, or, sql } from '../core/drizzle.ts';
import { type Actor, actorColumns, appendEvents } from '../core/events.ts';
import type { DeploymentRecord } from '../core/records.ts';
import { deployments } from '../core/schema.ts';
import { keepWorkloadsStatement } from '../sql/deployments/keep-workloads.ts';
import { requestDeletionsStatement } from '../sql/deployments/request-deletions.ts';
import { reserveHosts } from './host-reservations.ts';

/**
 * The first part of a deletion, which is the request. The name is then available. Within the grace period, only pods
 * are removed from the cluster, so that the deployment can be restored (deployment-restore.ts). When the grace period
 * ends, the purge is due. deployment-remove.ts is the second part. Successive deployments with the same name share a
 * tracing project. The project is deleted with the record of the last of these deployments, if the last request asked
 * for the deletion of the project. Therefore each deletion replaces the choice of the other deployments that are being
 * deleted. A repeated request can only add the deletion of the project. A new or restored deployment keeps the project
 * until its own deletion.
 */

const own = (tenantId: string, deploymentIds: readonly string[]) =>
  and(eq(deployments.tenantId, tenantId), inArray(deployments.id, deploymentIds));

/** Deployments of the same tracing projects as these deployments. */
const sharesProject = (transaction: Transaction, tenantId: string, deploymentIds: readonly string[]) =>
  inArray(
    deployments.tracingProjectId,
    transaction.drizzle
      .select({ tracingProjectId: deployments.tracingProjectId })
      .from(deployments)
      .where(own(tenantId, deploymentIds)),
  );

/**
 * Locks the rows in the order of their ids, as in all code that locks several deployments. The rows include deployments
 * that are being deleted and share a tracing project.
 */
const lock = (transaction: Transaction, tenantId: string, deploymentIds: readonly string[]) =>
  transaction.drizzle
    .select({
      id: deployments.id,
      generation: deployments.generation,
      deleting: sql<boolean>`${deployments.deleteRequestedAt} IS NOT NULL`,
    })
    .from(deployments)
    .where(
      and(
        eq(deployments.tenantId, tenantId),
        or(inArray(deployments.id, deploymentIds), isNotNull(deployments.deleteRequestedAt)),
        sharesProject(transaction, tenantId, deploymentIds),
      ),
    )
    .orderBy(deployments.id)
    .for('update');

/** Adds the deletion of the tracing projects to earlier requests. @returns the changed deployments */
const requestProjectDeletion = (
  transaction: Transaction,
  tenantId: string,
  deploymentIds: readonly string[],
) =>
  transaction.drizzle
    .update(deployments)
    .set({ deleteTracingProject: true })
    .where(
      and(
        eq(deployments.tenantId, tenantId),
        isNotNull(deployments.deleteRequestedAt),
        eq(deployments.deleteTracingProject, false),
        sharesProject(transaction, tenantId, deploymentIds),
      ),
    )
    .returning({ id: deployments.id, name: deployments.name });

/** Records who changed an earlier deletion request, and how. */
function recordRepeated(
  transaction: Transaction,
  tenantId: string,
  changed: readonly Pick<DeploymentRecord, 'id' | 'name'>[],
  actor: Actor,
  details: { keep_workloads: true } | { delete_tracing_project: true },
): Promise<void> {
  const how = 'keep_workloads' in details ? 'its workloads are kept' : 'its tracing project is deleted too';
  return appendEvents(
    transaction,
    changed.map(({ id, name }) => ({
      tenantId,
      deploymentId: id,
      actor,
      reason: 'DeletionRequested',
      message: `Deletion of ${name} was requested again: ${how}.`,
      details,
    })),
  );
}

export interface DeletionRequest {
  /** Whether to also delete the tracing project, when no other deployment uses it. */
  deleteTracingProject: boolean;
  /**
   * Grace period in seconds. Before the end of the grace period, only pods are removed, so that the deployment can be
   * restored.
   */
  graceSeconds?: number;
  /**
   * Whether only the custom resource is removed from the cluster, at once. The workloads and their data remain in the
   * cluster, and Berth no longer manages them.
   */
  keepWorkloads?: boolean;
  actor: Actor;
  /**
   * Called with the generation of each existing deployment, while its row is locked. If the function throws, nothing is
   * deleted.
   */
  check?: (generation: number) => void;
}

/**
 * `already`: the deletion was requested before, and only deleteTracingProject changes, if it is true. `too_late`: the
 * deletion was requested before, and the workloads can no longer be kept. `missing`: the tenant has no deployment with
 * this id.
 */
export type DeletionOutcome = 'requested' | 'already' | 'too_late' | 'missing';

/**
 * Requests the deletion of deployments. If one request fails, no deployment is deleted. The grace period of an earlier
 * request is unchanged.
 * @param deploymentIds ids without duplicates, compared without case
 */
export async function requestDeletions(
  transaction: Transaction,
  tenantId: string,
  deploymentIds: readonly string[],
  request: DeletionRequest,
): Promise<Map<string, DeletionOutcome>> {
  const rows = deploymentIds.length === 0 ? [] : await lock(transaction, tenantId, deploymentIds);
  const locked = new Map(rows.map((row) => [row.id, row]));
  const outcomes = new Map(
    deploymentIds.map((id): [string, DeletionOutcome] => {
      const row = locked.get(id.toLowerCase());
      if (row === undefined) return [id, 'missing'];
      request.check?.(row.generation);
      return [id, row.deleting ? 'already' : 'requested'];
    }),
  );
  const of = (wanted: DeletionOutcome) =>
    [...outcomes].flatMap(([id, outcome]) => (outcome === wanted ? [id] : []));
  const { deleteTracingProject, keepWorkloads = false } = request;
  const graceSeconds = keepWorkloads ? 0 : (request.graceSeconds ?? 0);
  const requested = of('requested');
  if (requested.length > 0) {
    await transaction.run(requestDeletionsStatement, {
      tenantId,
      deploymentIds: requested,
      eventIds: requested.map(() => uuidv7()),
      deleteTracingProject,
      graceSeconds,
      keepWorkloads,
      ...actorColumns(request.actor),
    });
  }
  if (requested.length > 0) await reserveHosts(transaction, tenantId, requested);
  const already = of('already');
  if (keepWorkloads && already.length > 0) {
    const rows = await transaction.run(keepWorkloadsStatement, { tenantId, deploymentIds: already });
    const [kept, purged] = [rows.filter((row) => row.kept), rows.filter((row) => !row.kept)];
    await recordRepeated(transaction, tenantId, kept, request.actor, { keep_workloads: true });
    const lost = new Set(purged.map(({ id }) => id));
    for (const id of already) if (lost.has(id.toLowerCase())) outcomes.set(id, 'too_late');
  }
  if (deleteTracingProject && already.length > 0) {
    const rows = await requestProjectDeletion(transaction, tenantId, already);
    const asked = new Set(already.map((id) => id.toLowerCase()));
    const changed = rows.filter(({ id }) => asked.has(id));
    await recordRepeated(transaction, tenantId, changed, request.actor, { delete_tracing_project: true });
  }
  return outcomes;
}

/** Requests the deletion of one deployment, like `requestDeletions`. */
export async function requestDeletion(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
  request: DeletionRequest,
): Promise<DeletionOutcome> {
  const outcomes = await requestDeletions(transaction, tenantId, [deploymentId], request);
  return outcomes.get(deploymentId) ?? 'missing';
}
