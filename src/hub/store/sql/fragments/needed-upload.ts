import { TERMINAL_STATUSES } from '../../../../domain/revision/states.ts';
import { KEPT_REVISIONS } from './desired-revision.ts';

const TERMINAL = TERMINAL_STATUSES.map((status) => `'${status}'`).join(', ');

/** Minutes after which an upload without a revision is no longer expected to get one. Longer than an upload may take. */
const UNUSED_MINUTES = 30;

/**
 * Whether an upload (alias `u`) of a deployment (alias `d`) can be removed. Uploads are needed by the latest and the active
 * revision, by revisions that may be built, and by the newest revisions without an image, because they can be built again.
 * Other revisions run and are rolled back to with their images.
 */
export const REMOVABLE_UPLOAD = `u.deployment_id = d.id AND u.sent_at < now() - interval '${UNUSED_MINUTES} minutes'
  AND NOT EXISTS (SELECT 1 FROM revisions r WHERE r.deployment_id = d.id
    AND r.source_revision_config -> 'upload' ->> 'digest' = u.digest
    AND (r.id = d.latest_revision_id OR r.id = d.active_revision_id OR r.status NOT IN (${TERMINAL})
      OR r.resolved_image IS NULL AND r.number > (SELECT max(n.number) FROM revisions n WHERE n.deployment_id = d.id)
        - ${KEPT_REVISIONS}))`;
