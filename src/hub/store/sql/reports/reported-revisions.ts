import type { RevisionStatus } from '../../../../domain/revision/states.ts';
import { revisions } from '../../core/schema.ts';
import { type Columns, columns, statement } from '../../core/statement.ts';
import { DESIRED_REVISION } from '../fragments/desired-revision.ts';

const NAMES = ['id', 'deploymentId', 'number', 'status', 'build'] as const;

/** Only a failed build can result in no runnable revision, so this is queried only if reports contain builds. */
const SETTLED = `(d.source <> 'external_image' AND EXISTS (SELECT 1 FROM revisions o WHERE o.deployment_id = d.id
  AND o.status IN ('DEPLOYED', 'DEPLOY_FAILED', 'INTERRUPTED')))`;

/** The revisions that reports may affect: those with these statuses or ids, the desired and the active revision. */
export const reportedRevisionsStatement = statement<
  {
    deploymentIds: readonly string[];
    statuses: readonly RevisionStatus[];
    revisionIds: readonly string[];
  },
  Columns<typeof revisions, (typeof NAMES)[number]> & {
    started: boolean;
    /** Whether the cluster should run the revision. */
    wanted: boolean;
    /** Whether the deployment has a finished revision that could run. */
    settled: boolean;
  }
>(
  'reported_revisions',
  `SELECT ${columns(revisions, 'r', NAMES)}, r.started_at IS NOT NULL AS started,
  (r.id = d.wanted_id) IS TRUE AS wanted, d.settled
FROM (SELECT d.id, d.active_revision_id, ${DESIRED_REVISION} AS wanted_id, ${SETTLED} AS settled FROM deployments d
    WHERE d.id = ANY(:deploymentIds::uuid[])) AS d
  JOIN revisions r ON r.deployment_id = d.id AND r.deployment_id = ANY(:deploymentIds::uuid[])
WHERE (r.status = ANY(:statuses::text[]) OR r.id = ANY(:revisionIds::uuid[]) OR r.id = d.wanted_id
  OR r.id = d.active_revision_id)
ORDER BY r.deployment_id, r.number`,
);
