import type { ReportedFailure } from '../../../domain/conditions/failure-source.ts';
import type { ReportedSymptom } from '../../../domain/conditions/symptoms.ts';
import { UUID_PATTERN } from '../../../domain/core/id.ts';
import type {
  ClusterReport,
  DeploymentFacts,
  OutcomeMove,
} from '../../../domain/deployment/cluster-report.ts';
import { isTerminalStatus, REVISION_STATUSES } from '../../../domain/revision/states.ts';
import type { Transaction } from '../core/database.ts';
import { fromStored, toStored } from '../core/stored-failure.ts';
import { lockReportedStatement } from '../sql/reports/lock-reported.ts';
import { type MovedRevision, moveRevisionsStatement } from '../sql/reports/move-revisions.ts';
import { reportedRevisionsStatement } from '../sql/reports/reported-revisions.ts';
import { type WrittenFacts, writeFactsStatement } from '../sql/reports/write-facts.ts';

/**
 * Reads and writes the rows that reports affect. One query per table reads or writes all these rows, independent of the
 * number of reports.
 */

export interface ReportedDeployment {
  id: string;
  tenantId: string;
  facts: DeploymentFacts;
}

type LockedDeployment = NonNullable<(typeof lockReportedStatement)['row']>;
type ReportedRevision = NonNullable<(typeof reportedRevisionsStatement)['row']>;

const NOT_TERMINAL = REVISION_STATUSES.filter((status) => !isTerminalStatus(status));

/** Revision ids in reports, if they are valid UUIDs. The ids come from the custom resource, so they can be any text. */
function namedRevisions(reports: readonly ClusterReport[]): string[] {
  return reports
    .flatMap((report) => (report.kind === 'observed' ? [report.active, report.rollout, report.failed] : []))
    .flatMap((ref) => (ref !== null && UUID_PATTERN.test(ref.id) ? [ref.id] : []));
}

function observationOf(row: LockedDeployment): DeploymentFacts['observation'] {
  const {
    observedGeneration,
    conditions,
    url,
    observedDomains: domains,
    observedOff: off,
    dataReady,
    observedAt,
  } = row;
  if (observedAt === null) return null;
  return { generation: observedGeneration ?? 0, conditions, url, domains, off, dataReady, observedAt };
}

function toFacts(
  row: LockedDeployment,
  revisions: readonly ReportedRevision[],
  listenerLost: boolean,
): DeploymentFacts {
  const active = revisions.find(({ id }) => id === row.activeRevisionId);
  return {
    appName: row.appName,
    namespace: row.namespace,
    listenerLost,
    deleting: row.deleting,
    switchedOff: row.switchedOff,
    purgeInMs: row.purgeInMs,
    generation: row.generation,
    acknowledgedGeneration: row.acknowledgedGeneration,
    attempts: row.attempts,
    workVersion: row.workVersion,
    hasRunnableRevision: row.hasRunnableRevision,
    hasSettledRevision: revisions.some(({ settled }) => settled),
    active: active === undefined ? null : { id: active.id, number: active.number },
    inPlaceFailure: row.inPlaceFailure && fromStored<ReportedFailure>(row.inPlaceFailure),
    symptoms: (row.symptoms ?? []).map((symptom) => fromStored<ReportedSymptom>(symptom)),
    volumeGi: row.volumeGi,
    wantedRevisionId: revisions.find(({ wanted }) => wanted)?.id ?? null,
    conditions: row.conditions,
    observation: observationOf(row),
    revisions: revisions.map(({ id, number, status, build, started }) => ({
      id,
      number,
      status,
      build,
      started,
    })),
  };
}

/**
 * Locks and loads the deployments of this listener that the reports affect.
 * @param listenerLost whether an event recorded the loss of the listener, but not its return yet
 */
export async function loadFacts(
  transaction: Transaction,
  listenerId: string,
  reports: readonly ClusterReport[],
  listenerLost: boolean,
): Promise<ReportedDeployment[]> {
  const deploymentIds = [...new Set(reports.map(({ deploymentId }) => deploymentId))];
  const rows = await transaction.run(lockReportedStatement, { listenerId, deploymentIds });
  if (rows.length === 0) return [];
  // A separate statement is used, so that it sees changes that were committed while the transaction waited for the
  // lock.
  const revisions = Map.groupBy(
    await transaction.run(reportedRevisionsStatement, {
      deploymentIds: rows.map(({ id }) => id),
      statuses: NOT_TERMINAL,
      revisionIds: namedRevisions(reports),
    }),
    ({ deploymentId }) => deploymentId,
  );
  return rows.map((row) => ({
    id: row.id,
    tenantId: row.tenantId,
    facts: toFacts(row, revisions.get(row.id) ?? [], listenerLost),
  }));
}

export interface FactsChange {
  deployment: ReportedDeployment;
  facts: DeploymentFacts;
  moves: readonly OutcomeMove[];
  retryAfterMs: number | null;
}

/**
 * Writes the changes of reports. The rows are locked since `loadFacts`, so the statements need no further conditions.
 */
export async function writeFacts(transaction: Transaction, changes: readonly FactsChange[]): Promise<void> {
  if (changes.length === 0) return;
  const written = changes.map(
    ({ deployment, facts, retryAfterMs }): WrittenFacts => ({
      id: deployment.id,
      generation: facts.generation,
      hasRunnableRevision: facts.hasRunnableRevision,
      acknowledgedGeneration: facts.acknowledgedGeneration,
      attempts: facts.attempts,
      retryAfterMs,
      activeRevisionId: facts.active?.id ?? null,
      conditions: facts.conditions,
      url: facts.observation?.url ?? null,
      observedDomains: facts.observation?.domains ?? null,
      observedGeneration: facts.observation?.generation ?? null,
      observedOff: facts.observation?.off ?? false,
      dataReady: facts.observation?.dataReady ?? false,
      observedAt: facts.observation?.observedAt ?? null,
      inPlaceFailure: facts.inPlaceFailure && toStored(facts.inPlaceFailure),
      symptoms:
        facts.symptoms === undefined || facts.symptoms.length === 0 ? null : facts.symptoms.map(toStored),
      volumeGi: facts.volumeGi ?? null,
    }),
  );
  await transaction.run(writeFactsStatement, {
    facts: JSON.stringify(written),
    deploymentIds: written.map(({ id }) => id),
  });
  // The last of several transitions of one revision.
  const moves = new Map(changes.flatMap(({ moves: made }) => made.map((move) => [move.id, move])));
  if (moves.size === 0) return;
  const started = new Set(
    changes.flatMap(({ moves: made }) => made.flatMap(({ id, to }) => (to === 'DEPLOYING' ? [id] : []))),
  );
  const moved = [...moves.values()].map(
    ({ id, to, reason, message, failureSource }): MovedRevision => ({
      id,
      status: to,
      reason,
      message,
      failureSource: failureSource ?? null,
      started: started.has(id),
    }),
  );
  await transaction.run(moveRevisionsStatement, {
    revisions: JSON.stringify(moved),
    revisionIds: moved.map(({ id }) => id),
  });
}
