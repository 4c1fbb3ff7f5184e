import type { ClusterReport } from '../../../domain/deployment/cluster-report.ts';
import { isTerminalStatus } from '../../../domain/revision/states.ts';
import type { Transaction } from '../core/database.ts';
import type { FactsChange } from '../listeners/listener-report-rows.ts';
import { recordRemovedEnvironmentsStatement } from '../sql/deployments/record-removed-environments.ts';
import { requeueLeftoversStatement } from '../sql/deployments/requeue-leftovers.ts';
import { KEPT_REVISIONS } from '../sql/fragments/desired-revision.ts';

/**
 * Finds environments (Secrets, one per revision) that are left over in the cluster. The listener may not list Secrets,
 * so the record tracks whether each environment may exist. Work items name an environment that is no longer needed
 * until a listener confirms its removal. After the confirmation, the environment causes no calls and no writes.
 */

/** Records the environments that the listener has removed. The rows of the deployments are locked. */
export async function recordRemovedEnvironments(
  transaction: Transaction,
  deploymentIds: ReadonlySet<string>,
  reports: readonly ClusterReport[],
): Promise<void> {
  const gone = reports.flatMap((report) =>
    report.kind === 'applied' && deploymentIds.has(report.deploymentId)
      ? report.goneEnvironments.map((number) => ({ id: report.deploymentId, number }))
      : [],
  );
  if (gone.length === 0) return;
  await transaction.run(recordRemovedEnvironmentsStatement, {
    removed: JSON.stringify(gone),
    deploymentIds: gone.map(({ id }) => id),
  });
}

/**
 * Whether a revision can be old enough. Each revision has incremented the generation, so with fewer generations, no
 * revision is.
 */
const mayLeave = ({ facts }: FactsChange) => facts.generation > KEPT_REVISIONS;
/** The active revision may also have changed to a revision that had ended before. */
const isEnded = ({ moves, deployment, facts }: FactsChange) =>
  moves.some(({ to }) => isTerminalStatus(to)) || facts.active?.id !== deployment.facts.active?.id;

/**
 * Requeues deployments whose revisions have ended and leave environments that no other work item would remove. An
 * active revision needs its environment even while many newer revisions are created.
 */
export async function requeueLeftovers(
  transaction: Transaction,
  changes: readonly FactsChange[],
): Promise<void> {
  const ended = changes.filter((change) => mayLeave(change) && isEnded(change));
  const ids = ended.map(({ deployment }) => deployment.id);
  if (ids.length > 0) await transaction.run(requeueLeftoversStatement, { deploymentIds: ids });
}
