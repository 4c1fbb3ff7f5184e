import type { ClusterReport, DeploymentFacts } from '../domain/cluster-report.ts';
import { isTerminal, TERMINAL_STATUSES } from '../domain/states.ts';
import type { Transaction } from './database.ts';
import { WORK_CHANNEL } from './deployment-write.ts';
import { MARK_DUE, SETTLED } from './listener-inventory.ts';
import type { FactsChange } from './listener-report-rows.ts';
import { REDELIVER_SECONDS } from './listener-work.ts';
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

/** Since an item was handed out, or the moment before: a transaction counts from its start, and may have waited. */
const SINCE_HANDED_OUT = `d.next_attempt_at - interval '${REDELIVER_SECONDS + 1} seconds'`;

/** $1 those that may be marked; $2 of these, whose revisions have just come to an end; of the others one has while the item was out. */
const MARK_LEFTOVERS = `
WITH marked AS (
  UPDATE deployments d SET ${MARK_DUE}
  WHERE d.id = ANY($1::uuid[]) AND ${SETTLED} AND EXISTS (
    SELECT FROM revisions w, revisions r WHERE w.id = ${WANTED_REVISION} AND ${leavesEnvironment('w.number')})
  AND (d.id = ANY($2::uuid[]) OR EXISTS (
    SELECT FROM revisions e WHERE e.deployment_id = d.id AND e.status = ANY($3::text[]) AND e.updated_at > ${SINCE_HANDED_OUT}))
  RETURNING d.listener_id
)
SELECT pg_notify('${WORK_CHANNEL}', listener_id::text) FROM marked GROUP BY listener_id`;

/** Each revision has raised the generation: of fewer none is old. */
const mayLeave = ({ facts }: FactsChange) => facts.generation > KEPT_REVISIONS;
/** What serves may also have changed to a revision that had come to its end before. */
const isEnded = ({ moves, deployment, facts }: FactsChange) =>
  moves.some(({ to }) => isTerminal(to)) || facts.active?.id !== deployment.facts.active?.id;
const isSettled = ({ acknowledgedGeneration, generation }: DeploymentFacts) =>
  acknowledgedGeneration >= generation;

/**
 * Makes deployments due whose revisions have come to an end and leave environments that no change to come would tell
 * the listener of: what served while many newer ones were made was needed until now. While an item is out, when that has
 * been told to be applied: it was made before the end, and the removals of a long burst take longer than a rollout.
 */
export async function markLeftovers(
  transaction: Transaction,
  changes: readonly FactsChange[],
): Promise<void> {
  const idsOf = (some: readonly FactsChange[]) => some.map(({ deployment }) => deployment.id);
  const old = changes.filter(mayLeave);
  const ended = old.filter(isEnded);
  const settled = old.filter(({ deployment, facts }) => isSettled(facts) && !isSettled(deployment.facts));
  if (ended.length + settled.length === 0) return;
  await transaction.query(MARK_LEFTOVERS, [idsOf([...ended, ...settled]), idsOf(ended), TERMINAL_STATUSES]);
}
