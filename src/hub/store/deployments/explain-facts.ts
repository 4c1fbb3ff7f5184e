import type { ExplainFacts, RevisionName } from '../../../domain/conditions/explain-facts.ts';
import type { FailureSource, ReportedFailure } from '../../../domain/conditions/failure-source.ts';
import type { ReportedSymptom } from '../../../domain/conditions/symptoms.ts';
import { isOff } from '../../../domain/resource-spec/effective-spec.ts';
import type { RevisionStatus } from '../../../domain/revision/states.ts';
import type { Transaction } from '../core/database.ts';
import { fromStored, type Stored } from '../core/stored-failure.ts';
import { findListener } from '../listeners/listeners.ts';
import { findDeployment } from './deployments.ts';
import { findRevision } from './revisions.ts';
import { REVISION_STATUS } from './status.ts';

/** All inputs of the explanation of a revision, from one snapshot. */

/**
 * Several statements share a snapshot, so that a revision that changes in between is not explained with a mixed state.
 */
const ONE_SNAPSHOT = 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY';

interface RelatedRow {
  id: string;
  number: number;
  status: RevisionStatus;
  created_at: Date;
  failure_source: FailureSource | null;
  /** The in_place_failure of the deployment. */
  in_place_failure: Stored<ReportedFailure> | null;
  /** The symptoms of the deployment. */
  symptoms: Stored<ReportedSymptom>[] | null;
  role: 'self' | 'active' | 'successor';
}

/**
 * The source of the revision's failure, the failure of the last change in place, the active revision, and the first
 * newer revision that was not skipped.
 */
const RELATED = `
WITH named AS (
  SELECT $3::uuid AS id, 'self' AS role
  UNION ALL
  SELECT active_revision_id, 'active' FROM deployments WHERE tenant_id = $1 AND id = $2
  UNION ALL
  (SELECT o.id, 'successor' FROM revisions o JOIN revisions self ON self.id = $3
   WHERE o.tenant_id = $1 AND o.deployment_id = $2 AND o.number > self.number AND o.status <> 'SKIPPED'
   ORDER BY o.number LIMIT 1)
)
SELECT r.id, r.number, ${REVISION_STATUS} AS status, r.created_at, r.culprit AS failure_source, d.in_place_failure,
  d.symptoms, named.role
FROM named
  JOIN revisions r ON r.id = named.id
  JOIN deployments d ON d.id = r.deployment_id
  JOIN listeners l ON l.id = d.listener_id
WHERE r.tenant_id = $1 AND r.deployment_id = $2`;

function nameOf(rows: readonly RelatedRow[], role: RelatedRow['role']): RevisionName | null {
  const row = rows.find((each) => each.role === role);
  return row === undefined
    ? null
    : { id: row.id, number: row.number, status: row.status, createdAt: row.created_at };
}

const LAST_EFFECTS = `SELECT details->'effects' AS effects FROM events
  WHERE tenant_id = $1 AND deployment_id = $2 AND reason = 'Patched' ORDER BY id DESC LIMIT 1`;

/** The data services that the last change of a deployment restarted, with the reasons, as its response stated. */
export async function readLastEffects(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
): Promise<string[]> {
  const [row] = await transaction.query<{ effects: string[] | null }>(LAST_EFFECTS, [tenantId, deploymentId]);
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
  await transaction.query(ONE_SNAPSHOT);
  const deployment = await findDeployment(transaction, tenantId, deploymentId);
  const revision = await findRevision(transaction, tenantId, deploymentId, revisionId);
  if (deployment === null || revision === null) return null;
  const listener = await findListener(transaction, tenantId, deployment.listenerId);
  if (listener === null) throw new Error('failed to explain a revision: its listener was not found');
  const related = await transaction.query<RelatedRow>(RELATED, [tenantId, deploymentId, revisionId]);
  const { unseen, returning = false } = deployment.listener;
  const self = related.find(({ role }) => role === 'self');
  return {
    revision: { ...revision, failureSource: self?.failure_source ?? null },
    deployment: {
      ...deployment,
      inPlaceFailure: self?.in_place_failure ? fromStored<ReportedFailure>(self.in_place_failure) : null,
      symptoms: (self?.symptoms ?? []).map((symptom) => fromStored<ReportedSymptom>(symptom)),
      unwatched: unseen == null ? (returning ? 'returning' : null) : 'unseen',
      switchedOff: isOff(deployment.sourceConfig.resource_spec ?? {}),
    },
    listener,
    active: nameOf(related, 'active'),
    successor: nameOf(related, 'successor'),
  };
}
