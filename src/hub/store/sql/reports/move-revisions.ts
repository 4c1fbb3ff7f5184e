import type { revisions } from '../../core/schema.ts';
import { type Columns, statement } from '../../core/statement.ts';

/** The values of a revision that a report changes. */
export type MovedRevision = Columns<
  typeof revisions,
  'id' | 'status' | 'reason' | 'message' | 'failureSource'
> & {
  /** Whether the rollout of the revision was observed. */
  readonly started: boolean;
};

/** Writes the new statuses of revisions. Also filters by id; see `handOutStatement`. */
export const moveRevisionsStatement = statement<{
  /** JSON of MovedRevision[]. */
  revisions: string;
  revisionIds: readonly string[];
}>(
  'move_revisions',
  `UPDATE revisions r SET status = v.status, reason = v.reason, message = v.message, updated_at = now(),
  culprit = CASE WHEN v.status IN ('DEPLOY_FAILED', 'BUILD_FAILED') THEN v."failureSource" ELSE r.culprit END,
  started_at = CASE WHEN v.started THEN coalesce(r.started_at, now()) ELSE r.started_at END,
  deployed_at = CASE WHEN v.status = 'DEPLOYED' THEN now() ELSE r.deployed_at END
FROM jsonb_to_recordset(:revisions::jsonb) AS v(id uuid, status text, reason text, message text, "failureSource" jsonb,
  started boolean)
WHERE r.id = v.id AND r.id = ANY(:revisionIds::uuid[])`,
);
