import type { ClusterReport } from '../../../domain/deployment/cluster-report.ts';
import { isTerminal } from '../../../domain/revision/states.ts';
import type { Transaction } from '../core/database.ts';
import type { FactsChange } from '../listeners/listener-report-rows.ts';
import { KEPT_REVISIONS, leavesEnvironment, WANTED_REVISION } from '../listeners/listener-work-rows.ts';
import { makeAnew } from '../listeners/requeue-work.ts';

/**
 * Which environments (Secrets, one a revision) are left over in the cluster. The listener may not list Secrets, so the
 * record says of each whether it may be there; one that is not needed is named in work items until a listener has told
 * that it is gone. So nothing is asked of the cluster, and nothing written, once all of them are.
 */

/** By id, too: see HANDED_OUT in listener-work.ts. */
const NOTE_GONE = `
UPDATE revisions r SET environment_gone = true
FROM jsonb_to_recordset($1::jsonb) AS gone(id uuid, number int)
WHERE r.deployment_id = gone.id AND r.deployment_id = ANY($2::uuid[]) AND r.number = gone.number AND NOT r.environment_gone`;

/** Keeps what the listener has told to be gone. The rows of the deployments are locked. */
export async function noteGone(
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
  await transaction.query(NOTE_GONE, [JSON.stringify(gone), gone.map(({ id }) => id)]);
}

const WITH_LEFTOVERS = makeAnew(`d.id = ANY($1::uuid[]) AND EXISTS (
  SELECT FROM revisions w, revisions r WHERE w.deployment_id = d.id AND w.id = ${WANTED_REVISION} AND ${leavesEnvironment('w.number')})`);

/** Each revision has raised the generation: of fewer none is old. */
const mayLeave = ({ facts }: FactsChange) => facts.generation > KEPT_REVISIONS;
/** What serves may also have changed to a revision that had come to its end before. */
const isEnded = ({ moves, deployment, facts }: FactsChange) =>
  moves.some(({ to }) => isTerminal(to)) || facts.active?.id !== deployment.facts.active?.id;

/**
 * Has the items of deployments made anew whose revisions have come to an end and leave environments that no change to
 * come would tell the listener of: what served while many newer ones were made was needed until now.
 */
export async function markLeftovers(
  transaction: Transaction,
  changes: readonly FactsChange[],
): Promise<void> {
  const ended = changes.filter((change) => mayLeave(change) && isEnded(change));
  const ids = ended.map(({ deployment }) => deployment.id);
  if (ids.length > 0) await transaction.query(WITH_LEFTOVERS, [ids]);
}
