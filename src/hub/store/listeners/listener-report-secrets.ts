import type { ClusterReport } from '../../../domain/deployment/cluster-report.ts';
import { describesFailure, withTexts } from '../../../domain/redaction/known-secrets.ts';
import type { Transaction } from '../core/database.ts';
import { inTurns, masking } from '../core/masking.ts';
import type { SecretBox } from '../secrets/secret-box.ts';
import { secretsOfRevisionsStatement } from '../sql/reports/secrets-of-revisions.ts';
import type { ReportedDeployment } from './listener-report-rows.ts';

/** Masks the values of the deployment's secrets in reports, because stored reports are shown without `secrets:read`. */

/**
 * Masks the secrets of every revision that the cluster may run: the desired revision, the active revision, revisions in
 * progress, and revisions that the report names. Secrets are decrypted only for reports with a failure.
 */
export async function withoutSecrets(
  transaction: Transaction,
  box: SecretBox,
  deployments: readonly ReportedDeployment[],
  reports: readonly ClusterReport[],
): Promise<ClusterReport[]> {
  const failing = new Set(reports.filter(describesFailure).map(({ deploymentId }) => deploymentId));
  const revisionIds = deployments
    .filter(({ id }) => failing.has(id))
    .flatMap(({ facts }) => facts.revisions.map(({ id }) => id));
  if (revisionIds.length === 0) return [...reports];
  const sets = Map.groupBy(
    await transaction.run(secretsOfRevisionsStatement, { revisionIds }),
    ({ deploymentId }) => deploymentId,
  );
  return inTurns(reports, (report) => {
    const ofOne = sets.get(report.deploymentId);
    // A function that masks can hold several MiB, so it is not kept for the next report.
    return ofOne !== undefined && describesFailure(report) ? withTexts(report, masking(box, ofOne)) : report;
  });
}
