import type { RevisionStatus } from '../../../../domain/revision/states.ts';
import { deployments, revisions } from '../../core/schema.ts';
import { type Columns, columns, statement } from '../../core/statement.ts';
import { REVISION_STATUS } from '../../deployments/status.ts';

/**
 * A revision with the facts of its deployment that explain it, the active revision, and the first newer revision that
 * was not skipped.
 */
export const relatedRevisionsStatement = statement<
  { tenantId: string; deploymentId: string; revisionId: string },
  Columns<typeof revisions, 'id' | 'number' | 'createdAt' | 'failureSource'> &
    Columns<typeof deployments, 'inPlaceFailure' | 'symptoms'> & {
      status: RevisionStatus;
      role: 'self' | 'active' | 'successor';
    }
>(
  'related_revisions',
  `WITH named AS (
  SELECT :revisionId::uuid AS id, 'self' AS role
  UNION ALL
  SELECT active_revision_id, 'active' FROM deployments WHERE tenant_id = :tenantId AND id = :deploymentId
  UNION ALL
  (SELECT o.id, 'successor' FROM revisions o JOIN revisions self ON self.id = :revisionId
   WHERE o.tenant_id = :tenantId AND o.deployment_id = :deploymentId AND o.number > self.number AND o.status <> 'SKIPPED'
   ORDER BY o.number LIMIT 1)
)
SELECT ${columns(revisions, 'r', ['id', 'number', 'createdAt', 'failureSource'])}, ${REVISION_STATUS} AS status,
  ${columns(deployments, 'd', ['inPlaceFailure', 'symptoms'])}, named.role
FROM named
  JOIN revisions r ON r.id = named.id
  JOIN deployments d ON d.id = r.deployment_id
  JOIN listeners l ON l.id = d.listener_id
WHERE r.tenant_id = :tenantId AND r.deployment_id = :deploymentId`,
);
