import { statement } from '../../core/statement.ts';

/** The revisions whose failed lookup of the image has no event yet. */
export const unrecordedLookupsStatement = statement<
  {
    /** JSON of revisions with `deploymentId` and `revisionId`. */
    lookups: string;
  },
  { revisionId: string }
>(
  'unrecorded_lookups',
  `SELECT v."revisionId" FROM jsonb_to_recordset(:lookups::jsonb) AS v("deploymentId" uuid, "revisionId" uuid)
WHERE NOT EXISTS (SELECT 1 FROM events e
  WHERE e.deployment_id = v."deploymentId" AND e.revision_id = v."revisionId" AND e.reason = 'ImageUnresolved')`,
);
