import type {
  ClusterReport,
  DeploymentFacts,
  ObservedReport,
  OutcomeMove,
  ReportOutcome,
} from '../../../domain/deployment/cluster-report.ts';
import { type ProgressMeasure, progressOf } from '../../../domain/revision/progress.ts';
import { reportOutcome } from '../../../domain/revision/report-outcome.ts';
import type { Transaction } from '../core/database.ts';
import { and, eq, inArray, sql } from '../core/drizzle.ts';
import { type Actor, appendEvents, type NewEvent } from '../core/events.ts';
import { listeners, tombstones } from '../core/schema.ts';
import { removeRecord } from '../deployments/deployment-remove.ts';
import { recordRemovedEnvironments, requeueLeftovers } from '../deployments/environments.ts';
import { freeHosts, type ObservedRoutes } from '../deployments/host-reservations.ts';
import type { SecretBox } from '../secrets/secret-box.ts';
import { acceptReportStatement } from '../sql/reports/accept-report.ts';
import { StaleEpoch } from './listener-lease.ts';
import { writeBuilds } from './listener-report-builds.ts';
import { type TakenReports, writeImages } from './listener-report-images.ts';
import { loadFacts, type ReportedDeployment, writeFacts } from './listener-report-rows.ts';
import { withoutSecrets } from './listener-report-secrets.ts';

/** The reports of one call of a listener. */
export interface ReportBatch {
  epoch: number;
  seq: number;
  reports: readonly ClusterReport[];
}

export interface BatchResult {
  /** The highest accepted seq. */
  acceptedSeq: number;
  /** Reports without effect, with reasons, for the log. */
  ignored: { deploymentId: string; why: string }[];
  /** Revisions that changed status, for the log. */
  moved: MovedRevision[];
  /** Rollouts, builds and deployments that reached a final status, for metrics. */
  progress: ProgressMeasure[];
}

/** One transition of a revision. */
export interface MovedRevision extends Pick<OutcomeMove, 'from' | 'to' | 'reason'> {
  deploymentId: string;
  revisionId: string;
  generation: number;
}

const among = (listenerId: string, ids: readonly string[]) =>
  and(eq(tombstones.listenerId, listenerId), inArray(tombstones.id, [...ids]));

/** Sets the time of the second purge to one minute later, unless this was the second purge. */
async function endTombstones(
  { drizzle }: Transaction,
  listenerId: string,
  ids: readonly string[],
): Promise<void> {
  const { lookAgainAt } = tombstones;
  await drizzle
    .update(tombstones)
    .set({
      due: false,
      attempts: 0,
      lookAgainAt: sql`CASE WHEN ${lookAgainAt} IS NOT NULL THEN now() + interval '1 minute' END`,
    })
    .where(among(listenerId, ids));
}

/**
 * Delays purges that were rejected. The namespace may be gone, or the listener may have lost access permanently.
 * Backoff: 2 minutes, 4, 8 …, at most 4 hours.
 */
const delayTombstones = ({ drizzle }: Transaction, listenerId: string, ids: readonly string[]) =>
  drizzle
    .update(tombstones)
    .set({
      attempts: sql`${tombstones.attempts} + 1`,
      nextAttemptAt: sql`now() + interval '1 minute' * 2 ^ least(greatest(${tombstones.attempts}, 1), 8)`,
    })
    .where(and(among(listenerId, ids), tombstones.due))
    .returning({ id: tombstones.id });

/** One deployment with the combined result of its reports of the batch, in their order. */
interface Change extends TakenReports {
  deployment: ReportedDeployment;
  facts: DeploymentFacts;
  outcomes: ReportOutcome[];
  /** The last observation in these reports; null: the reports have no observation. */
  seen: ObservedRoutes | null;
}

/** A report of a generation that does not exist proves nothing about existing generations. */
function seenRoutes(
  { id, facts }: ReportedDeployment,
  { url, routes = null }: ObservedReport,
): ObservedRoutes {
  const isAhead = routes !== null && routes.generation > facts.generation;
  return { id, url, routes: isAhead ? { ...routes, generation: 0 } : routes };
}

function decide(deployment: ReportedDeployment, reports: readonly ClusterReport[], now: Date): Change {
  const outcomes: ReportOutcome[] = [];
  let { facts } = deployment;
  let seen: ObservedRoutes | null = null;
  for (const report of reports) {
    const outcome = reportOutcome(facts, report, now);
    outcomes.push(outcome);
    if (report.kind === 'observed' && outcome.ignored === null) {
      seen = seenRoutes(deployment, report);
    }
    facts = outcome.facts;
  }
  const taken = reports.filter((_, at) => outcomes[at]?.ignored === null);
  return { deployment, facts, outcomes, seen, reports: taken };
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

const idsOf = (reports: readonly ClusterReport[], wanted: ClusterReport['kind']) =>
  reports.filter(({ kind }) => kind === wanted).map(({ deploymentId }) => deploymentId);

/** Applies reports to tombstones that are work. @returns the tombstones whose purge was rejected */
async function writeTombstones(
  transaction: Transaction,
  listenerId: string,
  changes: ReadonlyMap<string, Change>,
  reports: readonly ClusterReport[],
): Promise<ReadonlySet<string>> {
  const purged = idsOf(reports, 'purged');
  const refused = idsOf(reports, 'refused').filter((id) => !changes.has(id));
  if (purged.length > 0) await endTombstones(transaction, listenerId, purged);
  if (refused.length === 0) return new Set();
  const rows = await delayTombstones(transaction, listenerId, refused);
  return new Set(rows.map(({ id }) => id));
}

function ignoredOf(
  batch: ReportBatch,
  changes: ReadonlyMap<string, Change>,
  putOff: ReadonlySet<string>,
): { deploymentId: string; why: string }[] {
  const unknown = batch.reports
    .filter(({ kind, deploymentId }) => kind !== 'purged' && !changes.has(deploymentId))
    .filter(({ kind, deploymentId }) => kind !== 'refused' || !putOff.has(deploymentId))
    .map(({ deploymentId }) => ({ deploymentId, why: 'the deployment does not exist' }));
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
  reports: readonly ClusterReport[],
): Promise<void> {
  const actor: Actor = { kind: 'listener', id: listenerId };
  const kept = changes.filter(({ outcomes }) => !outcomes.some(({ remove }) => remove));
  const written = kept.map(({ deployment, facts, outcomes }) => ({
    deployment,
    facts,
    moves: outcomes.flatMap(({ moves }) => moves),
    retryAfterMs: outcomes.findLast(({ retryAfterMs }) => retryAfterMs !== null)?.retryAfterMs ?? null,
  }));
  await writeFacts(transaction, written);
  await writeBuilds(transaction, written);
  await freeHosts(
    transaction,
    kept.map(({ deployment }) => deployment.id),
    kept.flatMap(({ seen }) => seen ?? []),
  );
  await recordRemovedEnvironments(
    transaction,
    new Set(written.map(({ deployment }) => deployment.id)),
    reports,
  );
  await requeueLeftovers(transaction, written);
  await appendEvents(
    transaction,
    kept.flatMap((change) => eventsOf(change, actor)),
  );
  await writeImages(transaction, kept, actor);
  for (const { deployment, outcomes } of changes) {
    if (outcomes.some(({ remove }) => remove)) {
      await removeRecord(transaction, deployment.tenantId, deployment.id, actor);
    }
  }
}

/** The transitions of revisions, for log and metrics. */
function summaryOf(changes: readonly Change[], now: Date): Pick<BatchResult, 'moved' | 'progress'> {
  const summaries = changes.map(({ deployment, facts, outcomes }) => {
    const moves = outcomes.flatMap(({ moves: made }) => made);
    const moved = moves.map(({ id, from, to, reason }) => ({
      deploymentId: deployment.id,
      revisionId: id,
      generation: deployment.facts.generation,
      from,
      to,
      reason,
    }));
    return { moved, progress: progressOf(deployment.facts, facts, moves, now) };
  });
  return {
    moved: summaries.flatMap(({ moved }) => moved),
    progress: summaries.flatMap(({ progress }) => progress),
  };
}

/**
 * Accepts a batch of reports in one transaction: compare-and-set on (epoch, seq), then all of their changes. A seq that
 * was accepted before, whose response was lost, changes nothing. Values of the deployments' secrets are masked.
 * @returns null when the scope contains no listener with this id
 * @throws StaleEpoch
 */
export async function takeReports(
  transaction: Transaction,
  listenerId: string,
  batch: ReportBatch,
  { now, box }: { now: Date; box: SecretBox },
): Promise<BatchResult | null> {
  const { epoch, seq, reports } = batch;
  const [accepted] = await transaction.run(acceptReportStatement, { listenerId, epoch, seq });
  if (accepted === undefined) {
    const [row] = await transaction.drizzle
      .select({ epoch: listeners.leaseEpoch, seq: listeners.reportSeq })
      .from(listeners)
      .where(eq(listeners.id, listenerId));
    if (row === undefined) return null;
    if (row.epoch !== epoch) throw new StaleEpoch(epoch, row.epoch);
    return { acceptedSeq: row.seq, ignored: [], moved: [], progress: [] };
  }
  const deployments = await loadFacts(transaction, listenerId, reports, accepted.lossRecorded);
  const masked = await withoutSecrets(transaction, box, deployments, reports);
  const byId = Map.groupBy(masked, ({ deploymentId }) => deploymentId);
  const changes = new Map(
    deployments.map((deployment) => [deployment.id, decide(deployment, byId.get(deployment.id) ?? [], now)]),
  );
  await write(transaction, listenerId, [...changes.values()], reports);
  const putOff = await writeTombstones(transaction, listenerId, changes, reports);
  return {
    acceptedSeq: seq,
    ignored: ignoredOf(batch, changes, putOff),
    ...summaryOf([...changes.values()], now),
  };
}
