import type { Procfile } from '../../../../domain/run-settings/procfile.ts';
import { statement } from '../../core/statement.ts';
import { DESIRED_REVISION } from '../fragments/desired-revision.ts';

/** The Procfiles of the revisions that clusters should run. Deployments whose revision has no Procfile have no row. */
export const runningProcfilesStatement = statement<
  { tenantId: string; deploymentIds: readonly string[] },
  { id: string; procfile: Procfile }
>(
  'running_procfiles',
  `SELECT d.id, w.source_revision_config->'procfile' AS procfile
FROM deployments d
  CROSS JOIN LATERAL (SELECT ${DESIRED_REVISION} AS id OFFSET 0) AS wanted
  JOIN revisions w ON w.id = wanted.id
WHERE d.tenant_id = :tenantId AND d.id = ANY(:deploymentIds::uuid[])
  AND w.source_revision_config->'procfile' IS NOT NULL`,
);
