import type { Reader } from '../core/database.ts';
import { and, eq, inArray } from '../core/drizzle.ts';
import { deployments, revisions } from '../core/schema.ts';

/** Revisions whose builds are not finished. */

interface BuildRef {
  readonly listenerId: string;
  readonly deploymentId: string;
  readonly revisionId: string;
}

/** The tenant of a revision of this listener whose image is not built yet. null: there is no such revision. */
export async function findUnbuilt(
  reader: Reader,
  { listenerId, deploymentId, revisionId }: BuildRef,
): Promise<string | null> {
  const [row] = await reader.drizzle
    .select({ tenantId: deployments.tenantId })
    .from(revisions)
    .innerJoin(deployments, eq(deployments.id, revisions.deploymentId))
    .where(
      and(
        eq(revisions.id, revisionId),
        eq(deployments.id, deploymentId),
        eq(deployments.listenerId, listenerId),
        inArray(revisions.status, ['AWAITING_BUILD', 'BUILDING']),
      ),
    );
  return row?.tenantId ?? null;
}
