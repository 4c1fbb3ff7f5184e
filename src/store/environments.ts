import type { ClusterReport, DeploymentFacts } from '../domain/cluster-report.ts';
import { isTerminal, REVISION_STATUSES } from '../domain/states.ts';
import type { Transaction } from './database.ts';
import { WORK_CHANNEL } from './deployment-write.ts';
import { MARK_DUE } from './listener-inventory.ts';
import type { FactsChange } from './listener-report-rows.ts';
import { KEPT_REVISIONS, leavesEnvironment, WANTED_REVISION } from './listener-work-rows.ts';

/**
 * Which environments (Secrets, one a revision) are left over in the cluster. The listener may not list Secrets, so the
 * record says of each whether it may be there; one that is not needed is named in work items until a listener has told
 * that it is gone. So nothing is asked of the cluster, and nothing written, once all of them are.
 */

const NOTE_GONE = `
UPDATE revisions r SET environment_gone = true
FROM jsonb_to_recordset($1::jsonb) AS gone(id uuid, number int)
WHERE r.deployment_id = gone.id AND r.number = gone.number AND NOT r.environment_gone`;

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
  if (gone.length > 0) await transaction.query(NOTE_GONE, [JSON.stringify(gone)]);
}

/**
 * Those that are settled. One whose item is out, too, when what it wants has come to an end: the item may have been made
 * before, and would leave what served until then. So it is due again, and stays so when the item is told to be applied
 * before it has been handed out again.
 */
const MARK_LEFTOVERS = `
WITH marked AS (
  UPDATE deployments d SET ${MARK_DUE}
  WHERE d.id = ANY($1::uuid[]) AND d.delete_requested_at IS NULL AND EXISTS (
    SELECT FROM revisions w, revisions r WHERE w.id = ${WANTED_REVISION} AND ${leavesEnvironment('w.number')} AND CASE
      WHEN d.acknowledged_generation < d.generation THEN d.handed_out AND w.status = ANY($3::text[])
      ELSE d.id = ANY($2::uuid[]) OR d.next_attempt_at <= clock_timestamp() END)
  RETURNING d.listener_id
)
SELECT pg_notify('${WORK_CHANNEL}', listener_id::text) FROM marked GROUP BY listener_id`;

const TERMINAL = REVISION_STATUSES.filter(isTerminal);

/** None is old before that, and mostly none is: not asked then. Each revision has raised the generation. */
const mayLeave = ({ facts }: FactsChange) => facts.generation > KEPT_REVISIONS;
const isEnded = ({ moves }: FactsChange) => moves.some(({ to }) => isTerminal(to));
const isSettled = ({ acknowledgedGeneration, generation }: DeploymentFacts) =>
  acknowledgedGeneration >= generation;

/**
 * Makes deployments due whose revisions have come to an end and leave environments that no change to come would tell
 * the listener of: what served while many newer ones were made was needed until now.
 */
export async function markLeftovers(
  transaction: Transaction,
  changes: readonly FactsChange[],
): Promise<void> {
  const idsOf = (found: readonly FactsChange[]) => found.map(({ deployment }) => deployment.id);
  const those = changes.filter(mayLeave);
  const ended = those.filter(isEnded);
  const settled = those.filter(({ deployment, facts }) => isSettled(facts) && !isSettled(deployment.facts));
  if (ended.length + settled.length === 0) return;
  await transaction.query(MARK_LEFTOVERS, [idsOf([...ended, ...settled]), idsOf(ended), TERMINAL]);
}
