import { statement } from '../../core/statement.ts';
import { REMOVABLE_UPLOAD } from '../fragments/needed-upload.ts';

/** Marks the uploads of a deployment that no revision needs as being removed, including those of an interrupted removal. */
export const claimUploadsStatement = statement<{ deploymentId: string }, { digest: string }>(
  'claim_uploads',
  `UPDATE uploads u SET removing = true FROM deployments d
WHERE d.id = :deploymentId AND ${REMOVABLE_UPLOAD}
RETURNING u.digest`,
);

const AT_ONCE = 200;

/** Requests cleanups for a bounded number of deployments with uploads that no revision needs. */
export const enqueueUploadsStatement = statement<Record<never, never>, { id: string }>(
  'enqueue_uploads',
  `INSERT INTO repository_cleanings (deployment_id, tenant_id, app_name)
SELECT DISTINCT d.id, d.tenant_id, d.app_name FROM uploads u JOIN deployments d ON d.id = u.deployment_id
WHERE ${REMOVABLE_UPLOAD} AND NOT EXISTS (SELECT 1 FROM repository_cleanings c WHERE c.deployment_id = d.id)
LIMIT ${AT_ONCE}
ON CONFLICT (deployment_id) DO NOTHING RETURNING deployment_id AS id`,
);
