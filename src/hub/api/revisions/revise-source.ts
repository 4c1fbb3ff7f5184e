import type { Transaction } from '../../store/core/database.ts';
import type { DeploymentRecord, DesiredChange } from '../../store/core/records.ts';
import { updateDesiredState } from '../../store/deployments/deployments.ts';
import type { ApiDeps } from '../core/deps.ts';
import { newRevision } from '../deployments/deployment-rules.ts';

/** What changes with a new version of the source: a pushed commit or an uploaded folder. */
export type SourceVersion = Pick<DesiredChange, 'sourceRevisionConfig' | 'actor' | 'message'> &
  Required<Pick<DesiredChange, 'usage' | 'reason' | 'details'>> &
  Partial<Pick<DesiredChange, 'sourceConfig'>>;

/** Creates the revision of a new version of the source, and keeps all other values. The caller has locked the deployment. */
export async function reviseSource(
  { secretBox }: Pick<ApiDeps, 'secretBox'>,
  transaction: Transaction,
  before: DeploymentRecord,
  version: SourceVersion,
): Promise<{ readonly revisionId: string; readonly generation: number }> {
  const { id, tenantId, source, sourceConfig, generation: expectedGeneration } = before;
  const revision = newRevision(source, version.sourceRevisionConfig);
  const { generation } = await updateDesiredState(transaction, secretBox, tenantId, id, {
    sourceConfig,
    ...version,
    expectedGeneration,
    secrets: { kind: 'set', id: before.secrets?.id ?? null },
    imageVersion: null,
    revision,
  });
  return { revisionId: revision.id, generation };
}
