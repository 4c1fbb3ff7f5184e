import type { ExplainFacts, RevisionName } from '../../../domain/conditions/explain-facts.ts';
import type { ReportedFailure } from '../../../domain/conditions/failure-source.ts';
import type { ReportedSymptom } from '../../../domain/conditions/symptoms.ts';
import { confirmsVolumeRemoval } from '../../../domain/pod-settings/data-services.ts';
import { isOff } from '../../../domain/resource-spec/effective-spec.ts';
import type { Transaction } from '../core/database.ts';
import { and, desc, eq, sql } from '../core/drizzle.ts';
import { events } from '../core/schema.ts';
import type { ResultRow } from '../core/statement.ts';
import { fromStored } from '../core/stored-failure.ts';
import { findListener } from '../listeners/listeners.ts';
import { relatedRevisionsStatement } from '../sql/deployments/related-revisions.ts';
import { findDeployment } from './deployments.ts';
import { findRevision } from './revisions.ts';

/** All inputs of the explanation of a revision, from one snapshot. */

/**
 * Several statements share a snapshot, so that a revision that changes in between is not explained with a mixed state.
 */
const ONE_SNAPSHOT = sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`;

type RelatedRevision = ResultRow<typeof relatedRevisionsStatement>;

function nameOf(rows: readonly RelatedRevision[], role: RelatedRevision['role']): RevisionName | null {
  const row = rows.find((each) => each.role === role);
  return row === undefined
    ? null
    : { id: row.id, number: row.number, status: row.status, createdAt: row.createdAt };
}

/** The data services that the last change of a deployment restarted, with the reasons, as its response stated. */
export async function readLastEffects(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
): Promise<string[]> {
  const [row] = await transaction.drizzle
    .select({ effects: sql<string[] | null>`${events.details} -> 'effects'` })
    .from(events)
    .where(
      and(eq(events.tenantId, tenantId), eq(events.deploymentId, deploymentId), eq(events.reason, 'Patched')),
    )
    .orderBy(desc(events.id))
    .limit(1);
  return row?.effects ?? [];
}

/**
 * The inputs for a revision; null when the tenant has no deployment with this id and revision.
 * @param transaction must be new, without earlier statements
 */
export async function readExplainFacts(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
  revisionId: string,
): Promise<Omit<ExplainFacts, 'now'> | null> {
  await transaction.drizzle.execute(ONE_SNAPSHOT);
  const deployment = await findDeployment(transaction, tenantId, deploymentId);
  const revision = await findRevision(transaction, tenantId, deploymentId, revisionId);
  if (deployment === null || revision === null) return null;
  const listener = await findListener(transaction, tenantId, deployment.listenerId);
  if (listener === null) throw new Error('failed to explain a revision: its listener was not found');
  const related = await transaction.run(relatedRevisionsStatement, {
    tenantId,
    deploymentId,
    revisionId,
  });
  const { unseen, returning = false } = deployment.listener;
  const self = related.find(({ role }) => role === 'self');
  return {
    revision: { ...revision, failureSource: self?.failureSource ?? null },
    deployment: {
      ...deployment,
      inPlaceFailure: self?.inPlaceFailure ? fromStored<ReportedFailure>(self.inPlaceFailure) : null,
      symptoms: (self?.symptoms ?? []).map((symptom) => fromStored<ReportedSymptom>(symptom)),
      unwatched: unseen == null ? (returning ? 'returning' : null) : 'unseen',
      switchedOff: isOff(deployment.sourceConfig.resource_spec ?? {}),
      removesVolume: confirmsVolumeRemoval(deployment.sourceConfig),
    },
    listener,
    active: nameOf(related, 'active'),
    successor: nameOf(related, 'successor'),
  };
}
