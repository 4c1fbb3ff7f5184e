import type { ClusterReport, DeploymentFacts, ReportOutcome } from '../domain/cluster-report.ts';
import { reportOutcome } from '../domain/report-outcome.ts';
import type { Transaction } from './database.ts';
import { removeRecord } from './deployment-remove.ts';
import { type Actor, appendEvents, type NewEvent } from './events.ts';
import { StaleEpoch } from './listener-lease.ts';
import { loadFacts, type ReportedDeployment, writeFacts } from './listener-report-rows.ts';
import { withoutSecrets } from './listener-report-secrets.ts';
import type { SecretBox } from './secret-box.ts';

/** Reports of one call of a listener. */
export interface ReportBatch {
  epoch: number;
  seq: number;
  reports: readonly ClusterReport[];
}

export interface BatchResult {
  /** The highest seq taken. */
  acceptedSeq: number;
  /** Reports that changed nothing, with why; for the log. */
  ignored: { deploymentId: string; why: string }[];
}

const COMPARE_AND_SET = `
UPDATE listeners SET report_seq = $3, last_seen_at = now()
WHERE id = $1 AND lease_epoch = $2 AND report_seq < $3 RETURNING loss_recorded`;
const CURRENT = 'SELECT lease_epoch, report_seq FROM listeners WHERE id = $1';
const END_TOMBSTONES =
  'UPDATE tombstones SET due = false, attempts = 0 WHERE listener_id = $1 AND id = ANY($2::uuid[])';

/** One deployment with what all its reports of the batch, in their order, made of it. */
interface Change {
  deployment: ReportedDeployment;
  facts: DeploymentFacts;
  outcomes: ReportOutcome[];
}

function decide(deployment: ReportedDeployment, reports: readonly ClusterReport[], now: Date): Change {
  const outcomes: ReportOutcome[] = [];
  let { facts } = deployment;
  for (const report of reports) {
    const outcome = reportOutcome(facts, report, now);
    outcomes.push(outcome);
    facts = outcome.facts;
  }
  return { deployment, facts, outcomes };
}

function eventsOf({ deployment, outcomes }: Change, actor: Actor): NewEvent[] {
  return outcomes.flatMap(({ events }) =>
    events.map((event) => ({
      tenantId: deployment.tenantId,
      deploymentId: deployment.id,
      actor,
      ...event,
    })),
  );
}

function ignoredOf(
  batch: ReportBatch,
  changes: ReadonlyMap<string, Change>,
): { deploymentId: string; why: string }[] {
  const unknown = batch.reports
    .filter(({ kind, deploymentId }) => kind !== 'purged' && !changes.has(deploymentId))
    .map(({ deploymentId }) => ({ deploymentId, why: 'there is no such deployment' }));
  const refused = [...changes.values()].flatMap(({ deployment, outcomes }) =>
    outcomes.flatMap(({ ignored }) =>
      ignored === null ? [] : [{ deploymentId: deployment.id, why: ignored }],
    ),
  );
  return [...unknown, ...refused];
}

async function write(
  transaction: Transaction,
  listenerId: string,
  changes: readonly Change[],
): Promise<void> {
  const actor: Actor = { kind: 'listener', id: listenerId };
  const kept = changes.filter(({ outcomes }) => !outcomes.some(({ remove }) => remove));
  await writeFacts(
    transaction,
    kept.map(({ deployment, facts, outcomes }) => ({
      deployment,
      facts,
      moves: outcomes.flatMap(({ moves }) => moves),
      retryAfterMs: outcomes.findLast(({ retryAfterMs }) => retryAfterMs !== null)?.retryAfterMs ?? null,
    })),
  );
  await appendEvents(
    transaction,
    kept.flatMap((change) => eventsOf(change, actor)),
  );
  for (const { deployment, outcomes } of changes) {
    if (outcomes.some(({ remove }) => remove)) {
      await removeRecord(transaction, deployment.tenantId, deployment.id, actor);
    }
  }
}

/**
 * Takes a batch of reports: compare-and-set on (epoch, seq), then everything that they change, in one transaction.
 * A seq that was taken before (its answer was lost) changes nothing. Values of the deployments' own secrets are masked.
 * @returns null when the scope sees no listener of this id
 * @throws StaleEpoch
 */
export async function takeReports(
  transaction: Transaction,
  listenerId: string,
  batch: ReportBatch,
  { now, box }: { now: Date; box: SecretBox },
): Promise<BatchResult | null> {
  const { epoch, seq, reports } = batch;
  const [taken] = await transaction.query<{ loss_recorded: boolean }>(COMPARE_AND_SET, [
    listenerId,
    epoch,
    seq,
  ]);
  if (taken === undefined) {
    const [row] = await transaction.query<{ lease_epoch: number; report_seq: number }>(CURRENT, [listenerId]);
    if (row === undefined) return null;
    if (row.lease_epoch !== epoch) throw new StaleEpoch(epoch, row.lease_epoch);
    return { acceptedSeq: row.report_seq, ignored: [] };
  }
  const deployments = await loadFacts(transaction, listenerId, reports, taken.loss_recorded);
  const masked = await withoutSecrets(transaction, box, deployments, reports);
  const byId = Map.groupBy(masked, ({ deploymentId }) => deploymentId);
  const changes = new Map(
    deployments.map((deployment) => [deployment.id, decide(deployment, byId.get(deployment.id) ?? [], now)]),
  );
  await write(transaction, listenerId, [...changes.values()]);
  const purged = reports.filter(({ kind }) => kind === 'purged').map(({ deploymentId }) => deploymentId);
  if (purged.length > 0) await transaction.query(END_TOMBSTONES, [listenerId, purged]);
  return { acceptedSeq: seq, ignored: ignoredOf(batch, changes) };
}
